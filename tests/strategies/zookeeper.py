"""Queues in ZooKeeper: trees as HBase 1.x and 2.x leave them, two readings, and clusters around them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from jobs.demo.cluster.snapshots import queues_in_zookeeper
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.decide.rule.zookeeper_queue_storage import zookeeper_view
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.tree import Znode, parse_tree
from pipelines.snapshot.model import Membership, Snapshot
from tests.models.capture.trust import zookeeper_distrust_reason
from tests.models.oddities import TRAP_PEERS
from tests.strategies.clusters import MASTER, backups, modification_times, snapshot_of
from tests.strategies.names import server_names, wal_file_names

BASE = "/hbase/replication"
POSITIONS = (b"", bytes.fromhex("5042554608bb03"), (443).to_bytes(8, "big"), b"443", b"PBUF", b"12345678")
SHORT_NAMES = ("1.1.1.2,60020.1214", "1.1.1.2,60020.1248", "wal.123", "x%2C1%2C2.99999999999999999999")
Queues = Mapping[tuple[str, str], Mapping[str, bytes]]
"""By server and queue id, the data of each WAL's znode."""


@dataclass(frozen=True)
class ZooKeeperCase:
    """One generated cluster whose queues are in ZooKeeper."""

    snapshot: Snapshot
    files: tuple[ArchivedFile, ...]
    pass_1: tuple[Znode, ...]
    pass_2: tuple[Znode, ...]
    settings: ReconcileSettings


def znodes(
    queues: Queues, before: int = 7, after: int = 7, cversions: Mapping[str, int] | None = None
) -> tuple[Znode, ...]:
    """One reading of the tree, as `capture` writes it: `rs` first and last."""
    found = [Znode(f"{BASE}/rs", b"", before)]
    for server in sorted({server for server, _ in queues}):
        found.append(Znode(f"{BASE}/rs/{server}", b"", (cversions or {}).get(server, 1)))
        for (owner, queue), wals in sorted(queues.items()):
            if owner == server:
                found.append(Znode(f"{BASE}/rs/{server}/{queue}", b"", len(wals)))
                found += [Znode(f"{BASE}/rs/{server}/{queue}/{wal}", data, 0) for wal, data in wals.items()]
    return (*found, Znode(f"{BASE}/rs", b"", after))


def view_of_zookeeper(case: ZooKeeperCase) -> ClusterView:
    """The view that reconcile would build."""
    trees = [parse_tree(case.pass_1), parse_tree(case.pass_2)]
    untrusted = zookeeper_distrust_reason(case.snapshot, trees, case.settings.release)
    return zookeeper_view(case.snapshot, trees, case.settings, untrusted, unparsable=False)


def zookeeper_snapshot(peer_ids: Sequence[str]) -> Snapshot:
    """A snapshot in which nothing but peers and queues can matter."""
    nobody = Membership(MASTER, frozenset(), frozenset())
    return queues_in_zookeeper(snapshot_of(peer_ids, nobody, nobody))


@st.composite
def queue_ids(draw: st.DrawFn, servers: Sequence[ServerName]) -> str:
    """A peer, and the servers over whose deaths the queue came."""
    peer = draw(st.sampled_from((*TRAP_PEERS, *TRAP_PEERS, "9", "lock")))
    hops = draw(st.lists(st.sampled_from(tuple(servers)), max_size=3))
    return "-".join((peer, *map(str, hops), *(("bad",) if draw(st.integers(0, 19)) == 19 else ())))


@st.composite
def zookeeper_cases(draw: st.DrawFn, max_files: int = 25) -> ZooKeeperCase:
    """One cluster: most of its files are in some queue or look like it; between the readings queues change a little."""
    servers = draw(st.lists(server_names, min_size=1, max_size=4, unique=True))
    names = draw(
        st.lists(
            st.one_of(wal_file_names(servers=st.sampled_from(servers)), st.sampled_from(SHORT_NAMES)),
            min_size=1,
            max_size=12,
        )
    )
    safe = [name for name in names if name and "/" not in name] or ["wal.1"]
    wals = st.dictionaries(st.sampled_from(safe), st.sampled_from(POSITIONS), max_size=4)
    key = st.tuples(st.sampled_from([str(server) for server in servers]), queue_ids(servers))
    first = draw(st.dictionaries(key, wals, max_size=5))
    second = dict(first)
    for changed in draw(st.lists(st.sampled_from(sorted(first)), max_size=2)) if first else ():
        gone = second.pop(changed, {})
        if draw(st.booleans()):
            claimed = (str(draw(st.sampled_from(servers))), f"{changed[1]}-{changed[0]}")
            second[claimed] = {**second.get(claimed, {}), **gone}
    moved = draw(st.integers(0, 4)) == 4
    peers = draw(st.lists(st.sampled_from(TRAP_PEERS), unique=True, max_size=3))
    snapshot = replace(zookeeper_snapshot(peers), backup=draw(backups(servers)))
    archived = draw(
        st.lists(st.one_of(st.sampled_from(safe), wal_file_names(servers=st.sampled_from(servers))), max_size=max_files)
    )
    paths = sorted({f"oldWALs/{draw(st.sampled_from(('', 'sub/')))}{name}" for name in archived})
    files = tuple(
        ArchivedFile(path, draw(st.integers(0, 9)), draw(modification_times(snapshot.retention))) for path in paths
    )
    release = Release(orphan_queues=draw(st.integers(0, 3)) > 0)
    after = 8 if moved else 7
    return ZooKeeperCase(
        snapshot, files, znodes(first), znodes(second, after, after), ReconcileSettings(release=release)
    )


def lock(server: str, of: str | None) -> Znode:
    """`rs/<server>/lock` (`ReplicationLock`: field 1 is the path of its owner); None = it does not say whose it is."""
    path = "" if of is None else f"{BASE}/rs/{of}"
    data = b"" if of is None else b"PBUF" + bytes([0x0A, len(path)]) + path.encode()
    return Znode(f"{BASE}/rs/{server}/lock", data, 0)
