"""The text of HBase's `DumpReplicationQueues`, word for word; docs/dump-queues.md lists where that tool is wrong.

Sources: DumpReplicationQueues of HBase 3.0.0 and 2.6.4, `ZKDump.getReplicationZnodesDump` of 2.6.4.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from pipelines.common.errors import MalformedError
from pipelines.hbase.zookeeper.tree import HFILE_REFS, PEERS, QUEUES, Znode, base_of
from pipelines.hbase.zookeeper.values import parse_position
from pipelines.hbase.zookeeper.wire import without_metadata
from pipelines.queues.dump.rows import DumpedPeer, DumpedQueue, DumpedWal, QueueDump, java_map
from pipelines.snapshot.model import QUEUE_STORAGE_TABLE, QUEUE_STORAGE_ZOOKEEPER

_UNITS = ((1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K"))
_NOT_IN_SNAPSHOT = "(not in the snapshot)"


def peers_text(peers: Sequence[DumpedPeer]) -> str:
    """Returns the part that begins every dump."""
    return "\n".join(("Dumping replication peers and configurations:", *(_peer(peer) for peer in peers))) + "\n"


def table_text(dump: QueueDump) -> str:
    """Returns what dump-queues prints when no option is given: the content of `hbase:replication`."""
    lines = ["Dumping replication info via replication table.", "peers: "]
    for peer in dump.peers:
        lines += [
            f"peers/{peer.peer_id}: {_or_null(peer.cluster_key)}",
            f"peers/{peer.peer_id}/peer-state: {peer.state}",
        ]
    lines.append("rs: ")
    for cell in dump.recorded:
        # the group name contains the owner of a normal queue; a recovered queue needs its id, or its owner is lost
        queue = cell.queue.peer_id if cell.queue.source is None else str(cell.queue)
        lines.append(f"rs/{cell.group}/{queue}/{cell.offset.wal}: {cell.offset.offset}")
    lines.append("hfile-refs: ")
    lines += [f"hfile-refs/{peer_id}/{','.join(names)}" for peer_id, names in dump.hfile_refs.items()]
    return "\n".join(lines) + "\n"


def znodes_text(dump: QueueDump, znodes: Sequence[Znode]) -> str:
    """Returns what dump-queues prints when no option is given: the replication znodes.

    Args:
        dump: parsed from `znodes`.
        znodes: all znodes below the replication base.

    Raises:
        MalformedError: no znode `rs` among them.
    """
    base = base_of(znodes)
    lines = ["Dumping replication znodes via ZooKeeper:", f"{base}: "]
    if dump.hfile_refs:
        lines.append(f"{base}/{HFILE_REFS}: ")
        lines += [f"{base}/{HFILE_REFS}/{peer}: {', '.join(names)}" for peer, names in dump.hfile_refs.items()]
    if dump.peers:
        lines.append(f"{base}/{PEERS}: ")
    for peer in dump.peers:
        path = f"{base}/{PEERS}/{peer.peer_id}"
        lines += [f"{path}: {peer.cluster_key or ''}", f"{path}/peer-state: {peer.state}"]
    queues = {znode.path: znode.data for znode in znodes if f"{znode.path}/".startswith(f"{base}/{QUEUES}/")}
    lines += [f"{path}: {_position(queues[path])}" for path in sorted(queues, key=_last_child_first(queues))]
    return "\n".join(lines) + "\n"


def distributed_text(dump: QueueDump, wal_root: str, *, sizes: bool) -> str:
    """Returns the text of `--distributed`: queue by queue, then the totals.

    Args:
        dump: the content of the dump.
        wal_root: full URI, without a trailing slash.
        sizes: `--hdfs`.
    """
    queues = "".join(f"{line}\n" for queue in dump.queues for line in _queue(dump, queue, wal_root, sizes=sizes))
    return "\n".join((queues, *_summary(dump, sizes=sizes))) + "\n"


def human_size(size: int) -> str:
    """Formats bytes like `StringUtils.humanSize` of HBase (1536 to `1.5 K`), with Java's rounding."""
    for unit, letter in _UNITS:
        if size >= unit:
            # Java rounds the shortest decimal form of the double half up
            return f"{Decimal(repr(size / unit)).quantize(Decimal('0.1'), ROUND_HALF_UP)} {letter}"
    return str(size)


