"""The summary of one run of one cluster: the rows of its small tables as values.

The field names of the row classes are the column names of their tables (schemas/, without the identity columns; a test
compares them). So the same values fill the tables, the report, the metrics and the result object.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from pipelines.common.conditions import Condition
from pipelines.common.errors import UsageError
from pipelines.common.instants import utc_day
from pipelines.common.names import LATEST, NAME

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

STARTED = "STARTED"
DONE = "DONE"
REFUSED = "REFUSED"
FAILED = "FAILED"
STOPPED = "STOPPED"
"""Only of a clean-up that a person or its list ended between two batches."""
TERMINAL = (DONE, REFUSED, FAILED)
DELETABLE = "DELETABLE"
HELD = "HELD"

QueueGroup = tuple[str, str, str]
"""(peer, source server, WAL group)."""


@dataclass(frozen=True, slots=True, order=True)
class RunKey:
    """The identity columns of one run of one cluster; every table begins with these columns.

    Attributes:
        cluster: name of the cluster.
        run_id: id of the run.
        run_date: UTC date of the start of step `files`; the partition of every table.

    Raises:
        UsageError: a name is not valid.
    """

    cluster: str
    run_id: str
    run_date: date

    def __post_init__(self) -> None:
        for what, name in (("cluster", self.cluster), ("run id", self.run_id)):
            if not NAME.fullmatch(name):
                raise UsageError(f"{what} {name!r}: letters, digits, '.', '_' and '-' only, at most 64, no '.' first")

    @classmethod
    def of(cls, cluster: str, run_id: str, files_started_ms: int) -> "RunKey":
        """Returns the key of a run whose step `files` started at this instant (ms since the epoch).

        Raises:
            UsageError: a name is not valid, or the run id is `latest`.
        """
        if run_id == LATEST:
            raise UsageError(f"no run can have the id {LATEST!r}: it stands for the newest run; give another --run-id")
        return cls(cluster, run_id, utc_day(files_started_ms))


@dataclass(frozen=True, slots=True)
class VerdictTotal:
    """A row of `verdict_totals`; sizes in bytes, ages in ms."""

    verdict: str
    reason: str
    hbase_verdict: str | None
    files: int
    bytes: int
    oldest_modification_age_ms: int | None = None


def by_reason(totals: Iterable[VerdictTotal]) -> Mapping[tuple[str, str], tuple[int, int]]:
    """Returns (files, bytes) by (verdict, reason), in the order of the totals."""
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for total in totals:
        files, size = sums.get((total.verdict, total.reason), (0, 0))
        sums[total.verdict, total.reason] = (files + total.files, size + total.bytes)
    return sums


@dataclass(frozen=True, slots=True)
class PinnedRow:
    """A row of `pinned_bytes`; `level` is peer, queue or group; sizes in bytes, times in ms."""

    level: str
    peer_id: str
    peer_state: str | None
    owner: str | None
    source: str | None
    wal_group: str | None
    exclusive_files: int
    exclusive_bytes: int
    joint_files: int
    joint_bytes: int
    freed_files: int
    freed_bytes: int
    oldest_timestamp: int | None = None
    oldest_age_ms: int | None = None
    remedy: str | None = None

    @property
    def files(self) -> int:
        """Number of files held, alone or together with others."""
        return self.exclusive_files + self.joint_files

    @property
    def bytes(self) -> int:
        """Bytes held, alone or together with others."""
        return self.exclusive_bytes + self.joint_bytes


@dataclass(frozen=True, slots=True)
class QueueOffsetRow:
    """A row of `queue_offsets`; sizes in bytes, times in ms."""

    peer_id: str
    peer_exists: bool
    owner: str
    source: str
    recovered: bool
    wal_group: str | None
    wal: str | None
    offset: int | None
    need_timestamp: int | None
    pending_files: int
    pending_bytes: int
    live_pending_files: int = 0
    live_pending_bytes: int = 0
    oldest_pending_timestamp: int | None = None
    oldest_pending_age_ms: int | None = None


@dataclass(frozen=True, slots=True)
class PastNeed:
    """The columns of `queue_offsets` that tell what a queue needed: half of them, for all nights of a fleet at once."""

    peer_id: str
    source: str
    wal_group: str | None
    wal: str | None
    offset: int | None
    need_timestamp: int | None
    pending_files: int


_NeedT = TypeVar("_NeedT", PastNeed, QueueOffsetRow)


def queue_group(row: PastNeed | QueueOffsetRow) -> QueueGroup:
    """Returns the queue and the WAL group of a row."""
    return row.peer_id, row.source, row.wal_group or ""


def smallest_needs(rows: Iterable[_NeedT]) -> Mapping[QueueGroup, _NeedT]:
    """Returns the row with the smallest need of each group; a row without WAL or offset comes before one with them.

    Rows without a group have no offset, and the need of a WAL whose timestamp is no number of 64 bits is unknown: they
    are left out.
    """
    smallest: dict[QueueGroup, _NeedT] = {}
    known = (row for row in rows if row.wal_group is not None and row.need_timestamp is not None)
    for row in sorted(known, key=lambda row: (row.need_timestamp, row.wal or "", row.offset is not None, row.offset)):
        smallest.setdefault(queue_group(row), row)
    return smallest


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A row of `findings`; `first_seen` and `acknowledged_until` in ms since the epoch."""

    key: str
    code: str
    severity: str
    subject: str
    peer_id: str | None
    server: str | None
    message: str
    evidence: str
    remedy: str
    files: int | None
    bytes: int | None
    first_seen: int | None = None
    nights: int = 1
    is_new: bool = True
    acknowledged: bool = False
    acknowledged_reason: str | None = None
    acknowledged_until: int | None = None


