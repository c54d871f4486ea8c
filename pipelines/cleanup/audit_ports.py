"""The ports of clean, restore and purge other than the file store: audit, lists, second look and archive."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipelines.cleanup.deletions import CleanupAction, CleanupFile, CleanupTally, FileOutcome, FileResult
from pipelines.common.conditions import Condition
from pipelines.lake.run_summary import RunKey
from pipelines.reconcile.delete_list import Manifest


@dataclass(frozen=True, slots=True)
class CleanupAttempt:
    """One job working on one run.

    Attributes:
        identity: random; joins rows of `deletions` with rows of `cleanups`.
        lease: number of the lease.
        resumed: whether it continues an earlier attempt.
        words: the reason that a person gave, where one was required.
    """

    run: RunKey
    action: CleanupAction
    identity: str
    lease: int
    resumed: bool = False
    words: str | None = None


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """The end of an attempt; a terminal row of `cleanups`."""

    status: str
    exit_code: int
    tally: CleanupTally
    reason: str | None = None
    recheck_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class OpenIntent:
    """An INTENT row without an outcome.

    Attributes:
        archive: where the file was to be archived before its deletion; None = nowhere.
    """

    action: CleanupAction
    lease: int
    batch: int
    subject: CleanupFile
    archive: str | None = None


@dataclass(frozen=True, slots=True)
class DecidedRun:
    """The DONE row of `runs` that a list is based on; `peer_ids` is None if an older walsafe wrote the row.

    Attributes:
        cluster_id: content of `hbase.id`; None = an older walsafe wrote the row, or the snapshot has no id.
    """

    run: RunKey
    snapshot_sha256: str
    peer_ids: tuple[str, ...] | None
    cluster_id: str | None = None


class CleanupAudit(Protocol):
    """The audit tables `cleanups` and `deletions`, and a run's rows of `runs` and `wal_verdicts`."""

    def ensure(self) -> None:
        """Creates the missing tables."""
        ...

    def decided(self, cluster: str, run_id: str) -> DecidedRun | None:
        """Returns the run's DONE row; None = it has none."""
        ...

    def started(self, attempt: CleanupAttempt, files: int, size: int) -> None:
        """Writes the STARTED row."""
        ...

    def ended(self, attempt: CleanupAttempt, ending: AttemptEnd) -> None:
        """Writes the terminal row."""
        ...

    def intend(
        self, attempt: CleanupAttempt, batch: int, subjects: Sequence[CleanupFile], archive: Sequence[str] | None = None
    ) -> None:
        """Writes INTENT rows; no file is touched before this returns. `archive`: where each file will be archived."""
        ...

    def record(
        self, attempt: CleanupAttempt, batch: int, results: Sequence[FileResult], *, lease: int | None = None
    ) -> None:
        """Writes OUTCOME rows; `lease` is the lease of a dead job whose intent is being settled."""
        ...

    def actions(self, run: RunKey) -> frozenset[CleanupAction]:
        """Returns the actions of the INTENT rows of this run."""
        ...

    def unsettled(self, run: RunKey) -> list[OpenIntent]:
        """Returns the intents without an outcome; at most one batch for each job that died."""
        ...

    def taken(self, run: RunKey) -> Mapping[str, CleanupFile | None]:
        """Returns the paths that clean intended to move; for each, the file that now counts as MOVED, or None."""
        ...

    def moved_at(self, run: RunKey) -> int | None:
        """Returns when the last file of the run that still counts as MOVED was moved, ms; None = there is none."""
        ...


class ManifestReader(Protocol):
    """Reads delete-safe lists."""

    def manifest(self, cluster: str, run_id: str) -> Manifest:
        """Returns the manifest after checking its parts against their digests.

        Raises:
            RefusedError: there is no complete list, or a part is not the one that was written.
        """
        ...


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file, decided again.

    Attributes:
        outcome: its outcome if it is not to be touched; None = the job may process it.
        why: the reason in words, if there is an outcome.
    """

    subject: CleanupFile
    outcome: FileOutcome | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class SecondLookResult:
    """The cluster, captured again in capture order and decided again.

    Attributes:
        refused: why the new capture cannot be trusted; None = it can.
        restless: why the capture was not quiet; None = it was.
        cluster_id: content of `hbase.id`.
        peer_ids: of the peers that exist now.
        snapshot_sha256: of the new snapshot.json.
        files: the decided files, by path; can be iterated once.
        add_peer_running: whether a peer is being added, or may be; only relevant with queues in a table.
        condition: the name for `refused`; it means nothing without one.
    """

    refused: str | None
    restless: str | None
    cluster_id: str | None
    peer_ids: tuple[str, ...]
    snapshot_sha256: str
    files: Iterable[PlannedFile]
    add_peer_running: bool = False
    condition: Condition = Condition.SNAPSHOT_UNTRUSTED


class SecondLook(Protocol):
    """Captures the cluster again, in capture order, before any file is touched; decides by the rule of reconcile."""

    def at_list(self, manifest: Manifest, run: RunKey) -> SecondLookResult:
        """Returns the files of a list that no earlier attempt has finished.

        Raises:
            RefusedError: a line is not a file of oldWALs that this run found DELETABLE, or occurs twice; or the capture
                is not a valid snapshot.
            UnavailableError: a source did not answer.
        """
        ...

    def at_quarantine(self, directory: str, run: RunKey) -> SecondLookResult:
        """Returns the files in a run's quarantine directory, decided as if they were still below oldWALs.

        Raises:
            RefusedError: the capture is not a valid snapshot.
            UnavailableError: a source did not answer.
        """
        ...

    def forget(self) -> None:
        """Removes the snapshots that the second look wrote for Spark."""
        ...


class Archive(Protocol):
    """A cold archive to which quarantined files are copied before they are deleted."""

    def place(self, name: str) -> str:
        """Returns where a file of this name is archived."""
        ...

    def keep(self, sources: Sequence[str], names: Sequence[str]) -> list[tuple[str, str | None]]:
        """Copies files to these names, and compares length and checksum.

        Returns:
            For each file where it is archived, and why that failed or None.
        """
        ...
