"""Records read back from the lake: runs and verdicts on single files. Instants are ms since the epoch, UTC."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from pipelines.lake.run_summary import DONE, QueueGroup, RunKey


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The last terminal row in `runs` of one run of one cluster.

    Attributes:
        status: DONE, REFUSED or FAILED.
        mode: NIGHTLY or REPLAY.
        at: when the row was written.
        reason: why the run was refused or failed.
        files_started_at: start of step `files`; None if the snapshot could not be read.
        snapshot_sha256: SHA-256 of snapshot.json.
        list_uri: directory of its delete-safe list.
        not_after: after this the list may not be acted on.
        bytes: of the files under oldWALs; None if the run did not count them.
        capacity_bytes: bytes that oldWALs and the quarantine may take together, by the configuration.
        free_bytes: bytes of files that the file system could still take.
        peer_ids: the peers of the snapshot; None = an older walsafe wrote the row.
    """

    cluster: str
    run_id: str
    run_date: date
    status: str
    mode: str | None
    at: int
    reason: str | None
    files_started_at: int | None
    snapshot_sha256: str | None
    exit_code: int | None
    list_uri: str | None
    not_after: int | None = None
    bytes: int | None = None
    deletable_files: int | None = None
    deletable_bytes: int | None = None
    capacity_bytes: int | None = None
    free_bytes: int | None = None
    peer_ids: Sequence[str] | None = None

    @property
    def key(self) -> RunKey:
        """The values of the identity columns of its rows."""
        return RunKey(self.cluster, self.run_id, self.run_date)

    @property
    def night(self) -> int:
        """The instant that the run describes: the start of step `files`, or `at` if that is unknown."""
        return self.at if self.files_started_at is None else self.files_started_at

    @property
    def order(self) -> tuple[int, int]:
        """The sort key from older to newer runs: the night, but not later than the instant when the row was written.

        A refused run of a host whose clock was ahead has a night in the future. It must not count as the newest run
        until then.
        """
        return min(self.night, self.at), self.at


def runs_by_cluster(runs: Iterable[RunRecord]) -> Mapping[str, Sequence[RunRecord]]:
    """Returns the runs of each cluster, in the order in which they are given."""
    found: dict[str, list[RunRecord]] = {}
    for run in runs:
        found.setdefault(run.cluster, []).append(run)
    return found


def newest_by_cluster(runs: Iterable[RunRecord]) -> Mapping[str, RunRecord]:
    """Returns the first run of each cluster.

    Args:
        runs: newest first.
    """
    return {cluster: own[0] for cluster, own in runs_by_cluster(runs).items()}


def newest_done(runs: Iterable[RunRecord]) -> Mapping[str, RunRecord]:
    """Returns the newest DONE run of each cluster that has one."""
    return newest_by_cluster(run for run in runs if run.status == DONE)


@dataclass(frozen=True, slots=True)
class Blocker:
    """One entry of `wal_verdicts.blocking`: a peer and queue row that need the file."""

    peer_id: str
    owner: str | None
    source: str | None
    wal: str | None
    offset: int | None


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """One row of `wal_verdicts`."""

    cluster: str
    path: str
    server: str | None
    wal_group: str | None
    wal_timestamp: int | None
    length: int | None
    modification_time: int | None
    verdict: str
    reason: str
    hbase_verdict: str | None
    blocking: tuple[Blocker, ...]


@dataclass(frozen=True, slots=True)
class WaitingWal:
    """A file that a peer still needs; bytes, and ms since the epoch."""

    path: str
    length: int | None
    wal_timestamp: int | None


@dataclass(frozen=True, slots=True)
class QueueNight:
    """One (peer, source server, group) on one night, with the smallest need of its queue rows.

    Attributes:
        need: smallest WAL timestamp still needed, ms; -1 = all.
    """

    files_started: int
    need: int
    wal: str | None
    offset: int | None
    pending_files: int
    pending_bytes: int


QueueNights = Mapping[QueueGroup, tuple[QueueNight, ...]]
"""What earlier nights know of some queues: nights by queue group, newest first."""
