"""Small UTF-8 files through Hadoop: only one of several creators succeeds, replacement is atomic, reads are whole."""

import uuid
from contextlib import suppress

from py4j.protocol import Py4JError, Py4JJavaError

from pipelines.cleanup.paths import parse_uri
from pipelines.cleanup.stores.store_failures import parse_failure
from pipelines.common.errors import UnavailableError
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_cause, java_errors


class HadoopSmallFiles:
    """Text files by URI; the caller checks which paths may be written.

    Args:
        hadoop: the JVM.
        files: the `FileSystem`.
        context: a `FileContext` of the same file system, whose rename replaces atomically.
        local: whether it is the local disk.
    """

    def __init__(self, hadoop: HadoopJvm, files: JavaObject, context: JavaObject, *, local: bool) -> None:
        self._hadoop = hadoop
        self._files = files
        self._context = context
        self._local = local

    def create(self, uri: str, text: str) -> bool:
        """See `WalStore.create`."""
        try:
            if self._local:
                self._reserve(uri)
            # on HDFS the name node lets only one caller create it
            out = self._files.create(self._hadoop.path(uri), self._local)
        except Py4JJavaError as error:
            if parse_failure(java_cause(error)).exists:
                return False
            with java_errors(uri):
                raise
        with java_errors(uri):
            _write(out, text)
        return True

    def replace(self, uri: str, text: str) -> None:
        """See `WalStore.replace`: writes a temporary file beside it, then renames that over it."""
        parent, _, name = uri.rpartition("/")
        temporary = self._hadoop.path(f"{parent}/.{name}.{uuid.uuid4().hex}")
        rename = self._hadoop.view.org.apache.hadoop.fs.Options.Rename
        try:
            with java_errors(uri):
                _write(self._files.create(temporary, False), text)
                options = self._hadoop.gateway.new_array(rename, 1)
                options[0] = rename.OVERWRITE
                self._context.rename(temporary, self._hadoop.path(uri), options)
        except BaseException:
            with suppress(Py4JError):
                self._files.delete(temporary, False)
            raise

    def read(self, uri: str) -> str | None:
        """Returns the text of a file; None = it does not exist."""
        try:
            with java_errors(uri):
                stream = self._files.open(self._hadoop.path(uri))
                try:
                    return str(self._hadoop.view.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
                finally:
                    stream.close()
        except UnavailableError as error:
            cause = error.__cause__
            if isinstance(cause, Py4JJavaError) and parse_failure(java_cause(cause)).gone:
                return None
            raise

    def _reserve(self, uri: str) -> None:
        """Creates an empty file on the local disk atomically, because Hadoop would check first and then create."""
        view, new_array = self._hadoop.view, self._hadoop.gateway.new_array
        self._files.mkdirs(self._hadoop.path(uri).getParent())
        path = view.java.nio.file.Paths.get(parse_uri(uri).path, new_array(view.java.lang.String, 0))
        view.java.nio.file.Files.createFile(path, new_array(view.java.nio.file.attribute.FileAttribute, 0))


def _write(out: JavaObject, text: str) -> None:
    try:
        out.write(bytearray(text.encode("utf-8")))
    finally:
        out.close()
