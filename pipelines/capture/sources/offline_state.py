"""Reads the state of a cluster that is down: its znodes in ZooKeeper, and the files below its two root directories."""

from collections.abc import Sequence
from functools import partial

from pipelines.capture.ports import ClusterSettings, LiveSource
from pipelines.capture.sources.zookeeper_queues import ZooKeeperQueues
from pipelines.capture.sources.zookeeper_state import ZooKeeperState
from pipelines.common.errors import UsageError
from pipelines.files.executor_streams import NotReadError, open_in_jvm
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_errors
from pipelines.hbase.offline_table import TableEdit
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.wal_format.cells import META_FAMILY
from pipelines.hbase.wal_format.reader import WalEnd, WalReader
from pipelines.snapshot.syncup_facts import INFO_FLAG, FlagFile

_FLAGS = "ReplicationSyncUp"
_LARGEST_INFO = 4096
_UNREAD = {WalEnd.CORRUPT, WalEnd.ENCRYPTED, WalEnd.FOREIGN}


class OfflineCluster(LiveSource):
    """Reads a cluster whose masters and region servers are down, while HDFS and ZooKeeper are up.

    Args:
        state: reads peers, settings and `hbase-site.xml`.
        queues: reads the znodes of the same cluster.
        hadoop: the interface to Spark's JVM.
        wal_root: the full URI of `hbase.wal.dir`.
    """

    def __init__(self, state: ZooKeeperState, queues: ZooKeeperQueues, hadoop: HadoopJvm, wal_root: str) -> None:
        self._state = state
        self._queues = queues
        self._hadoop = hadoop
        self._wal_root = wal_root

    def settings(self) -> ClusterSettings:
        """See `PeerSource.settings`."""
        return self._state.settings()

    def peers(self) -> tuple[Peer, ...]:
        """See `PeerSource.peers`."""
        return self._state.peers()

    def running(self) -> str | None:
        """See `ZooKeeperQueues.running`."""
        return self._queues.running()

    def zk_queue_data(self) -> bool:
        """See `ZooKeeperQueues.queue_data`."""
        return self._queues.queue_data()

    def root(self) -> str:
        """Returns the full URI of `hbase.rootdir`.

        Raises:
            UsageError: neither hbase-site.xml nor the properties set it, or it contains an unresolved `${`.
        """
        text = self._state.root()
        if text is None:
            raise UsageError(
                "neither capture.hbase.site nor capture.hbase.properties has hbase.rootdir, or it contains `${`: give "
                "the master's own hbase-site.xml"
            )
        return self._hadoop.qualified(text.rstrip("/"))

    def directories(self) -> Sequence[str]:
        """Returns the names of the directories below `WALs/`, `-splitting` included."""
        return sorted(
            str(one.getPath().getName()) for one in self._statuses(f"{self._wal_root}/WALs") if one.isDirectory()
        )

    def flags(self) -> Sequence[FlagFile]:
        """Returns the files that an earlier run of ReplicationSyncUp left below the root directory."""
        place = f"{self.root()}/{_FLAGS}"
        found = []
        for status in self._statuses(place):
            name, length = str(status.getPath().getName()), int(status.getLen())
            content = self._text(f"{place}/{name}") if name == INFO_FLAG and 0 < length <= _LARGEST_INFO else ""
            found.append(FlagFile(name, length, int(status.getModificationTime()), content))
        return sorted(found, key=lambda flag: flag.name)

    def edits(self, paths: Sequence[str]) -> tuple[Sequence[TableEdit], str | None]:
        """Returns the edits in WALs of `hbase:replication`, and the reason why they may be incomplete.

        None = they are complete.

        The driver reads one WAL after the other: there is at most one per server.

        Args:
            paths: the paths of the WALs below the WAL root.
        """
        found: list[TableEdit] = []
        problems = []
        for path in paths:
            edits, problem = _edits(f"{self._wal_root}/{path}", self._hadoop)
            found += edits
            problems += [problem] if problem else []
        return found, problems[0] if problems else None

    def _statuses(self, uri: str) -> list[JavaObject]:
        """Returns the elements of a directory; empty if it does not exist."""
        with java_errors(uri):
            path = self._hadoop.path(uri)
            files = path.getFileSystem(self._hadoop.conf)
            return list(files.listStatus(path)) if files.exists(path) else []

    def _text(self, uri: str) -> str:
        with java_errors(uri):
            path = self._hadoop.path(uri)
            stream = path.getFileSystem(self._hadoop.conf).open(path)
            try:
                data = bytes(self._hadoop.view.org.apache.hadoop.io.IOUtils.readFullyToByteArray(stream))
            finally:
                stream.close()
        return data.decode("utf-8", errors="replace")


def _edits(uri: str, hadoop: HadoopJvm) -> tuple[list[TableEdit], str | None]:
    """Returns the edits of one WAL, and the reason why they may be incomplete; None = they are complete."""
    found: list[TableEdit] = []
    pending: list[tuple[Cell, int]] = []

    def visit(row: bytes, family: bytes, qualifier: bytes, stamp: bytes, _length: int, value: bytes | None) -> None:
        if family != META_FAMILY:
            pending.append((Cell(row, family, qualifier, value or b""), stamp[-1]))

    try:
        with open_in_jvm(uri, hadoop) as read:
            reader = WalReader(read, values=True)
            for entry in reader.entries(visit):
                key = entry.key
                edit = partial(TableEdit, key.region.decode("ascii", "replace"), key.sequence_id, key.write_time)
                found += [edit(cell, kind) for cell, kind in pending]
                pending.clear()
    except NotReadError as error:
        return found, str(error)
    unread = reader.header_damaged or reader.ending in _UNREAD
    return found, f"{uri}: {reader.problem}" if unread else None
