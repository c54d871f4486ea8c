"""Lists directories through Hadoop's `FileSystem` in Spark's JVM: any scheme, HA nameservices, Kerberos.

A py4j call takes about 0.3 ms, which is too slow for one call per file, and `listStatus` of a directory with millions
of files needs some 700 bytes of heap for each. `listStatusIterator` fetches pages. A loop built from method handles
runs it inside the JVM, and one call transfers the text of a page.
"""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError

from pipelines.capture.sources.wal_tree import Entry, NoSuchDirectoryError
from pipelines.common.errors import UnavailableError
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_errors

logger = logging.getLogger(__name__)

PAGE = 10_000
# FileStatus.toString(); directories have no length
_STATUS = re.compile(
    r"\{path=(?P<path>.*?); isDirectory=(?P<directory>true|false);(?: length=(?P<length>\d+);[^{}]*?)?"
    r" modification_time=(?P<time>-?\d+);",
    re.DOTALL,
)
_MARK = "; isDirectory="


class HadoopLister:
    """`DirectoryLister` for one Hadoop file system, opened for this capture alone.

    Args:
        hadoop: the JVM.
        wal_root: full URI.
        properties: Hadoop properties on top of those that Spark was started with.
        page: number of elements fetched at a time.

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
            uri = hadoop.path(wal_root).toUri()
            self._files = hadoop.view.org.apache.hadoop.fs.FileSystem.newInstance(uri, conf)
            provider = conf.get(f"dfs.client.failover.proxy.provider.{uri.getAuthority()}")
            # an observer name node may lag behind; msync makes the next read as fresh as that of the active name node
            self._lagging = provider is not None and "Observer" in str(provider)

    def pages(self, directory: str) -> Iterator[Sequence[Entry]]:
        """See `DirectoryLister.pages`."""
        uri = f"{self._root}/{directory}"
        with _missing(directory), java_errors(uri):
            if self._lagging:
                self._files.msync()
            iterator = self._files.listStatusIterator(self._hadoop.path(uri))
            buffer = self._hadoop.view.java.util.ArrayDeque()
            loop, no_arguments = self._loop(iterator, buffer), self._hadoop.view.java.util.ArrayList()
        while True:
            with _missing(directory), java_errors(uri):
                loop.invokeWithArguments(no_arguments)
                count = int(buffer.size())
                entries = self._entries(buffer, count) if count else []
                buffer.clear()
            if entries:
                yield entries
            if count < self._page:
                return

    def close(self) -> None:
        """Closes the connection."""
        with java_errors(self._root):
            self._files.close()

    def _loop(self, iterator: JavaObject, buffer: JavaObject) -> JavaObject:
        """`for (i = 0; i < page; i++) if (iterator.hasNext()) buffer.add(iterator.next())`, as a method handle."""
        lang = self._hadoop.view.java.lang
        handles, kind = lang.invoke.MethodHandles, lang.invoke.MethodType.methodType
        lookup = handles.publicLookup()
        boolean, nothing, integer = lang.Boolean.TYPE, lang.Void.TYPE, lang.Integer.TYPE
        thing, remote = self._class("java.lang.Object"), self._class("org.apache.hadoop.fs.RemoteIterator")
        has_next = lookup.findVirtual(remote, "hasNext", kind(boolean)).bindTo(iterator)
        following = lookup.findVirtual(remote, "next", kind(thing)).bindTo(iterator)
        add = lookup.findVirtual(buffer.getClass(), "add", kind(boolean, thing)).bindTo(buffer)
        take = handles.filterReturnValue(following, add.asType(kind(nothing, thing)))
        step = handles.guardWithTest(has_next, take, handles.zero(nothing))
        body = handles.dropArguments(step, 0, self._hadoop.view.java.util.Collections.singletonList(integer))
        return handles.countedLoop(handles.constant(integer, self._page), None, body)

    def _class(self, name: str) -> JavaObject:
        lang = self._hadoop.view.java.lang
        return lang.Class.forName(name, True, lang.Thread.currentThread().getContextClassLoader())

    def _entries(self, buffer: JavaObject, count: int) -> list[Entry]:
        entries = parse_statuses(str(buffer.toString()), count)
        if entries is None:
            logger.info("A file name with '%s' in it: reading this page one by one", _MARK)
            entries = [_entry(status) for status in buffer.toArray()]
        return entries


def parse_statuses(text: str, count: int) -> list[Entry] | None:
    """Parses the text of a page of `FileStatus`.

    Args:
        text: `Collection.toString()`.
        count: number of entries.

    Returns:
        The entries, or None if a file name imitates the text around it, so that the text cannot be split reliably.
    """
    if text.count(_MARK) != count:
        return None
    entries = [
        Entry(path.rpartition("/")[2], directory == "true", int(length or 0), int(modified))
        for path, directory, length, modified in _STATUS.findall(text)
    ]
    return entries if len(entries) == count else None


def _entry(status: JavaObject) -> Entry:
    path, length = status.getPath(), int(status.getLen())
    return Entry(str(path.getName()), bool(status.isDirectory()), length, int(status.getModificationTime()))


@contextmanager
def _missing(directory: str) -> Iterator[None]:
    try:
        yield
    except UnavailableError as error:
        cause = error.__cause__
        if isinstance(cause, Py4JJavaError) and "FileNotFoundException" in str(cause.java_exception.toString()):
            raise NoSuchDirectoryError(directory) from None
        raise
