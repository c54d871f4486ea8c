"""The ports through which clean, restore and purge read what was decided and write down what they do."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipelines.cleanup.deletions import Action, FileOutcome, Result, Subject, Tally
from pipelines.lake.run_summary import RunKey
from pipelines.reconcile.delete_list import Manifest


@dataclass(frozen=True, slots=True)
class Attempt:
    """One job at work on one run.

    Attributes:
        identity: random; ties rows of `deletions` to rows of `cleanups`.
        lease: number of the lease.
        resumed: it goes on with an earlier attempt.
        words: a person's reason, where one was asked for.
    """

    run: RunKey
    action: Action
    identity: str
    lease: int
    resumed: bool = False
    words: str | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt ended; a terminal row of `cleanups`."""

    status: str
    exit_code: int
    tally: Tally
    reason: str | None = None
    recheck_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Intent:
    """An INTENT row without its outcome.

    Attributes:
        archive: where the file was to be kept before it was deleted; None = nowhere.
    """

    action: Action
    lease: int
    batch: int
    subject: Subject
    archive: str | None = None


@dataclass(frozen=True, slots=True)
class DecidedRun:
    """The DONE row of `runs` that a list goes back to; `peer_ids` is None when an older walsafe wrote it.

    Attributes:
        cluster_id: content of `hbase.id`; None = an older walsafe wrote the row, or the snapshot does not tell.
    """

    run: RunKey
    snapshot_sha256: str
    peer_ids: tuple[str, ...] | None
    cluster_id: str | None = None


class CleanupAudit(Protocol):
    """The audit tables `cleanups` and `deletions`, and what `runs` and `wal_verdicts` say of a run."""

    def ensure(self) -> None:
        """Create the tables that are missing."""
        ...

    def decided(self, cluster: str, run_id: str) -> DecidedRun | None:
        """The run as reconcile ended it; None = it never ended DONE."""
        ...

    def started(self, attempt: Attempt, files: int, size: int) -> None:
        """Write the STARTED row."""
        ...

    def ended(self, attempt: Attempt, ending: Ending) -> None:
        """Write the terminal row."""
        ...

    def intend(
        self, attempt: Attempt, batch: int, subjects: Sequence[Subject], archive: Sequence[str] | None = None
    ) -> None:
        """Write INTENT rows; nothing is touched before this returns. `archive`: where each will be kept."""
        ...

    def record(self, attempt: Attempt, batch: int, results: Sequence[Result], *, lease: int | None = None) -> None:
        """Write OUTCOME rows; `lease` is that of a dead job's intent when it is settled."""
        ...

    def actions(self, run: RunKey) -> frozenset[Action]:
        """What files of this run were ever touched for: the actions of its INTENT rows."""
        ...

    def unsettled(self, run: RunKey) -> list[Intent]:
        """Intents whose outcome was never written; those of one batch at most, for each job that died."""
        ...

    def taken(self, run: RunKey) -> Mapping[str, Subject | None]:
        """Paths that clean set out to move; with each the file that counts as MOVED now, or None where none does."""
        ...

    def moved_at(self, run: RunKey) -> int | None:
        """When the last file of the run was moved that still counts as MOVED, ms; None = there is none."""
        ...


class DeleteLists(Protocol):
    """Reads delete-safe lists."""

    def manifest(self, cluster: str, run_id: str) -> Manifest:
        """The manifest, its parts checked against their digests.

        Raises:
            RefusedError: there is no whole list, or a part is not the one that was written.
        """
        ...


@dataclass(frozen=True, slots=True)
class Planned:
    """One file, decided again.

    Attributes:
        outcome: what becomes of it without touching it; None = the job may do its work on it.
        why: in words, where there is an outcome.
    """

    subject: Subject
    outcome: FileOutcome | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """The cluster, read again in capture order and decided again.

    Attributes:
        refused: why nothing can be believed of it; None = it can.
        restless: why the capture was not quiet; None = it was.
        cluster_id: content of `hbase.id`.
        peer_ids: of the peers that there are now.
        snapshot_sha256: of the snapshot.json that was made.
        files: what was looked at, by path; read once, one after the other.
        add_peer_running: a peer is being added, or may be, where that matters: with queues in a table.
    """

    refused: str | None
    restless: str | None
    cluster_id: str | None
    peer_ids: tuple[str, ...]
    snapshot_sha256: str
    files: Iterable[Planned]
    add_peer_running: bool = False


class SecondLook(Protocol):
    """Reads the world again, in capture order, before anything is touched, and decides by the rule of reconcile."""

    def at_list(self, manifest: Manifest, run: RunKey) -> Looked:
        """The files of a list that no earlier attempt is done with.

        Raises:
            RefusedError: a line is not a file of oldWALs that this run found DELETABLE, or stands there twice; or what
                was read makes no snapshot.
            UnavailableError: a source did not answer.
        """
        ...

    def at_quarantine(self, directory: str, run: RunKey) -> Looked:
        """The files that a run's directory in the quarantine holds, as if they were still below oldWALs.

        Raises:
            RefusedError: what was read makes no snapshot.
            UnavailableError: a source did not answer.
        """
        ...

    def forget(self) -> None:
        """Remove what a look has written for Spark to read."""
        ...


class Archive(Protocol):
    """A cold archive that quarantined files are copied to before they are removed."""

    def place(self, name: str) -> str:
        """Where a file of this name is kept."""
        ...

    def keep(self, sources: Sequence[str], names: Sequence[str]) -> list[tuple[str, str | None]]:
        """Copy files to these names and compare length and checksum; (where it is, why it failed or None) for each."""
        ...
