"""Parses the znodes of one reading of `/hbase/replication` (`ZKReplicationQueueStorage`)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.common.errors import MalformedError
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.queue_ids import ZkQueueId, parse_zk_queue_id
from pipelines.hbase.zookeeper.values import parse_lock_owner, parse_position
from pipelines.hbase.zookeeper.wire import MAGIC, without_metadata

ABSENT = -1
"""The cversion that means "this znode does not exist"; used for `rs` only."""
QUEUES, PEERS, HFILE_REFS, REGIONS = "rs", "peers", "hfile-refs", "regions"
QUEUE_DATA = (QUEUES, REGIONS, HFILE_REFS)
"""HBase 3's master starts its migration if any of these exists (`ZKReplicationQueueStorageForMigration`)."""
_PARTS = (QUEUES, PEERS, HFILE_REFS, REGIONS)
_TRANSIENT = "cversion_"
_LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Znode:
    """One znode as read, with HBase's metadata; `cversion` counts the changes of its children."""

    path: str
    data: bytes
    cversion: int


@dataclass(frozen=True, slots=True)
class ZkQueue:
    """One queue.

    Attributes:
        owner: the server whose znode contains the queue.
        queue: the name of the queue.
        wals: the position by WAL name, in the order read; None = HBase could not read the position either.
    """

    owner: ServerName
    queue: ZkQueueId
    wals: Mapping[str, int | None]

    @property
    def source(self) -> ServerName:
        """Returns the server that wrote the WALs, which is the first owner."""
        return self.queue.dead_servers[0] if self.queue.dead_servers else self.owner


@dataclass(frozen=True, slots=True)
class ReplicationTree:
    """One reading.

    Attributes:
        queues: the queues of all servers, including empty ones, sorted.
        opened: the cversion of `rs` before anything below it was read; None = it was not read then, ABSENT = the znode
            did not exist.
        closed: the cversion of `rs` after everything below it was read, with the same special values as `opened`.
        cversions: the cversion of each `rs/<server>`; it changes when a queue or a lock is created or deleted.
        cversions_after: the cversion of each `rs/<server>`, read again after all queues; empty if it was not read
            again.
        locks: the servers whose queues another server is moving (HBase 1.x), with that server if the znode names it. If
            that server crashes, the lock stays forever.
        hfile_refs: the names of bulk-loaded HFiles by peer.
        sequence_ids: the last pushed sequence id by encoded region and peer.
    """

    queues: tuple[ZkQueue, ...]
    opened: int | None
    closed: int | None
    cversions: Mapping[ServerName, int] = field(default_factory=dict)
    cversions_after: Mapping[ServerName, int] = field(default_factory=dict)
    locks: Mapping[ServerName, str | None] = field(default_factory=dict)
    hfile_refs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sequence_ids: Mapping[tuple[str, str], int] = field(default_factory=dict)


def parse_tree(znodes: Sequence[Znode]) -> ReplicationTree:
    """Parses one reading.

    Args:
        znodes: the znodes in the order in which they were read; `rs` itself comes before or after everything below it,
            or both. A server's znode may appear a second time after all queues.

    Raises:
        MalformedError: a znode is not part of replication, or HBase throws on a server name. An unknown tree might keep
            queues elsewhere, so the whole reading is rejected.
    """
    base = base_of(znodes)
    tree = _Builder()
    for znode in znodes:
        if znode.path == base:
            continue
        part, _, rest = znode.path[len(base) + 1 :].partition("/")
        if not znode.path.startswith(f"{base}/") or part not in _PARTS:
            raise MalformedError(f"znode {znode.path!r} is not part of replication: {base} has {', '.join(_PARTS)}")
        names = rest.split("/") if rest else []
        if "" in names:
            raise MalformedError(f"znode {znode.path!r} has an empty name")
        tree.add(part, names, znode)
    return tree.built()


def base_of(znodes: Iterable[Znode]) -> str:
    """Returns the path of the replication znode, the parent of `rs`.

    HBase also has `/hbase/rs`, which is not part of replication.

    Raises:
        MalformedError: no `rs` was read.
    """
    found = [znode.path for znode in znodes if znode.path.endswith(f"/{QUEUES}")]
    if not found:
        raise MalformedError("no znode 'rs' was read; it must come before and after the queues")
    return min(found, key=lambda path: (path.count("/"), path)).removesuffix(f"/{QUEUES}")


