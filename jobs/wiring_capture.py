"""From the configuration's words to the sources of a capture: the one place that names their technologies."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from pydantic import SecretStr

from jobs.capture_config import (
    CaptureSection,
    HadoopFilesSection,
    ThriftQueuesSection,
)
from pipelines.hadoop_jvm import HadoopJvm
from pipelines.ports import FileSource, QueueSource, StateSource, WalDirectorySource
from pipelines.sources.hadoop_files import HadoopLister
from pipelines.sources.hbase_admin import HBaseAdmin
from pipelines.sources.hbase_client import HBaseClient
from pipelines.sources.hbase_client_queues import HBaseClientQueues
from pipelines.sources.replication_znodes import ReplicationZnodes
from pipelines.sources.thrift_queues import ThriftQueues
from pipelines.sources.wal_tree import WalTree
from pipelines.use_cases.capture import Sources

ThingT = TypeVar("ThingT", HadoopLister, HBaseClient)


class CaptureWiring:
    """Makes the sources of one capture; connections are closed by the stack.

    Args:
        cluster: for messages.
        wal_root: full URI.
        section: `capture` of the configuration.
        hadoop: Spark's JVM.
        stack: closes what was opened.
    """

    def __init__(
        self, cluster: str, wal_root: str, section: CaptureSection, hadoop: HadoopJvm, stack: ExitStack
    ) -> None:
        self._cluster = cluster
        self._wal_root = wal_root
        self._section = section
        self._hadoop = hadoop
        self._stack = stack
        self._client: HBaseClient | None = None

    def sources(self) -> Sources:
        """All of them; nothing is read yet."""
        files, directories = self._files()
        return Sources(files, directories, self._queues(), self._state())

    def _files(self) -> tuple[FileSource, WalDirectorySource]:
        tree = self._live_tree()
        return tree, tree

    def _live_tree(self) -> WalTree:
        section = self._section.files
        properties = _revealed(section.properties) if isinstance(section, HadoopFilesSection) else {}
        lister = self._closed(HadoopLister(self._hadoop, self._wal_root, properties))
        return WalTree(lister, self._wal_root)

    def _queues(self) -> QueueSource:
        section = self._section.queues
        if isinstance(section, ThriftQueuesSection):
            return ThriftQueues(
                section.host,
                section.port,
                transport=section.transport,
                protocol=section.protocol,
                timeout_ms=section.timeout,
                table=section.table,
            )
        return HBaseClientQueues(self._hbase())

    def _state(self) -> StateSource:
        client = self._hbase()
        return HBaseAdmin(client, ReplicationZnodes.of(self._hadoop, client.conf, self._section.hbase.timeout))

    def _hbase(self) -> HBaseClient:
        if self._client is None:
            hbase = self._section.hbase
            where = f"HBase of cluster {self._cluster}"
            client = HBaseClient(self._hadoop, hbase.site, _revealed(hbase.properties), hbase.timeout, where)
            self._client = self._closed(client)
        return self._client

    def _closed(self, thing: ThingT) -> ThingT:
        self._stack.callback(thing.close)
        return thing


@contextmanager
def capture_sources(cluster: str, wal_root: str, section: CaptureSection, hadoop: HadoopJvm) -> Iterator[Sources]:
    """The sources that the configuration names, open until the block ends."""
    with ExitStack() as stack:
        yield CaptureWiring(cluster, wal_root, section, hadoop, stack).sources()


def _revealed(properties: Mapping[str, SecretStr]) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in properties.items()}
