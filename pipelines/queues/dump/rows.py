"""Peers, queues and their WALs of a dump, as rows.

Field names equal the column names of the tables in `schemas/`; a test compares them. The `wals` of a queue are rows of
a separate table.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from pipelines.hbase.peer_rules import Tables
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import QueueCell
from pipelines.snapshot.model import too_new

DUMP_SUFFIX = "-queues"
"""Suffix of the run ids of dumps."""


@dataclass(frozen=True, slots=True)
class DumpedPeer:
    """A row of `dumped_peers`.

    Attributes:
        table_cfs: tables and families as HBase prints its map; None = the peer names none, or the snapshot does not
            know.
        namespaces: as HBase prints its set; None as for `table_cfs`.
        rule_known: whether the snapshot knows tables and namespaces of the peer.
    """

    peer_id: str
    state: str
    cluster_key: str | None
    endpoint: str | None
    config: Mapping[str, str]
    table_cfs: str | None
    namespaces: str | None
    rule_known: bool

    @classmethod
    def of(cls, peer: Peer) -> "DumpedPeer":
        """Returns the row of a peer."""
        rule = peer.rule
        return cls(
            peer.peer_id,
            peer.state,
            peer.cluster_key,
            peer.endpoint,
            dict(sorted((peer.config or {}).items())),
            _tables(rule.tables) if rule and rule.tables else None,
            f"[{', '.join(sorted(rule.namespaces))}]" if rule and rule.namespaces else None,
            rule_known=rule is not None,
        )


def _tables(tables: Tables) -> str:
    """Formats tables as `{t1=null, t2=[cf1, cf3]}`, like the Java map of HBase; null means all families."""
    return java_map({table: f"[{', '.join(names)}]" if names else "null" for table, names in tables.items()})


@dataclass(frozen=True, slots=True)
class DumpedWal:
    """A WAL of a queue.

    Attributes:
        wal_group: URL-encoded; the file name itself if it has no group.
        wal: file name, verbatim.
        path: below the WAL root, as listed; None = not in the listing, or finished and therefore not looked up.
        offset: recorded for this WAL, in bytes; None = no offset is recorded.
        pending: the queue still has to read it; False = finished, which only a negative offset says.
        length: bytes as listed; None without a path.
    """

    wal_group: str
    wal: str
    path: str | None
    offset: int | None
    pending: bool
    length: int | None

    @property
    def position(self) -> int:
        """Offset where reading begins, in bytes."""
        return max(self.offset or 0, 0)


@dataclass(frozen=True, slots=True)
class DumpedQueue:
    """One queue.

    Attributes:
        queue_id: the row key, or the name of the znode below its server.
        owner: the server that owns it now.
        source: the server that wrote the WALs.
        dead_servers: earlier owners, the first one first; the table keeps only the first.
        peer_state: None for a removed peer.
        owner_online: None = the snapshot does not know which servers are online.
        wals: those that it names or still has to read.
        missing: number of pending WALs that the listing should have and does not.
    """

    queue_id: str
    peer_id: str
    peer_state: str | None
    peer_exists: bool
    owner: str
    source: str
    recovered: bool
    dead_servers: tuple[str, ...]
    owner_online: bool | None
    wals: tuple[DumpedWal, ...]
    missing: int

    @property
    def pending(self) -> tuple[DumpedWal, ...]:
        """WALs that it still has to read."""
        return tuple(wal for wal in self.wals if wal.pending)

    @property
    def pending_bytes(self) -> int:
        """Total bytes of the pending WALs that the listing has."""
        return sum(wal.length or 0 for wal in self.pending)


@dataclass(frozen=True, slots=True)
class QueueDump:
    """The content of a dump.

    Attributes:
        storage: `table` or `zookeeper`.
        peers: by id.
        queues: by server, then by queue id.
        hfile_refs: by peer, names of bulk-loaded HFiles that the peer still has to receive.
        dead_replicators: servers with queues (in ZooKeeper: with a znode) that are not online.
        recorded: every cell of the queues in the table, in scan order; empty for ZooKeeper.
    """

    storage: str
    peers: tuple[DumpedPeer, ...]
    queues: tuple[DumpedQueue, ...]
    hfile_refs: Mapping[str, tuple[str, ...]]
    dead_replicators: tuple[str, ...]
    recorded: tuple[QueueCell, ...] = ()

    @property
    def deleted(self) -> tuple[DumpedQueue, ...]:
        """Queues of peers that do not exist."""
        return tuple(queue for queue in self.queues if not queue.peer_exists)

    @property
    def queue_sizes(self) -> dict[str, int]:
        """Number of pending WALs by peer id, for each peer that has a queue."""
        sizes: dict[str, int] = {}
        for queue in self.queues:
            sizes[queue.peer_id] = sizes.get(queue.peer_id, 0) + len(queue.pending)
        return dict(sorted(sizes.items()))


def missing_wals(wals: Iterable[DumpedWal], complete_before: int) -> int:
    """Returns how many pending WALs are nowhere; one that may be younger than the listing is not among them."""
    return sum(wal.pending and wal.path is None and not too_new(wal.wal, complete_before) for wal in wals)


def java_map(values: Mapping[str, str]) -> str:
    """Formats a map as Java prints it, sorted by key: `{a=b, c=d}`."""
    return f"{{{', '.join(f'{name}={values[name]}' for name in sorted(values))}}}"


def peer_rows(dump: QueueDump) -> list[dict[str, object]]:
    """Returns the rows of `dumped_peers`."""
    return [{**_fields(peer), "config": java_map(peer.config)} for peer in dump.peers]


def queue_rows(dump: QueueDump) -> list[dict[str, object]]:
    """Returns the rows of `dumped_queues`."""
    return [queue_document(queue) for queue in dump.queues]


def queue_document(queue: DumpedQueue) -> dict[str, object]:
    """Returns a queue without its WALs, plus their counts and bytes."""
    own = {name: value for name, value in _fields(queue).items() if name not in {"wals", "missing"}}
    return {
        **own,
        "dead_servers": list(queue.dead_servers),
        "pending_wals": len(queue.pending),
        "pending_bytes": queue.pending_bytes,
        "missing_wals": queue.missing,
    }


def wal_rows(dump: QueueDump) -> list[dict[str, object]]:
    """Returns the rows of `dumped_wals`."""
    return [
        {**{name: getattr(queue, name) for name in _OF_QUEUE}, **_fields(wal)}
        for queue in dump.queues
        for wal in queue.wals
    ]


def hfile_ref_rows(dump: QueueDump) -> list[dict[str, object]]:
    """Returns the rows of `dumped_hfile_refs`."""
    known = {peer.peer_id for peer in dump.peers}
    return [
        {"peer_id": peer_id, "peer_exists": peer_id in known, "hfile": name}
        for peer_id, names in dump.hfile_refs.items()
        for name in names
    ]


_OF_QUEUE = ("queue_id", "peer_id", "owner", "source")


def of_server(queue: DumpedQueue) -> tuple[str, str]:
    """Sort key of queues: owner, then queue id."""
    return queue.owner, queue.queue_id


def peers_of(peers: Iterable[Peer]) -> tuple[DumpedPeer, ...]:
    """Returns the peers sorted by id."""
    return tuple(DumpedPeer.of(peer) for peer in sorted(peers, key=lambda one: one.peer_id))


def _fields(value: DumpedPeer | DumpedQueue | DumpedWal) -> dict[str, object]:
    return {field.name: getattr(value, field.name) for field in fields(value)}
