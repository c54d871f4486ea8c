"""The state of one cluster that the rule reads: servers, peers, and every queue row of both passes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from pipelines.common.instants import DAY_MS
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.hbase.replication_queues import NEEDS_ALL, GroupOffset, QueueCell, QueueId
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.queued_wals import QueuedWals
from pipelines.snapshot.capture_order import not_quiet_reason
from pipelines.snapshot.model import Backup, Membership, Retention, Snapshot, WalDirectory

if TYPE_CHECKING:  # a storage builds views
    from pipelines.decide.rule.queue_storage import ReplicationQueueStorage

NOTHING_QUEUED = QueuedWals(read_from=0)
"""What queues name that are no lists of WALs, as in `hbase:replication`."""
DEFAULT_CLEANERS = frozenset(
    {
        "org.apache.hadoop.hbase.master.cleaner.TimeToLiveLogCleaner",
        "org.apache.hadoop.hbase.master.cleaner.TimeToLiveProcedureWALCleaner",
        "org.apache.hadoop.hbase.master.cleaner.TimeToLiveMasterLocalStoreWALCleaner",
        "org.apache.hadoop.hbase.replication.master.ReplicationLogCleaner",
        # the rule applies its boundaries itself (reason BACKUP)
        "org.apache.hadoop.hbase.backup.master.BackupLogCleaner",
    }
)
"""Log-cleaner plugins whose rules walsafe knows."""


@dataclass(frozen=True, slots=True)
class MergedQueueRow:
    """One row key, merged over the passes that contain it: the smaller need of each group counts.

    A group that is missing from one of those passes has no offset here, so the row needs every file of the group.

    Attributes:
        offsets: position of the queue by WAL group.
        wals: position by WAL name, if the queue lists its WALs; None = it has only offsets, as in `hbase:replication`.
    """

    queue: QueueId
    offsets: Mapping[str, GroupOffset]
    wals: Mapping[str, int] | None = None

    def need(self, group: str) -> int:
        """Returns the smallest WAL timestamp of the group that the row still needs, ms; NEEDS_ALL without an offset."""
        offset = self.offsets.get(group)
        return NEEDS_ALL if offset is None else offset.need


def merge_passes(passes: Iterable[Sequence[QueueCell]]) -> tuple[MergedQueueRow, ...]:
    """Merges the passes: returns every row of every pass, one per key, sorted by key."""
    rows: dict[QueueId, list[dict[str, GroupOffset]]] = {}
    for cells in passes:
        this_pass: dict[QueueId, dict[str, GroupOffset]] = {}
        for cell in cells:
            offsets = this_pass.setdefault(cell.queue, {})
            offsets[cell.group] = _smaller(offsets.get(cell.group), cell.offset)
        for queue, offsets in this_pass.items():
            rows.setdefault(queue, []).append(offsets)
    return tuple(MergedQueueRow(queue, _common(rows[queue])) for queue in sorted(rows, key=str))


def _common(readings: list[dict[str, GroupOffset]]) -> dict[str, GroupOffset]:
    groups = set.intersection(*(set(reading) for reading in readings))
    merged: dict[str, GroupOffset] = {}
    for group in sorted(groups):
        for reading in readings:
            merged[group] = _smaller(merged.get(group), reading[group])
    return merged


def _smaller(one: GroupOffset | None, other: GroupOffset) -> GroupOffset:
    return other if one is None else min(one, other, key=lambda offset: (offset.need, offset))


@dataclass(frozen=True)
class ClusterView:
    """The state of one cluster except its files. All instants and durations are in ms.

    Attributes:
        peer_ids: existing peers, sorted.
        rows: every queue row of both passes, including rows of removed peers.
        online: online servers of both readings.
        crashing: servers with an unfinished crash procedure in either reading.
        wal_directories: servers with a directory below `WALs/` that counts as evidence of life.
        storage: where the queues are, and how the rule asks them.
        hbase_not_fully_dead: servers that HBase's own cleaner would have found not fully dead: those of the first
            membership, without directories.
        restless: why the capture was not quiet; None = it was quiet.
        untrusted: why nothing in this snapshot can be trusted; None = it is trusted.
        queue_table_absent: the queue table does not exist (only without peers, else the snapshot is untrusted).
        hbase_keeps_all: HBase's cleaner could delete nothing: AddPeer or the migration runs, or it throws on a row.
        foreign_cleaner: why an unknown log cleaner could need any file: a plugin, the list of plugins, or whether
            backup is on is unknown; None = there is no such cleaner.
        queued: the WALs that queues in ZooKeeper list by name; `rows` then give only the position of each queue.
    """

    cluster: str
    peer_ids: tuple[str, ...]
    rows: tuple[MergedQueueRow, ...]
    online: frozenset[ServerName]
    crashing: frozenset[ServerName]
    wal_directories: frozenset[ServerName]
    hbase_not_fully_dead: frozenset[ServerName]
    files_started: int
    files_finished: int
    retention: Retention
    storage: "ReplicationQueueStorage"
    restless: str | None = None
    untrusted: str | None = None
    add_peer_running: bool = False
    queue_table_absent: bool = False
    hbase_keeps_all: bool = False
    foreign_cleaner: str | None = None
    backup: Backup = field(default_factory=lambda: Backup(enabled=False))
    release: Release = field(default_factory=Release)
    queued: QueuedWals = NOTHING_QUEUED

    @cached_property
    def not_fully_dead(self) -> frozenset[ServerName]:
        """Online, crashing, or with a directory below `WALs/`: the only definition of liveness used here."""
        return self.online | self.crashing | self.wal_directories

    @cached_property
    def rows_of_source(self) -> Mapping[ServerName, tuple[MergedQueueRow, ...]]:
        """The rows by the server that wrote the WALs."""
        index: dict[ServerName, list[MergedQueueRow]] = {}
        for row in self.rows:
            index.setdefault(row.queue.wals_of, []).append(row)
        return {source: tuple(rows) for source, rows in index.items()}

    @cached_property
    def _rows_of_peer_and_source(self) -> Mapping[tuple[str, ServerName], tuple[MergedQueueRow, ...]]:
        index: dict[tuple[str, ServerName], list[MergedQueueRow]] = {}
        for row in self.rows:
            index.setdefault((row.queue.peer_id, row.queue.wals_of), []).append(row)
        return {key: tuple(rows) for key, rows in index.items()}

    def queues(self, peer_id: str, source: ServerName) -> tuple[MergedQueueRow, ...]:
        """Returns the rows of one peer for the WALs of one server; empty = the peer has no queue of that server."""
        return self._rows_of_peer_and_source.get((peer_id, source), ())

    def without_peer(self, peer_id: str) -> "ClusterView":
        """Returns this view as if the peer and its queues were removed: the what-if of `pinned_bytes`."""
        return replace(
            self,
            peer_ids=tuple(peer for peer in self.peer_ids if peer != peer_id),
            rows=tuple(row for row in self.rows if row.queue.peer_id != peer_id),
        )


def cluster_view(
    snapshot: Snapshot,
    passes: Sequence[Sequence[QueueCell]],
    settings: ReconcileSettings,
    untrusted: str | None,
    unparsable: bool,
    storage: "ReplicationQueueStorage",
) -> ClusterView:
    """Builds the view of one cluster from its snapshot and both queue passes.

    Args:
        snapshot: its form is checked.
        passes: parsed cells of queues-1 and queues-2; empty when they cannot be read.
        settings: opt-ins, and what the configuration states where the snapshot says "unknown".
        untrusted: result of `pipelines.decide.rule.trust`.
        unparsable: whether HBase throws on a row of `hbase:replication`.
        storage: where the queues are.
    """
    first = snapshot.membership or Membership(None, frozenset(), frozenset())
    second = snapshot.membership_2 or first
    flags = [flags for flags in (snapshot.flags, snapshot.flags_2) if flags is not None]
    add_peer = any(flag.add_peer_running is not False for flag in flags)
    migration = any(flag.migration_pending is not False for flag in flags)
    ids = [frozenset(cell.queue for cell in cells) for cells in passes] or [frozenset()]
    return ClusterView(
        cluster=snapshot.cluster,
        peer_ids=tuple(sorted(peer.peer_id for peer in snapshot.peers)),
        rows=merge_passes(passes),
        online=first.online | second.online,
        crashing=first.crashing | second.crashing,
        wal_directories=frozenset(
            directory.server
            for directory in first.wal_directories
            if not (settings.release.empty_wal_directories and _forgotten(directory, snapshot.files_step.started_at))
        ),
        hbase_not_fully_dead=first.online | first.crashing,
        files_started=snapshot.files_step.started_at,
        files_finished=snapshot.files_step.finished_at,
        retention=snapshot.retention,
        storage=storage,
        restless=not_quiet_reason(snapshot, ids[0], ids[-1]),
        untrusted=untrusted,
        add_peer_running=add_peer,
        queue_table_absent=any(flag.queue_table_exists is not True for flag in flags),
        hbase_keeps_all=add_peer or migration or unparsable,
        foreign_cleaner=_foreign_cleaner(snapshot, settings),
        backup=snapshot.backup or Backup(enabled=False),
        release=settings.release,
    )


def _forgotten(directory: WalDirectory, now: int) -> bool:
    return directory.entries == 0 and now - directory.modification_time > DAY_MS


def _foreign_cleaner(snapshot: Snapshot, settings: ReconcileSettings) -> str | None:
    if snapshot.backup is None and settings.backup_enabled is not False:
        return "whether HBase backup is enabled is unknown"
    plugins = snapshot.log_cleaner_plugins if snapshot.log_cleaner_plugins is not None else settings.log_cleaner_plugins
    if plugins is None:
        return "the list of log-cleaner plugins is unknown"
    foreign = sorted(set(plugins) - DEFAULT_CLEANERS - set(settings.harmless_cleaners))
    return f"walsafe does not know the log-cleaner plugin {' and '.join(foreign)}" if foreign else None