@dataclass(frozen=True, slots=True)
class NightTotal:
    """One point of a curve: files and bytes of one group (a reason, a peer …) of one cluster on one night."""

    files_started_ms: int
    group: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class EarlierNights:
    """The nights before this run, oldest first, without this run.

    Attributes:
        by_reason: one total per night and `VERDICT reason`.
        by_peer: one total per night and peer: what the peer holds, alone or together with others.
        nights: the start of step `files` of each, ms since the epoch.
        findings: the findings of the last of them.
        empty: those on which there was no byte under oldWALs; of any other without a total, `maintain` has removed it.
    """

    by_reason: tuple[NightTotal, ...] = ()
    by_peer: tuple[NightTotal, ...] = ()
    nights: tuple[int, ...] = ()
    findings: tuple[FindingRow, ...] = ()
    empty: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Everything that reports show about one cluster in one run.

    Attributes:
        status: DONE, REFUSED or FAILED.
        mode: NIGHTLY or REPLAY.
        exit_code: exit code for this cluster alone.
        reason: why the run was refused or failed, and what to do; None if it is DONE.
        files_started_ms: start of step `files`, ms since the epoch; ages count from it.
        list_uri: directory of the delete-safe list; None if there is no list.
        history: earlier nights, for curves.
        condition: the name of `reason` if the run was refused.
        capacity_bytes: bytes that oldWALs and the quarantine may take together, by the configuration.
        free_bytes: bytes of files that the file system could still take when it was captured.
        is_newest: whether the lake has no newer run of the cluster; only the newest run decides on a pause.
    """

    cluster: str
    run_id: str
    status: str
    mode: str
    exit_code: int
    reason: str | None
    files_started_ms: int
    totals: tuple[VerdictTotal, ...] = ()
    pinned: tuple[PinnedRow, ...] = ()
    findings: tuple[FindingRow, ...] = ()
    list_uri: str | None = None
    lake_uri: str | None = None
    history: EarlierNights = EarlierNights()
    condition: Condition | None = None
    capacity_bytes: int | None = None
    free_bytes: int | None = None
    is_newest: bool = True

    @property
    def key(self) -> RunKey:
        """The values of the identity columns of its rows."""
        return RunKey.of(self.cluster, self.run_id, self.files_started_ms)

    def total(self, verdict: str | None = None) -> tuple[int, int]:
        """Returns (files, bytes) under oldWALs with this verdict, or of all files."""
        rows = [row for row in self.totals if verdict in (None, row.verdict)]
        return sum(row.files for row in rows), sum(row.bytes for row in rows)

    def holders(self, level: str) -> tuple[PinnedRow, ...]:
        """Returns the rows of one level of `pinned_bytes`, most bytes first."""
        return pinned_of(level, self.pinned)


def pinned_of(level: str, rows: Iterable[PinnedRow]) -> tuple[PinnedRow, ...]:
    """Returns the rows of one level of `pinned_bytes`, most bytes first."""
    own = (row for row in rows if row.level == level)
    return tuple(sorted(own, key=lambda row: (-row.bytes, row.peer_id, row.owner or "", row.source or "")))


def table_row(key: RunKey, row: "DataclassInstance") -> Mapping[str, object]:
    """Returns the row with its identity columns, by column name, as a table sink takes it."""
    own = {name: getattr(row, name) for name in _names(type(row))}
    return {"cluster": key.cluster, "run_id": key.run_id, "run_date": key.run_date, **own}


@cache
def _names(kind: "type[DataclassInstance]") -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
