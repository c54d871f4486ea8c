"""Lists directories through Hadoop's `FileSystem` in Spark's JVM: any scheme, HA nameservices, Kerberos."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError

from pipelines.capture.sources.wal_tree import NoSuchDirectoryError
from pipelines.common.errors import UnavailableError
from pipelines.files.file_status import FileStatus
from pipelines.files.hadoop_jvm import HadoopJvm, java_errors
from pipelines.files.hadoop_listing import PAGE, HadoopListing
from pipelines.files.observer_reads import observer_provider
from pipelines.hbase.server_names import MAX_LONG


class HadoopLister:
    """Lists directories of one Hadoop file system, opened for this capture alone; a `DirectoryLister`.

    Args:
        hadoop: the interface to Spark's JVM.
        wal_root: the full URI of the WAL root.
        properties: Hadoop properties, in addition to those with which Spark was started.
        page: the number of elements fetched at a time.

    Raises:
        UsageError: there is no file system for that URI.
        UnavailableError: the file system cannot be reached.
    """

    def __init__(
        self, hadoop: HadoopJvm, wal_root: str, properties: Mapping[str, str] | None = None, page: int = PAGE
    ) -> None:
        self._hadoop = hadoop
        self._root = wal_root
        self._page = page
        with java_errors(wal_root):
            conf = hadoop.view.org.apache.hadoop.conf.Configuration(hadoop.conf)
            for name, value in (properties or {}).items():
                conf.set(name, value)
            # a new instance: a cached one would ignore the properties
            self._files = hadoop.view.org.apache.hadoop.fs.FileSystem.newInstance(hadoop.path(wal_root).toUri(), conf)
            self._listing = HadoopListing(hadoop, self._files)
        # an observer name node may lag behind; msync makes the next read as fresh as that of the active name node
        self._lagging = wal_root.startswith("hdfs:") and observer_provider(hadoop, conf, wal_root) is not None

    def pages(self, directory: str) -> Iterator[Sequence[FileStatus]]:
        """See `DirectoryLister.pages`."""
        uri = f"{self._root}/{directory}"
        with _missing(directory), java_errors(uri):
            if self._lagging:
                self._files.msync()
            yield from self._listing.pages(uri, self._page)

    def free_bytes(self) -> int | None:
        """See `DirectoryLister.free_bytes`; None for a local file system, and for one that has no limit."""
        path = self._hadoop.path(self._root)
        if str(path.toUri().getScheme()) == "file":
            return None
        with java_errors(self._root):
            remaining = int(self._files.getStatus(path).getRemaining())
            replication = int(self._files.getDefaultReplication(path))
        return None if remaining == MAX_LONG else remaining // max(replication, 1)

    def close(self) -> None:
        """Closes the connection."""
        with java_errors(self._root):
            self._files.close()


@contextmanager
def _missing(directory: str) -> Iterator[None]:
    try:
        yield
    except UnavailableError as error:
        cause = error.__cause__
        if isinstance(cause, Py4JJavaError) and "FileNotFoundException" in str(cause.java_exception.toString()):
            raise NoSuchDirectoryError(directory) from None
        raise
