"""Reads, writes and names small text files: on the local disk directly, on any other file system through Hadoop.

Nothing in this module can delete a file. Hadoop's own classes for the local disk start a process for every rename and
every new file, which takes longer than the work itself.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from py4j.protocol import Py4JJavaError
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from pipelines.common.errors import UnavailableError
from pipelines.files.file_reader import HadoopFileReader, is_local
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_cause, wrong_name_or_rights
from pipelines.files.local_paths import local_path


class TextFiles(Protocol):
    """The operations.

    A name that Hadoop has no file system for, and whatever a user must mend before a file can be read, is a
    `UsageError`; every other error is an `UnavailableError`.
    """

    def write(self, uri: str, text: str) -> None:
        """Writes a text as UTF-8 under a temporary name in the same directory, which it creates if it is missing.

        Then it renames the file; this replaces an older file of that name.
        """
        ...

    def read(self, uri: str) -> str | None:
        """Returns the text of a file; None if there is nothing of that name."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Renames a file or directory; fails if the target exists. The parent of the target must exist."""
        ...

    def make_directories(self, uri: str) -> None:
        """Creates a directory and its parents."""
        ...

    def exists(self, uri: str) -> bool:
        """Returns whether there is a file or directory of this name."""
        ...


class LocalTextFiles:
    """Files on the driver's disk. A `.crc` file, which Hadoop writes beside its own files, follows its file."""

    def __init__(self, spark: SparkSession) -> None:
        self._hadoop = HadoopTextFiles(spark)

    def write(self, uri: str, text: str) -> None:
        """See `TextFiles.write`. Where the older file has a `.crc`, which would no longer fit, Hadoop writes both."""
        target = _local(uri)
        if _checksums(target).exists():
            self._hadoop.write(uri, text)
            return
        with _errors(uri):
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = target.with_name(_temporary(target.name))
            temporary.write_text(text, encoding="utf-8", newline="")
            temporary.replace(target)

    def read(self, uri: str) -> str | None:
        """See `TextFiles.read`."""
        with _errors(uri, "read"):
            return _local(uri).read_text("utf-8", "replace") if self.exists(uri) else None

    def rename(self, source: str, target: str) -> None:
        """See `TextFiles.rename`."""
        old, new = _local(source), _local(target)
        with _errors(target):
            if os.path.lexists(new):
                raise FileExistsError(f"{new} exists")
            if _checksums(old).exists():
                _checksums(old).rename(_checksums(new))
            old.rename(new)

    def make_directories(self, uri: str) -> None:
        """See `TextFiles.make_directories`."""
        with _errors(uri):
            _local(uri).mkdir(parents=True, exist_ok=True)

    def exists(self, uri: str) -> bool:
        """See `TextFiles.exists`."""
        with _errors(uri, "read"):
            return os.path.lexists(_local(uri))


class HadoopTextFiles:
    """Files on any Hadoop file system, whose `FileContext` replaces an older file in one step, or refuses to."""

    def __init__(self, spark: SparkSession) -> None:
        self._hadoop, self._reader = HadoopJvm.of(spark), HadoopFileReader(spark)

    def write(self, uri: str, text: str) -> None:
        """See `TextFiles.write`."""
        with _errors(uri):
            target = self._hadoop.path(uri)
            temporary = self._hadoop.path(f"{uri.rpartition('/')[0]}/{_temporary(target.getName())}")
            out = self._files(target).create(temporary, True)
            try:
                out.write(bytearray(text.encode("utf-8")))
            finally:
                out.close()
            self._rename(temporary, target, self._hadoop.view.org.apache.hadoop.fs.Options.Rename.OVERWRITE)

    def read(self, uri: str) -> str | None:
        """See `TextFiles.read`."""
        return self._reader.read(uri).decode("utf-8", "replace") if self.exists(uri) else None

    def rename(self, source: str, target: str) -> None:
        """See `TextFiles.rename`."""
        with _errors(target):
            self._rename(self._hadoop.path(source), self._hadoop.path(target))

    def make_directories(self, uri: str) -> None:
        """See `TextFiles.make_directories`."""
        with _errors(uri):
            path = self._hadoop.path(uri)
            self._files(path).mkdirs(path)

    def exists(self, uri: str) -> bool:
        """See `TextFiles.exists`."""
        with _errors(uri, "read"):
            path = self._hadoop.path(uri)
            return bool(self._files(path).exists(path))

    def _rename(self, source: JavaObject, target: JavaObject, *options: JavaObject) -> None:
        fs = self._hadoop.view.org.apache.hadoop.fs
        given = self._hadoop.gateway.new_array(fs.Options.Rename, len(options))
        for number, option in enumerate(options):
            given[number] = option
        files = self._files(source)
        context = fs.FileContext.getFileContext(files.getUri(), self._hadoop.conf)
        context.rename(files.makeQualified(source), files.makeQualified(target), given)

    def _files(self, path: JavaObject) -> JavaObject:
        return path.getFileSystem(self._hadoop.conf)


def text_files_for(spark: SparkSession, uri: str) -> TextFiles:
    """Returns what writes below a path or URI."""
    return LocalTextFiles(spark) if is_local(spark, uri) else HadoopTextFiles(spark)


def write_text(spark: SparkSession, uri: str, text: str) -> None:
    """Writes one file.

    Raises:
        UnavailableError: the file system could not write or rename the file.
        UsageError: Hadoop has no file system for the name.
    """
    text_files_for(spark, uri).write(uri, text)


@contextmanager
def _errors(uri: str, what: str = "written") -> Iterator[None]:
    try:
        yield
    except (Py4JJavaError, IllegalArgumentException, OSError) as error:
        cause = str(error) if isinstance(error, OSError) else java_cause(error)
        if isinstance(error, IllegalArgumentException) or "UnsupportedFileSystem" in cause:
            raise wrong_name_or_rights(uri, cause) from error
        raise UnavailableError(f"{uri} cannot be {what}: {cause}; check the path and try again") from error


def _local(uri: str) -> Path:
    return local_path(uri) or Path(uri)


def _temporary(name: str) -> str:
    return f".{name}.{uuid.uuid4().hex}"


def _checksums(file: Path) -> Path:
    return file.with_name(f".{file.name}.crc")
