"""Declares the ports of clean, restore and purge other than the file store: audit, lists, second look and archive."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipelines.cleanup.deletions import CleanupAction, CleanupFile, CleanupTally, FileOutcome, FileResult
from pipelines.common.conditions import Condition
from pipelines.lake.run_summary import RunKey
from pipelines.reconcile.delete_list import Manifest

UNEXPECTED = "the job was interrupted, or failed unexpectedly: see its log"
"""The reason of an attempt that ended with another exception than a WalsafeError."""


@dataclass(frozen=True, slots=True)
class CleanupAttempt:
    """One attempt: one job that works on one run.

    Attributes:
        identity: a random id, which joins rows of `deletions` with rows of `cleanups`.
        lease: the number of the lease.
        resumed: whether this attempt continues an earlier one.
        words: the reason that a person gave, if a reason was required.
    """

    run: RunKey
    action: CleanupAction
    identity: str
    lease: int
    resumed: bool = False
    words: str | None = None


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """How an attempt ended; becomes a terminal row of `cleanups`.

    Attributes:
        exit_code: of the job; None = an interruption or an unexpected error, which gets its exit code later.
    """

    status: str
    exit_code: int | None
    tally: CleanupTally
    reason: str | None = None
    recheck_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class OpenIntent:
    """An INTENT row without an outcome.

    Attributes:
        place: where clean was to move the file, or where purge was to archive it before its deletion; None = neither,
            or an older walsafe wrote the row.
    """

    action: CleanupAction
    lease: int
    batch: int
    subject: CleanupFile
    place: str | None = None


@dataclass(frozen=True, slots=True)
class DecidedRun:
    """The DONE row of `runs` on which a list is based.

    Attributes:
        peer_ids: the ids of the peers at that time; None = an older walsafe wrote the row.
        cluster_id: the content of `hbase.id`; None = an older walsafe wrote the row, or the snapshot has no id.
    """

    run: RunKey
    snapshot_sha256: str
    peer_ids: tuple[str, ...] | None
    cluster_id: str | None = None


class CleanupAudit(Protocol):
    """Writes and reads the audit tables `cleanups` and `deletions`; reads a run's rows of `runs` and `wal_verdicts`."""

    def ensure(self) -> None:
        """Creates the tables that do not exist yet."""
        ...

    def decided(self, cluster: str, run_id: str) -> DecidedRun | None:
        """Returns the DONE row of a run; None = the run has no such row."""
        ...

    def started(self, attempt: CleanupAttempt, files: int, size: int) -> None:
        """Writes the STARTED row of an attempt."""
        ...

    def ended(self, attempt: CleanupAttempt, ending: AttemptEnd) -> None:
        """Writes the terminal row of an attempt."""
        ...

    def intend(
        self, attempt: CleanupAttempt, batch: int, subjects: Sequence[CleanupFile], places: Sequence[str] | None = None
    ) -> None:
        """Writes an INTENT row for each file; no file is touched before this call returns.

        Args:
            attempt: the attempt that will touch the files.
            batch: the number of the batch.
            subjects: the files.
            places: where each file will be in the quarantine or the archive; None = in neither.
        """
        ...

    def record(
        self, attempt: CleanupAttempt, batch: int, results: Sequence[FileResult], *, lease: int | None = None
    ) -> None:
        """Writes an OUTCOME row for each result.

        Args:
            attempt: the attempt that writes the rows.
            batch: the number of the batch.
            results: the outcomes of files.
            lease: the lease of the dead job whose intents are being settled; None = the lease of this attempt.
        """
        ...

    def actions(self, run: RunKey) -> frozenset[CleanupAction]:
        """Returns the actions that occur in the INTENT rows of this run."""
        ...

    def unsettled(self, run: RunKey) -> list[OpenIntent]:
        """Returns the intents of this run without an outcome.

        There is at most one batch of them for each job that died.
        """
        ...

    def taken(self, run: RunKey) -> Mapping[str, CleanupFile | None]:
        """Returns the paths that clean intended to move. The value is the file that now counts as MOVED, or None."""
        ...

    def moved_at(self, run: RunKey) -> int | None:
        """Returns the time (ms) at which the last file that still counts as MOVED was moved.

        None = there is no such file.
        """
        ...


class ManifestReader(Protocol):
    """Reads delete-safe lists."""

    def manifest(self, cluster: str, run_id: str) -> Manifest:
        """Returns the manifest of a list after checking the parts of the list against their digests.

        Raises:
            RefusedError: there is no complete list, or a part was changed after it was written.
        """
        ...


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file after the second decision.

    Attributes:
        outcome: the outcome of a file that must not be touched; None = the job may process the file.
        why: the reason in words, if there is an outcome.
    """

    subject: CleanupFile
    outcome: FileOutcome | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class SecondLookResult:
    """The state of the cluster after the second look, which captured it again in capture order and decided again.

    Attributes:
        refused: the reason why the new capture cannot be trusted; None = it can be trusted.
        restless: the reason why the cluster was not quiet during the capture; None = it was quiet.
        cluster_id: the content of `hbase.id`.
        peer_ids: the ids of the peers that exist now.
        snapshot_sha256: the digest of the new snapshot.json.
        files: the decided files, sorted by path; can be iterated only once.
        add_peer_running: whether a peer is being added, or may be; matters only if the queues are in a table.
        condition: the name of the condition behind `refused`; meaningless if `refused` is None.
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
    """Captures the cluster again, in capture order, before a file is touched; decides with reconcile's rule."""

    def at_list(self, manifest: Manifest, run: RunKey) -> SecondLookResult:
        """Decides again the files of a list that no earlier attempt has finished.

        Raises:
            RefusedError: a line of the list is not a file of oldWALs that this run found DELETABLE, or a line occurs
                twice, or the capture is not a valid snapshot.
            UnavailableError: a source did not answer.
        """
        ...

    def at_quarantine(self, directory: str, run: RunKey) -> SecondLookResult:
        """Decides the files in a run's quarantine directory as if they were still below oldWALs.

        Raises:
            RefusedError: the capture is not a valid snapshot.
            UnavailableError: a source did not answer.
        """
        ...

    def forget(self) -> None:
        """Removes the snapshots that the second look wrote for Spark."""
        ...


class Archive(Protocol):
    """A cold archive; purge copies quarantined files to it before it deletes them."""

    def place(self, name: str) -> str:
        """Returns the URI at which a file of this name is archived."""
        ...

    def keep(self, sources: Sequence[str], names: Sequence[str]) -> list[tuple[str, str | None]]:
        """Copies files to these names, and compares the length and checksum of each copy.

        Returns:
            For each file, its URI in the archive, and the reason of a failure; None = the file is archived.
        """
        ...
