"""The ports through which clean, restore and purge read what was decided and write down what they do."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame

from pipelines.domain.cleanup.deletions import Action, Result, Subject, Tally
from pipelines.domain.delete_list import Manifest
from pipelines.domain.run_summary import RunKey
from pipelines.ports import FileSource


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
    """An INTENT row without its outcome."""

    action: Action
    lease: int
    batch: int
    subject: Subject


@dataclass(frozen=True, slots=True)
class DecidedRun:
    """The DONE row of `runs` that a list goes back to; `peer_ids` is None when an older walsafe wrote it."""

    run: RunKey
    snapshot_sha256: str
    peer_ids: tuple[str, ...] | None


class CleanupAudit(Protocol):
    """The audit tables `cleanups` and `deletions`, and what `runs` and `wal_verdicts` say of a run."""

    def ensure(self) -> None:
        """Create the tables that are missing."""
        ...

    def decided(self, cluster: str, run_id: str) -> DecidedRun | None:
        """The run as reconcile ended it; None = it never ended DONE."""
        ...

    def listed(self, run: RunKey) -> DataFrame:
        """`path`, `length`, `modification_time` of the files that the run decided to be DELETABLE."""
        ...

    def started(self, attempt: Attempt, files: int, size: int) -> None:
        """Write the STARTED row."""
        ...

    def ended(self, attempt: Attempt, ending: Ending) -> None:
        """Write the terminal row."""
        ...

    def intend(self, attempt: Attempt, batch: int, subjects: Sequence[Subject]) -> None:
        """Write INTENT rows; nothing is touched before this returns."""
        ...

    def record(self, attempt: Attempt, batch: int, results: Sequence[Result], *, lease: int | None = None) -> None:
        """Write OUTCOME rows; `lease` is that of a dead job's intent when it is settled."""
        ...

    def actions(self, run: RunKey) -> frozenset[Action]:
        """What was ever started on this run."""
        ...

    def unsettled(self, run: RunKey) -> list[Intent]:
        """Intents whose outcome was never written; those of one batch at most, for each job that died."""
        ...

    def outcomes(self, run: RunKey) -> DataFrame:
        """The last OUTCOME of each path: `path`, `outcome`, `length`, `modification_time`, `at`."""
        ...


class DeleteLists(Protocol):
    """Reads delete-safe lists."""

    def manifest(self, cluster: str, run_id: str) -> Manifest:
        """The manifest, its parts checked against their digests.

        Raises:
            RefusedError: there is no whole list, or a part is not the one that was written.
        """
        ...

    def lines(self, manifest: Manifest) -> DataFrame:
        """The lines of all parts: `line`."""
        ...


@dataclass(frozen=True, slots=True)
class Looked:
    """The cluster, read again in capture order and decided again.

    Attributes:
        refused: why nothing can be believed of it; None = it can.
        restless: why the capture was not quiet; None = it was.
        cluster_id: content of `hbase.id`.
        snapshot_sha256: of the snapshot.json that was made.
        decisions: `path`, `length`, `modification_time`, `verdict`, `reason` of the files that were looked at.
    """

    refused: str | None
    restless: str | None
    cluster_id: str | None
    peer_ids: tuple[str, ...]
    snapshot_sha256: str
    decisions: DataFrame


class SecondLook(Protocol):
    """Reads the world again before anything is touched."""

    def look(self, files: FileSource) -> Looked:
        """Capture the cluster with these files as its listing, and decide on them.

        Raises:
            UnavailableError: a source did not answer.
            RefusedError: what was read makes no snapshot.
        """
        ...

    def forget(self) -> None:
        """Remove what `look` has written for Spark to read."""
        ...


class Archive(Protocol):
    """A cold archive that quarantined files are copied to before they are removed."""

    def keep(self, sources: Sequence[str], names: Collection[str]) -> list[tuple[str, str | None]]:
        """Copy files and compare length and checksum of both; (where it is now, why it failed or None) for each."""
        ...