def _peer(peer: DumpedPeer) -> str:
    lines = [
        f"Peer: {peer.peer_id}",
        f"    State: {peer.state}",
        f"    Cluster Name: {_or_null(peer.cluster_key)}",
        f"    Replication Endpoint: {_or_null(peer.endpoint)}",
    ]
    if len(peer.config) > 1:
        lines.append(f"    Peer Configuration: {java_map(peer.config)}")
    unknown = None if peer.rule_known else _NOT_IN_SNAPSHOT
    lines.append(f"    Peer Table CFs: {_or_null(peer.table_cfs or unknown)}")
    lines.append(f"    Peer Namespaces: {_or_null(peer.namespaces or unknown)}")
    return "\n".join(lines)


def _or_null(text: str | None) -> str:
    return "null" if text is None else text


def _position(data: bytes) -> str:
    """Empty if there is no position, or if it cannot be read, which makes HBase 2.6.4 fail in some cases."""
    try:
        return str(parse_position(without_metadata(data))) if data else ""
    except MalformedError:
        return ""


def _last_child_first(paths: Mapping[str, bytes]) -> Callable[[str], tuple[int, ...]]:
    """Returns the sort key of a walk with a stack: a parent before its children, the last child first."""
    names = sorted({name for path in paths for name in path.split("/")}, reverse=True)
    place = {name: at for at, name in enumerate(names)}
    return lambda path: tuple(place[name] for name in path.split("/"))


def _queue(dump: QueueDump, queue: DumpedQueue, wal_root: str, *, sizes: bool) -> Iterator[str]:
    words = _WORDS[dump.storage]
    yield f"Dumping replication queue info for RegionServer: [{queue.owner}]"
    yield f"    {words.queue}: {queue.queue_id}"
    yield f"    PeerID: {queue.peer_id}"
    yield f"    Recovered: {_java(queue.recovered)}"
    if queue.dead_servers:
        yield f"    Dead {words.servers}: {words.dead(queue.dead_servers)}"
    else:
        yield f"    No dead {words.servers} found in this queue."
    yield f"    Was deleted: {_java(not queue.peer_exists)}"
    yield f"    Number of WALs in replication queue: {len(queue.pending)}"
    for wal in queue.pending:
        yield words.wal(wal, wal_root)
    if sizes:
        yield f"    Total size of WALs on HDFS for this queue: {human_size(queue.pending_bytes)}"


def _row_wal(wal: DumpedWal, wal_root: str) -> str:
    where = wal.wal if wal.path is None else f"{wal_root}/{wal.path}"
    return f" {_replication_position(f'{wal.wal_group}/{where}', wal)}"


def _znode_wal(wal: DumpedWal, _wal_root: str) -> str:
    return f"    {_replication_position(wal.wal, wal)}"


def _replication_position(where: str, wal: DumpedWal) -> str:
    position = str(wal.position) if wal.position else "0 (not started or nothing to replicate)"
    return f"Replication position for {where}: {position}"


@dataclass(frozen=True, slots=True)
class _QueueWords:
    """What HBase's tools of one storage print of a queue."""

    queue: str
    servers: str
    dead: Callable[[Sequence[str]], str]
    wal: Callable[[DumpedWal, str], str]


_WORDS = {
    QUEUE_STORAGE_TABLE: _QueueWords("Queue id", "RegionServer", lambda servers: servers[0], _row_wal),
    QUEUE_STORAGE_ZOOKEEPER: _QueueWords(
        "Queue znode", "RegionServers", lambda servers: f"[{', '.join(servers)}]", _znode_wal
    ),
}


def _summary(dump: QueueDump, *, sizes: bool) -> Iterator[str]:
    if dump.deleted:
        yield (
            f"Found {len(dump.deleted)} deleted queues, run hbck -fixReplication in order to remove the deleted "
            "replication queues"
        )
        yield from (f"    {queue.owner}/{queue.queue_id}" for queue in dump.deleted)
    if dump.dead_replicators:
        yield (
            f"Found {len(dump.dead_replicators)} dead regionservers, restart one regionserver to transfer the queues "
            "of dead regionservers"
        )
        yield from (f"    {server}" for server in dump.dead_replicators)
    if dump.queues:
        yield "Dumping all peers's number of WALs in replication queue"
        yield from (f"    PeerId: {peer} , sizeOfLogQueue: {wals}" for peer, wals in dump.queue_sizes.items())
    total = sum(queue.pending_bytes for queue in dump.queues) if sizes else 0
    yield f"    Total size of WALs on HDFS: {human_size(total)}"
    missing = sum(queue.missing for queue in dump.queues)
    if sizes and missing:
        yield f"    ERROR: There are {missing} WALs not found!!!"


def _java(flag: bool) -> str:
    return "true" if flag else "false"
