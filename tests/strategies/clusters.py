"""Whole clusters as captured: who is alive, peers, both passes, files, and the settings they are decided with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from jobs.demo.cluster.capture import cells_of
from jobs.demo.cluster.snapshots import LOG_CLEANERS, NO_BACKUP, SAFE_FLAGS, healthy_snapshot, steps_at
from pipelines.common.errors import MalformedError
from pipelines.common.instants import DAY_MS
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.decide.rule.table_queue_storage import table_view
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell, QueueCell, parse_queue_cells
from pipelines.hbase.server_names import MAX_LONG, ServerName
from pipelines.snapshot.model import Backup, MasterFlags, Membership, Retention, Snapshot, WalDirectory
from tests.models.capture.trust import distrust_reason
from tests.models.oddities import MALFORMED_CELLS, OTHER_FAMILIES, TIMESTAMPS, TRAP_PEERS
from tests.strategies.names import server_names, wal_file_names
from tests.strategies.queues import REMOVED_PEER_IDS, anchors_of, both_passes

NOW = 1_790_000_000_000
"""Start of step `files`, ms; the other steps follow, 100 ms each."""
STEP_MS = 100
RETENTION = Retention(wal_ttl_ms=600_000, procedure_wal_ttl_ms=7 * DAY_MS, master_local_wal_ttl_ms=6 * DAY_MS)
MASTER = "m1,16000,1664092000000"


@dataclass(frozen=True)
class ClusterCase:
    """One generated cluster: everything that `reconcile` reads.

    Attributes:
        snapshot: without `contents`, which the writer of a snapshot directory computes.
        files: under oldWALs; paths are distinct.
        live_files: under WALs/ and remoteWALs/; never decided.
        pass_1: cells of queues-1 in scan order, all families.
        pass_2: cells of queues-2.
        settings: with opt-ins.
    """

    snapshot: Snapshot
    files: tuple[ArchivedFile, ...]
    live_files: tuple[ArchivedFile, ...]
    pass_1: tuple[Cell, ...]
    pass_2: tuple[Cell, ...]
    settings: ReconcileSettings

    @property
    def all_files(self) -> tuple[ArchivedFile, ...]:
        """What step `files` saw."""
        return self.files + self.live_files


@st.composite
def modification_times(draw: st.DrawFn, retention: Retention = RETENTION) -> int:
    """Ms, mostly old enough; else within a millisecond of a TTL edge, of now, or of the end of step `files`."""
    if draw(st.integers(0, 3)) > 0:
        return NOW - 30 * DAY_MS
    edges = (
        NOW - retention.wal_ttl_ms,
        NOW - retention.procedure_wal_ttl_ms,
        NOW - retention.master_local_wal_ttl_ms,
        NOW,
        NOW + STEP_MS,
        NOW + DAY_MS,
        1,
    )
    return draw(st.sampled_from(edges)) + draw(st.sampled_from((-1, 0, 1)))


@st.composite
def memberships(draw: st.DrawFn, servers: Sequence[ServerName]) -> tuple[Membership, Membership]:
    """Both readings of who is alive, for a pool of servers; the master is the same one."""
    online, crashing, directories = set[ServerName](), set[ServerName](), []
    for server in servers:
        state = draw(st.integers(0, 9))
        if state <= 2:
            online.add(server)
        if state in (3, 4):
            crashing.add(server)
        if state in (1, 3, 5):  # from 6 on: fully dead
            entries = draw(st.sampled_from((0, 0, 3)))
            age = draw(st.sampled_from((0, DAY_MS - 1, DAY_MS, DAY_MS + 1, 9 * DAY_MS)))
            directories.append(WalDirectory(server, entries, NOW - age))
    if online and not any(one.server in online for one in directories) and draw(st.integers(0, 15)) < 15:
        directories.append(WalDirectory(min(online), 1, NOW))  # else it looks like two clusters
    first = Membership(MASTER, frozenset(online), frozenset(crashing), tuple(directories))
    for server in servers:
        if draw(st.integers(0, 31)) == 31:
            draw(st.sampled_from((online, crashing))).symmetric_difference_update({server})
    return first, Membership(MASTER, frozenset(online), frozenset(crashing))


def snapshot_of(peer_ids: Iterable[str], first: Membership, second: Membership) -> Snapshot:
    """A snapshot in which nothing but peers and servers can matter."""
    peers = (Peer(peer, "ENABLED") for peer in sorted(peer_ids))
    steps = steps_at(NOW, STEP_MS, gap=0)
    return healthy_snapshot("prod-a", steps, peers, first, second, retention=RETENTION)


def view_of(case: ClusterCase) -> ClusterView:
    """The view that reconcile would build."""
    passes: list[tuple[QueueCell, ...]] = []
    try:
        passes = [parse_queue_cells(case.pass_1), parse_queue_cells(case.pass_2)]
        untrusted = distrust_reason(case.snapshot, passes, case.settings.release)
        malformed = False
    except MalformedError as error:
        untrusted, malformed, passes = str(error), True, []
    return table_view(case.snapshot, passes, case.settings, untrusted, unparsable=malformed)


@st.composite
def flag_values(draw: st.DrawFn) -> MasterFlags:
    """Mostly safe; else one flag unsafe or unknown."""
    if draw(st.integers(0, 39)) < 39:
        return SAFE_FLAGS
    name = draw(st.sampled_from(("queue_table_exists", "add_peer_running", "migration_pending", "zk_queue_data")))
    return replace(SAFE_FLAGS, **{name: draw(st.sampled_from((name != "queue_table_exists", None)))})


@st.composite
def backups(draw: st.DrawFn, servers: Sequence[ServerName]) -> Backup | None:
    """Mostly off; else boundaries near the timestamps in use, or unknown."""
    shape = draw(st.integers(0, 29))
    if shape < 28:
        return NO_BACKUP
    if shape == 28:
        return None
    chosen = draw(st.lists(st.sampled_from(tuple(servers)), max_size=4))
    return Backup(
        enabled=True,
        boundaries={server.address: draw(st.sampled_from(TIMESTAMPS)) for server in chosen},
        others=draw(st.sampled_from((None, *TIMESTAMPS, MAX_LONG))),
    )


@st.composite
def release_choices(draw: st.DrawFn, orphan_queues: bool = False) -> Release:
    """Opt-ins, mostly none; `orphan_queues` mostly where the caller wants rows without peers believed."""
    rarely = st.integers(0, 3).map(lambda number: number == 3)
    return Release(draw(rarely), draw(rarely) != orphan_queues, draw(rarely))


@st.composite
def cluster_cases(
    draw: st.DrawFn,
    cluster: str = "prod-a",
    min_files: int = 0,
    max_files: int = 25,
    malformed: bool = False,
    control_characters: bool = False,
) -> ClusterCase:
    """One cluster as captured.

    Args:
        cluster: its name; draw several for a fleet.
        min_files: files under oldWALs, at least.
        max_files: files under oldWALs, at most.
        malformed: now and then a row that HBase's own parser throws on.
        control_characters: now and then a file name with a line end or other control character.
    """
    servers = draw(st.lists(server_names, min_size=1, max_size=5, unique=True))
    peer_ids = draw(
        st.lists(st.sampled_from(TRAP_PEERS), min_size=draw(st.sampled_from((1, 1, 1, 1, 0))), max_size=3, unique=True)
    )
    row_peers = (*peer_ids, *peer_ids, *peer_ids, draw(st.sampled_from(REMOVED_PEER_IDS)))
    no_rows = draw(st.integers(0, 19)) == 19
    rows_1, rows_2 = ({}, {}) if no_rows else draw(both_passes(row_peers, servers))
    first, second = draw(memberships(servers))
    in_use = st.sampled_from(tuple(servers))
    anchors = anchors_of(rows_1) + anchors_of(rows_2)
    names = wal_file_names(anchors, in_use, control_characters)
    archived = _archived_files(names, servers)
    files = draw(st.lists(archived, min_size=min_files, max_size=max_files, unique_by=lambda file: file.path))
    live_files = draw(st.lists(_live_files(names, servers), max_size=3, unique_by=lambda file: file.path))
    flags = draw(flag_values())
    plugins = draw(st.sampled_from((*((LOG_CLEANERS,) * 20), None, (*LOG_CLEANERS, "org.example.Cleaner"))))
    snapshot = replace(
        snapshot_of(peer_ids, first, second),
        cluster=cluster,
        peers=tuple(Peer(peer, draw(st.sampled_from(("ENABLED", "DISABLED")))) for peer in sorted(peer_ids)),
        flags=flags,
        flags_2=draw(st.sampled_from((flags, flags, flags, SAFE_FLAGS))),
        log_cleaner_plugins=plugins,
        backup=draw(backups(servers)),
    )
    settings = ReconcileSettings(
        release=draw(release_choices(orphan_queues=not peer_ids)),
        harmless_cleaners=draw(st.sampled_from(((), (), ("org.example.Cleaner",)))),
        log_cleaner_plugins=draw(st.sampled_from((None, LOG_CLEANERS))),
        backup_enabled=draw(st.sampled_from((None, False))),
    )
    extra = draw(st.lists(st.sampled_from(OTHER_FAMILIES), max_size=2, unique=True))
    broken = draw(st.lists(st.sampled_from(MALFORMED_CELLS), max_size=1)) if malformed else []
    return ClusterCase(
        snapshot=snapshot,
        files=tuple(files),
        live_files=tuple(live_files),
        pass_1=(*extra, *cells_of(rows_1)),
        pass_2=(*extra, *cells_of(rows_2), *broken),
        settings=settings,
    )


@st.composite
def _archived_files(draw: st.DrawFn, names: st.SearchStrategy[str], servers: Sequence[ServerName]) -> ArchivedFile:
    folders = ("", "", "", f"{servers[0]}/", "masterProcedureWALs/", "odd.1664096778778/x.5/")
    path = f"oldWALs/{draw(st.sampled_from(folders))}{draw(names)}"
    return ArchivedFile(path, draw(st.sampled_from((0, 85, 1 << 27, 1 << 40))), draw(modification_times()))


@st.composite
def _live_files(draw: st.DrawFn, names: st.SearchStrategy[str], servers: Sequence[ServerName]) -> ArchivedFile:
    server = draw(st.sampled_from(tuple(servers)))
    folder = draw(st.sampled_from((f"WALs/{server}", f"WALs/{server}-splitting", "remoteWALs/1")))
    return ArchivedFile(f"{folder}/{draw(names)}", draw(st.sampled_from((0, 85, 1 << 27))), NOW - 1)