class _Builder:
    def __init__(self) -> None:
        self._queues: dict[tuple[ServerName, str], dict[str, int | None]] = {}
        self._locks: dict[ServerName, str | None] = {}
        self._cversions: dict[ServerName, int] = {}
        self._cversions_after: dict[ServerName, int] = {}
        self._hfile_refs: dict[str, list[str]] = {}
        self._sequence_ids: dict[tuple[str, str], int] = {}
        self._readings: list[tuple[int, int]] = []
        self._below: list[int] = []
        self._count = 0

    def add(self, part: str, names: list[str], znode: Znode) -> None:
        self._count += 1
        if part == QUEUES and not names:
            self._readings.append((self._count, znode.cversion))
        elif part == QUEUES:
            self._below.append(self._count)
            self._add_queue(names, znode)
        elif part == HFILE_REFS and names:
            refs = self._hfile_refs.setdefault(names[0], [])
            refs += names[1:2]
        elif part == REGIONS and len(names) == 3:
            region, dash, peer = "".join(names).rpartition("-")
            if not dash:
                raise MalformedError(f"znode {znode.path!r} does not name a region and a peer")
            try:
                self._sequence_ids[region, peer] = parse_position(without_metadata(znode.data))
            except MalformedError as error:
                raise MalformedError(f"znode {znode.path!r}: {error}") from None

    def _add_queue(self, names: list[str], znode: Znode) -> None:
        # a claim creates and deletes this znode so that the cversion of `rs` changes; if it contains queues, HBase also
        # treats it as a server
        if names[0].startswith(_TRANSIENT) and len(names) == 1:
            return
        try:
            owner = ServerName.parse(names[0])
        except MalformedError as error:
            raise MalformedError(f"znode {znode.path!r}: {error}") from None
        match names[1:]:
            case []:
                if _plain(znode.data).startswith(MAGIC):
                    raise MalformedError(
                        f"znode {znode.path!r} is the registration of a region server, not its replication queues. "
                        "Read /hbase/replication/rs, not /hbase/rs"
                    )
                looks = self._cversions_after if owner in self._cversions else self._cversions
                looks[owner] = znode.cversion
            case [queue]:
                # a peer may have this id too; then the znode contains WALs
                if queue == _LOCK:
                    self._locks[owner] = parse_lock_owner(_plain(znode.data))
                self._queues.setdefault((owner, queue), {})
            case [queue, wal]:
                self._queues.setdefault((owner, queue), {})[wal] = _position(znode.data)
            case _:
                raise MalformedError(f"znode {znode.path!r} is below a WAL")

    def built(self) -> ReplicationTree:
        locked = {server for server in self._locks if not self._queues[server, _LOCK]}
        queues = [
            ZkQueue(owner, parse_zk_queue_id(queue), wals)
            for (owner, queue), wals in sorted(self._queues.items())
            if queue != _LOCK or owner not in locked
        ]
        before = [cversion for at, cversion in self._readings if at < min(self._below, default=self._count + 1)]
        after = [cversion for at, cversion in self._readings if at > max(self._below, default=0)]
        return ReplicationTree(
            queues=tuple(queues),
            opened=before[0] if before else None,
            closed=after[-1] if after else None,
            cversions=self._cversions,
            cversions_after=self._cversions_after,
            locks={server: owner for server, owner in self._locks.items() if server in locked},
            hfile_refs={peer: tuple(refs) for peer, refs in self._hfile_refs.items()},
            sequence_ids=self._sequence_ids,
        )


def _position(data: bytes) -> int | None:
    """Parses a position; None if HBase could not read it: its cleaner compares only names, so no verdict changes."""
    try:
        return parse_position(without_metadata(data))
    except MalformedError:
        return None


def _plain(data: bytes) -> bytes:
    """Returns the data after HBase's metadata; empty if the metadata are malformed."""
    try:
        return without_metadata(data)
    except MalformedError:
        return b""
