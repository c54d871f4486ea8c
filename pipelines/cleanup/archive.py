"""Copies files to a cold archive and compares them; only then may the caller delete the originals."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from pipelines.common.errors import UnavailableError, UsageError
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_errors

_COPIES = 4


class HadoopArchive:
    """Implements `Archive` on any Hadoop file system.

    A copy is written under a hidden name, read back, compared with the quarantined file by length and SHA-256, and
    renamed last, so every file under its final name is complete. A file that already has the final name is compared and
    never overwritten.

    Args:
        hadoop: the interface to Spark's JVM.
        root: the folder of the archive.
        properties: Hadoop properties, in addition to those with which Spark was started.
    """

    def __init__(self, hadoop: HadoopJvm, root: str, properties: Mapping[str, str] | None = None) -> None:
        self._hadoop = hadoop
        self._root = root.rstrip("/")
        with java_errors(root):
            self._conf = hadoop.view.org.apache.hadoop.conf.Configuration(hadoop.conf)
            for key, value in (properties or {}).items():
                self._conf.set(key, value)
        self._open: dict[str, JavaObject] = {}
        self._opens = Lock()

    def place(self, name: str) -> str:
        """See `Archive.place`."""
        return f"{self._root}/{name}"

    def keep(self, sources: Sequence[str], names: Sequence[str]) -> list[tuple[str, str | None]]:
        """See `Archive.keep`."""
        with ThreadPoolExecutor(_COPIES, thread_name_prefix="archive") as pool:
            return list(pool.map(self._keep, sources, names))

    def close(self) -> None:
        """Closes the file systems that were opened."""
        with java_errors(self._root):
            for files in self._open.values():
                files.close()

    def _keep(self, source: str, name: str) -> tuple[str, str | None]:
        target = self.place(name)
        try:
            with java_errors(target):
                return target, self._copied(source, target)
        except (UnavailableError, UsageError) as error:
            return target, str(error)

    def _copied(self, source: str, target: str) -> str | None:
        hadoop = self._hadoop
        origin, final = hadoop.path(source), hadoop.path(target)
        there, here = self._files(source), self._files(target)
        if here.exists(final):
            return None if self._same(source, target) else "the archive holds another file of that name"
        hidden = f"{target.rpartition('/')[0]}/.{target.rpartition('/')[2]}.copying"
        copy = hadoop.path(hidden)
        # deleteSource=False; overwrite=True, because a copy that a dead job began is of no use
        hadoop.view.org.apache.hadoop.fs.FileUtil.copy(there, origin, here, copy, False, True, hadoop.conf)
        if not self._same(source, hidden):
            return "the copy differs from the file in length or checksum"
        return None if here.rename(copy, final) else "the copy could not be given its name"

    def _same(self, one: str, other: str) -> bool:
        return self._length(one) == self._length(other) and self._sha256(one) == self._sha256(other)

    def _length(self, uri: str) -> int:
        return int(self._files(uri).getFileStatus(self._hadoop.path(uri)).getLen())

    def _sha256(self, uri: str) -> str:
        stream = self._files(uri).open(self._hadoop.path(uri))
        try:
            return str(self._hadoop.view.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))
        finally:
            stream.close()

    def _files(self, uri: str) -> JavaObject:
        """Returns the file system of a URI; each is opened once."""
        where = self._hadoop.path(uri).toUri()
        name = f"{where.getScheme()}://{where.getAuthority()}"
        with self._opens:
            if name not in self._open:
                # a new instance: a cached one would ignore the properties
                self._open[name] = self._hadoop.view.org.apache.hadoop.fs.FileSystem.newInstance(where, self._conf)
            return self._open[name]
