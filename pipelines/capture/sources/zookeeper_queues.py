"""Replication as HBase 1.x and 2.x keep it in ZooKeeper: queues, peers, and what else is below that znode."""

import logging
from collections.abc import Iterator, Mapping, Sequence

from pipelines.capture.sources.zookeeper_client import ZooKeeperClient
from pipelines.common.errors import MalformedError, UsageError
from pipelines.hbase.peers import Peer
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.tree import ABSENT, HFILE_REFS, PEERS, QUEUES, REGIONS, Znode
from pipelines.hbase.zookeeper.values import parse_peer
from pipelines.hbase.zookeeper.wire import MAGIC, message, text, without_metadata

logger = logging.getLogger(__name__)

_LEVELS = {HFILE_REFS: 2, REGIONS: 3}
"""How deep the parts lie that hold no queues."""


class ZooKeeperQueues:
    """`ZnodeSource`, and the peers and the cluster's id.

    Args:
        client: of the quorum.
        parent: `zookeeper.znode.parent`.
        replication: `zookeeper.znode.replication`, the znode below it.
    """

    def __init__(self, client: ZooKeeperClient, parent: str = "/hbase", replication: str = "replication") -> None:
        self._client = client
        self._parent = parent.rstrip("/")
        self._replication = replication
        self._base = f"{self._parent}/{replication}"

    def stamp(self, _step: str) -> None:
        """Read now."""

    def znode_names(self) -> Mapping[str, str]:
        """The znodes that are read, by the property of hbase-site.xml that names each; HBase's defaults but for two."""
        return {
            "zookeeper.znode.parent": self._parent,
            "zookeeper.znode.replication": self._replication,
            "zookeeper.znode.replication.peers": PEERS,
            "zookeeper.znode.replication.rs": QUEUES,
        }

    def znodes(self, step: str) -> Sequence[Znode]:
        """See `ZnodeSource.znodes`.

        A WAL that was listed and is gone when its data are asked for stands there all the same: it was in the queue.

        Raises:
            UnavailableError: ZooKeeper does not answer, or the session ended meanwhile.
            UsageError: no HBase lives there, or a znode may not be read.
        """
        self.cluster_id()  # every HBase has one: a wrong quorum or znode must not look like "no queues"
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
        """See `ZnodeSource.online`: each region server keeps a znode below `<parent>/rs` for as long as it lives.

        Raises:
            UsageError: what stands there is no server.
        """
        found = self._client.children(f"{self._parent}/{QUEUES}")
        try:
            return None if found is None else frozenset(ServerName.parse(name) for name in found[0])
        except MalformedError as error:
            raise UsageError(f"{self._client.where}, {self._parent}/{QUEUES}, step {step}: {error}") from error

    def peers(self) -> tuple[Peer, ...]:
        """All replication peers (`ZKReplicationPeerStorage`).

        Raises:
            UsageError: one that cannot be read.
        """
        self.cluster_id()
        with self._client.one_session():
            self._client.sync(self._base)
            ids, _ = self._client.children(f"{self._base}/{PEERS}") or ([], 0)
            paths = [f"{self._base}/{PEERS}/{peer}" for peer in ids]
            data, states, sync = (
                self._client.many([f"{path}{below}" for path in paths])
                for below in ("", "/peer-state", "/sync-rep-state")
            )
        try:
            return tuple(
                parse_peer(peer, without_metadata(own), _plain(state), _plain(sync_state))
                for peer, own, state, sync_state in zip(ids, data, states, sync, strict=True)
                if own is not None  # removed meanwhile
            )
        except MalformedError as error:
            raise UsageError(f"{self._client.where}, {self._base}/{PEERS}: {error}") from error

    def has_table(self, name: str) -> bool | None:
        """Whether HBase has a table, by the states that HBase 1.x keeps and HBase 2.x mirrors below `<parent>/table`.

        None = unknown: not even `hbase:namespace` has a state there, which every such HBase has, or it may not be read.
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

    def cluster_id(self) -> str | None:
        """The content of `hbaseid`; None where it is in a form that no HBase from 0.96 on writes.

        Raises:
            UsageError: there is none, so no HBase is there.
        """
        data = self._client.data(f"{self._parent}/hbaseid")
        if data is None:
            raise UsageError(
                f"{self._client.where} has no {self._parent}/hbaseid: no HBase lives there. Check "
                "capture.queues.quorum and capture.queues.parent (zookeeper.znode.parent)"
            )
        try:
            plain = without_metadata(data)
            return text(message(plain[len(MAGIC) :]), 1) if plain.startswith(MAGIC) else None
        except MalformedError:
            return None

    def _queues_znode(self) -> Znode:
        path = f"{self._base}/{QUEUES}"
        found = self._client.children(path)
        return Znode(path, b"", ABSENT if found is None else found[1])

    def _queues(self) -> Iterator[Znode]:
        root = f"{self._base}/{QUEUES}"
        servers, _ = self._client.children(root) or ([], 0)
        for server in servers:
            path = f"{root}/{server}"
            found = self._client.children(path)
            if found is None:  # claimed and removed: the cversion of `rs` tells
                continue
            names, cversion = found
            (data,) = self._client.many([path])
            yield Znode(path, data or b"", cversion)
            for name in names:
                yield from self._queue(f"{path}/{name}")

    def _servers_again(self, read: Sequence[Znode]) -> Iterator[Znode]:
        """The servers' znodes once more: whether a claim has begun since, which may have moved what is not read yet."""
        depth = f"{self._base}/{QUEUES}/".count("/")
        for path in [znode.path for znode in read if znode.path.count("/") == depth]:
            found = self._client.children(path)
            if found is not None:  # else it is gone, and the cversion of `rs` tells
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
        """The znodes so many levels below a path; nothing where there is no such path."""
        names, _ = self._client.children(path) or ([], 0)
        below = [f"{path}/{name}" for name in names]
        if levels > 1:
            for one in below:
                yield from self._leaves(one, levels - 1)
            return
        for one, data in zip(below, self._client.many(below), strict=True):
            if data is not None:
                yield Znode(one, data, 0)


def _plain(data: bytes | None) -> bytes | None:
    return None if data is None else without_metadata(data)
