"""Reads the replication data that HBase 1.x and 2.x keep in ZooKeeper: queues, peers, and the other znodes below it."""

import logging
from collections.abc import Iterator, Mapping, Sequence

from pipelines.capture.ports import LiveSource
from pipelines.capture.sources.zookeeper_client import ZooKeeperReads
from pipelines.common.errors import MalformedError, UsageError
from pipelines.common.progress import Progress
from pipelines.hbase.peers import Peer
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.tree import ABSENT, HFILE_REFS, PEERS, QUEUE_DATA, QUEUES, REGIONS, Znode
from pipelines.hbase.zookeeper.values import PEER_CHILDREN, parse_cluster_id, parse_peers

logger = logging.getLogger(__name__)

_LEVELS = {HFILE_REFS: 2, REGIONS: 3}
"""The depth of each part that contains no queues."""


class ZooKeeperQueues(LiveSource):
    """Reads queues, peers and the cluster's id from ZooKeeper; a `ZnodeSource`.

    Args:
        client: the client of the quorum.
        parent: the value of `zookeeper.znode.parent`.
        replication: the value of `zookeeper.znode.replication`: the name of the znode below the parent.
    """

    def __init__(self, client: ZooKeeperReads, parent: str = "/hbase", replication: str = "replication") -> None:
        self._client = client
        self._parent = parent.rstrip("/")
        self._replication = replication
        self._base = f"{self._parent}/{replication}"

    @property
    def section(self) -> str:
        """Returns the section of the configuration that says where ZooKeeper is, for messages."""
        return self._client.section

    def znode_names(self) -> Mapping[str, str]:
        """Returns the names of the znodes that are read, by the property that sets each.

        All but two are HBase's defaults.
        """
        return {
            "zookeeper.znode.parent": self._parent,
            "zookeeper.znode.replication": self._replication,
            "zookeeper.znode.replication.peers": PEERS,
            "zookeeper.znode.replication.rs": QUEUES,
        }

    def znodes(self, step: str) -> Sequence[Znode]:
        """See `ZnodeSource.znodes`.

        A WAL that vanishes after it was listed and before its data is read still counts, because it was in the queue.

        Raises:
            UnavailableError: ZooKeeper does not answer, or the session ended meanwhile.
            UsageError: no HBase has its znodes there, or a znode may not be read.
        """
        self.cluster_id()  # every HBase has it: a wrong quorum or znode must not look like "there are no queues"
        with self._client.one_session():
            self._client.sync(self._base)
            found = [self._queues_znode(), *self._queues()]
            if step == "queues-2":
                found += list(self._servers_again(found))
            found.append(self._queues_znode())
            if step == "queues-2":
                found += [znode for part in _LEVELS for znode in self._leaves(f"{self._base}/{part}", _LEVELS[part])]
        return found

    def online(self, step: str) -> frozenset[ServerName] | None:
        """See `ZnodeSource.online`. Each region server keeps a znode below `<parent>/rs` for as long as it lives.

        Raises:
            UsageError: a znode there is not named after a server.
        """
        found = self._client.children(f"{self._parent}/{QUEUES}")
        try:
            return None if found is None else frozenset(ServerName.parse(name) for name in found[0])
        except MalformedError as error:
            raise UsageError(f"{self._client.where}, {self._parent}/{QUEUES}, step {step}: {error}") from error

    def peers(self) -> tuple[Peer, ...]:
        """Returns all replication peers (`ZKReplicationPeerStorage`).

        Raises:
            UsageError: a peer cannot be read.
        """
        self.cluster_id()
        with self._client.one_session():
            self._client.sync(self._base)
            parent = f"{self._base}/{PEERS}"
            ids, _ = self._client.children(parent) or ([], 0)
            peers = [f"{parent}/{peer}" for peer in ids]
            paths = [*peers, *(f"{peer}/{child}" for child in PEER_CHILDREN for peer in peers)]
            found = dict(zip(paths, self._client.many(paths), strict=True))
        try:
            return parse_peers(parent, {path: data for path, data in found.items() if data is not None})
        except MalformedError as error:
            raise UsageError(f"{self._client.where}, {parent}: {error}") from error

    def has_table(self, name: str) -> bool | None:
        """Returns whether HBase has a table, by the states below `<parent>/table`; None = unknown.

        HBase 1.x keeps these states in ZooKeeper, and 2.x mirrors them. The answer is unknown if a state may not be
        read, or if even `hbase:namespace`, which every such HBase has, has no state there.
        """
        states = f"{self._parent}/table"
        try:
            self._client.sync(self._parent)
            if self._client.exists(f"{states}/{name}"):
                return True
            return False if self._client.exists(f"{states}/hbase:namespace") else None
        except UsageError as error:
            logger.warning("Whether table %s exists is unknown: %s", name, error)
            return None

    def running(self) -> str | None:
        """Returns in words which process of HBase is running; None = none is.

        It checks the znodes that vanish with their process.
        """
        if self._client.exists(f"{self._parent}/master"):
            return f"an active master has {self._parent}/master in ZooKeeper"
        servers, _ = self._client.children(f"{self._parent}/{QUEUES}") or ([], 0)
        return f"region server {servers[0]} is in ZooKeeper" if servers else None

    def queue_data(self) -> bool:
        """Returns whether there is queue data of HBase 1.x or 2.x: the migration to HBase 3 has not finished."""
        return any(self._client.exists(f"{self._base}/{name}") for name in QUEUE_DATA)

    def cluster_id(self) -> str | None:
        """Returns the content of `hbaseid`; None if no HBase from 0.96 on writes this form.

        Raises:
            UsageError: there is no such znode, so no HBase has its znodes there.
        """
        data = self._client.data(f"{self._parent}/hbaseid")
        if data is None:
            raise UsageError(
                f"{self._client.where} has no {self._parent}/hbaseid: no HBase keeps its znodes there. Check "
                f"{self.section}.quorum and {self.section}.parent (zookeeper.znode.parent)"
            )
        return parse_cluster_id(data)

    def _queues_znode(self) -> Znode:
        path = f"{self._base}/{QUEUES}"
        found = self._client.children(path)
        return Znode(path, b"", ABSENT if found is None else found[1])

    def _queues(self) -> Iterator[Znode]:
        root = f"{self._base}/{QUEUES}"
        servers, _ = self._client.children(root) or ([], 0)
        for server in Progress("reading the queues", len(servers), "servers").over(servers):
            path = f"{root}/{server}"
            found = self._client.children(path)
            if found is None:  # the queue was claimed and removed: the cversion of `rs` shows it
                continue
            names, cversion = found
            (data,) = self._client.many([path])
            yield Znode(path, data or b"", cversion)
            for name in names:
                yield from self._queue(f"{path}/{name}")

    def _servers_again(self, read: Sequence[Znode]) -> Iterator[Znode]:
        """Reads the servers' znodes again.

        A claim that began in the meantime may have moved a queue that was not read yet.
        """
        depth = f"{self._base}/{QUEUES}/".count("/")
        for path in [znode.path for znode in read if znode.path.count("/") == depth]:
            found = self._client.children(path)
            if found is not None:  # otherwise it is gone, and the cversion of `rs` shows it
                yield Znode(path, b"", found[1])

    def _queue(self, path: str) -> Iterator[Znode]:
        found = self._client.children(path)
        if found is None:
            return
        wals, cversion = found
        paths = [path, *(f"{path}/{wal}" for wal in wals)]
        for one, data in zip(paths, self._client.many(paths), strict=True):
            yield Znode(one, data or b"", cversion if one == path else 0)

    def _leaves(self, path: str, levels: int) -> Iterator[Znode]:
        """Yields the znodes at a depth of `levels` below a path; yields none if the path does not exist."""
        names, _ = self._client.children(path) or ([], 0)
        below = [f"{path}/{name}" for name in names]
        if levels > 1:
            for one in below:
                yield from self._leaves(one, levels - 1)
            return
        for one, data in zip(below, self._client.many(below), strict=True):
            if data is not None:
                yield Znode(one, data, 0)
