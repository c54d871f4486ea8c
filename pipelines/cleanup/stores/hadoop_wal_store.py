"""Moves and deletes files through Hadoop's `FileSystem` in Spark's JVM: any scheme, HA nameservices, Kerberos."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pipelines.cleanup.ports import Move, Seen
from pipelines.cleanup.stores.hadoop_small_files import HadoopSmallFiles
from pipelines.cleanup.stores.java_file_calls import hadoop_calls, local_calls
from pipelines.cleanup.stores.java_file_loop import JavaFileLoop
from pipelines.cleanup.stores.java_handles import JavaHandles
from pipelines.cleanup.stores.store_failures import (
    OTHER_KIND,
    Failure,
    failed,
    outcomes,
    raise_common,
    to_blame,
)
from pipelines.cleanup.stores.wal_guard import WalGuard
from pipelines.cleanup.stores.wal_walk import Listed, directories_without_files, walk_files
from pipelines.common.errors import UnavailableError
from pipelines.files.file_batch import FileBatch
from pipelines.files.hadoop_jvm import HadoopJvm, java_errors
from pipelines.files.observer_reads import refuse_observer_reads


class HadoopWalStore:
    """`WalStore` over one Hadoop file system, which is opened for this store alone.

    A rename is `FileContext.rename`, which is atomic on HDFS. Nothing is changed outside `within`, nor below a symbolic
    link. A call that raises UnavailableError may have done part of its work, and an element whose connection broke may
    have been done: check with `seen`.

    Args:
        hadoop: the JVM.
        root: full URI on the file system.
        within: full URIs of the directories inside which alone it may change anything.
        properties: Hadoop properties in addition to those that Spark was started with.
        threads: number of concurrent calls to the file system.

    Raises:
        UsageError: no file system for that URI, `within` is not on it, or reads may be answered by an observer.
        UnavailableError: it cannot be reached.
    """

    def __init__(
        self,
        hadoop: HadoopJvm,
        root: str,
        within: Iterable[str],
        properties: Mapping[str, str] | None = None,
        threads: int = 8,
    ) -> None:
        self._hadoop = hadoop
        self._root = root
        fs = hadoop.view.org.apache.hadoop.fs
        with java_errors(root):
            conf = hadoop.view.org.apache.hadoop.conf.Configuration(hadoop.conf)
            for name, value in (properties or {}).items():
                conf.set(name, value)
        refuse_observer_reads(
            hadoop, conf, root, "wal_root", "key {0} of capture.files.properties, or Spark property spark.hadoop.{0}"
        )
        with java_errors(root):
            uri = hadoop.path(root).toUri()
            self._files = fs.FileSystem.newInstance(uri, conf)
            # no .crc files beside ours on the local disk; HDFS has its own checksums
            self._files.setWriteChecksum(False)
            self._context = fs.FileContext.getFileContext(uri, conf)
            handles = JavaHandles(hadoop)
            local = uri.getScheme() == "file"
            self._small = HadoopSmallFiles(hadoop, self._files, self._context, local=local)
            calls = local_calls(handles) if local else hadoop_calls(handles, self._files, self._context)
            self._loop = JavaFileLoop(handles, calls, threads)
        self._guard = WalGuard(root, within, self._loop.described)

    def seen(self, uris: Sequence[str]) -> list[Seen | None]:
        """See `WalStore.seen`."""
        self._guard.own(uris)
        what = f"looking at {len(uris)} paths on {self._root}"
        answers = self._loop.described(uris, what)
        failures = [answer for answer in answers if isinstance(answer, Failure) and not answer.gone]
        if failures:  # an unknown state is an error: the caller would take None for "gone"
            raise_common(failures, len(failures), what)
            raise failed(to_blame(failures), what)
        return [
            None if isinstance(answer, Failure) else Seen(answer.length, answer.modification_time, answer.is_file)
            for answer in answers
        ]

    def move(self, moves: Sequence[Move]) -> list[str | None]:
        """See `WalStore.move`; a directory or a symbolic link is not moved."""
        sources, targets = [move.source for move in moves], [move.target for move in moves]
        self._guard.allow([*sources, *targets])
        what = f"moving {len(moves)} files on {self._root}"
        return outcomes(self._loop.rename_files(sources, targets, what), what)

    def delete(self, uris: Sequence[str]) -> list[str | None]:
        """See `WalStore.delete`."""
        self._guard.allow(uris)
        what = f"deleting {len(uris)} files on {self._root}"
        answers = self._loop.delete_files(uris, what)
        return outcomes([None if answer and answer.gone else answer for answer in answers], what)

    def walk(self, directory: str) -> Iterator[FileBatch]:
        """See `WalStore.walk`; memory grows with the number of directories, plus one page."""
        return walk_files(self._pages, directory)

    def make_directories(self, uris: Sequence[str]) -> None:
        """See `WalStore.make_directories`."""
        self._guard.allow(uris)
        for uri in uris:
            with java_errors(uri):
                made = self._files.mkdirs(self._hadoop.path(uri))
            if not made:
                raise UnavailableError(
                    f"{uri} could not be made a directory; see whether a file of that name is in the way"
                )

    def remove_empty(self, directory: str) -> bool:
        """See `WalStore.remove_empty`; a file created meanwhile stays, with the directories above it."""
        self._guard.allow([directory])
        directories = directories_without_files(self._pages, directory)
        if directories is None:
            return False
        self._guard.allow(directories)
        what = f"removing the empty directories of {directory}"
        # children before parents; a directory that has become a file meanwhile must stay
        answers = self._loop.delete_directories(directories, what)
        failures = [answer for answer in answers if answer and not answer.gone]
        if any("NotEmpty" in failure.kind or failure.kind == OTHER_KIND for failure in failures):
            return False
        if failures:
            raise failed(to_blame(failures), what)
        return True

    def names(self, directory: str) -> list[str]:
        """See `WalStore.names`."""
        return sorted(entry.name for page in self._pages(directory) for entry in page)

    def rename_directory(self, source: str, target: str) -> bool:
        """See `WalStore.rename_directory`; the parent of the target must exist."""
        self._guard.allow([source, target])
        what = f"renaming {source} to {target}"
        (before,) = self._loop.described([source], what)
        if isinstance(before, Failure):
            if before.gone:
                return False
            raise failed(before, what)
        if not before.is_directory:
            raise UnavailableError(f"{what}: the source is no directory; look what has taken its place")
        failure = self._loop.rename(source, target, what)
        if failure is None:
            return True
        if failure.gone and isinstance(self._loop.described([source], what)[0], Failure):
            return False
        raise failed(failure, what)

    def create(self, uri: str, text: str) -> bool:
        """See `WalStore.create`. A creator that dies may leave an empty file, which then counts as existing."""
        self._guard.allow([uri])
        return self._small.create(uri, text)

    def replace(self, uri: str, text: str) -> None:
        """See `WalStore.replace`: writes a temporary file beside it, then renames that over it atomically."""
        self._guard.allow([uri])
        self._small.replace(uri, text)

    def read(self, uri: str) -> str | None:
        """See `WalStore.read`; if the creator died, returns what it had written, even if empty."""
        self._guard.own([uri])
        what = f"reading {uri}"
        (before,) = self._loop.described([uri], what)
        if isinstance(before, Failure):
            if before.gone:
                return None
            raise failed(before, what)
        if not before.is_file:
            raise UnavailableError(f"{what}: it is no file; look what has taken its place")
        return self._small.read(uri)

    def close(self) -> None:
        """Closes the connection and ends the threads."""
        with java_errors(self._root):
            self._loop.close()
            self._files.close()

    def _pages(self, directory: str) -> Iterator[Sequence[Listed]]:
        self._guard.own([directory])
        return self._loop.pages(directory)
