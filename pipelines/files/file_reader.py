"""Reads files: on the local disk directly, on any other file system through Hadoop's FileSystem.

Nothing in this module can create, rename or delete a file.
"""

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from pipelines.common.errors import UnavailableError, UsageError, WalsafeError
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_errors
from pipelines.files.local_paths import local_path

_NO_FILE = (FileNotFoundError, IsADirectoryError, NotADirectoryError)


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """One entry of a directory."""

    name: str
    is_directory: bool


class FileReader(Protocol):
    """The file operations needed to read a snapshot; paths have the form that was given to `file_reader_for`."""

    def entries(self, path: str) -> list[DirectoryEntry] | None:
        """Returns the entries of a directory, sorted by name; None if the directory does not exist."""
        ...

    def read(self, path: str) -> bytes:
        """Returns the content of a file.

        Raises:
            UsageError: there is no such file or file system, the user may not read it, or has no valid Kerberos ticket.
            UnavailableError: it cannot be read.
        """
        ...

    def sha256(self, path: str) -> str:
        """Returns the SHA-256 of a file in hexadecimal, read as a stream; fails like `read`."""
        ...

    def qualified(self, path: str) -> str:
        """Returns the path with scheme and authority, not URL-encoded; all spellings of one path give one result."""
        ...


class LocalFileReader:
    """Reads files on the driver's local disk."""

    def entries(self, path: str) -> list[DirectoryEntry] | None:
        """See `FileReader.entries`."""
        try:
            with os.scandir(_local(path)) as found:
                return sorted((DirectoryEntry(entry.name, _is_directory(entry)) for entry in found), key=_by_name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise failed_locally(f"cannot list {path}", error) from error

    def read(self, path: str) -> bytes:
        """See `FileReader.read`."""
        try:
            return _local(path).read_bytes()
        except _NO_FILE as error:
            raise _no_file(path) from error
        except OSError as error:
            raise failed_locally(f"cannot read {path}", error) from error

    def sha256(self, path: str) -> str:
        """See `FileReader.sha256`."""
        try:
            with _local(path).open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except _NO_FILE as error:
            raise _no_file(path) from error
        except OSError as error:
            raise failed_locally(f"cannot read {path}", error) from error

    def qualified(self, path: str) -> str:
        """See `FileReader.qualified`."""
        return f"file://{os.path.abspath(_local(path))}"


class HadoopFileReader:
    """Reads files on any Hadoop file system, through Spark's JVM and the session's Hadoop configuration.

    Every error of Java is one of `java_errors`.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._hadoop = HadoopJvm.of(spark)

    def entries(self, path: str) -> list[DirectoryEntry] | None:
        """See `FileReader.entries`."""
        with java_errors(path):
            target, file_system = self._at(path)
            if not file_system.exists(target) or not file_system.getFileStatus(target).isDirectory():
                return None
            statuses = file_system.listStatus(target)
            return sorted(
                (DirectoryEntry(status.getPath().getName(), bool(status.isDirectory())) for status in statuses),
                key=_by_name,
            )

    def read(self, path: str) -> bytes:
        """See `FileReader.read`."""
        with self._opened(path) as stream:
            return bytes(self._hadoop.view.org.apache.commons.io.IOUtils.toByteArray(stream))

    def sha256(self, path: str) -> str:
        """See `FileReader.sha256`."""
        with self._opened(path) as stream:
            return str(self._hadoop.view.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))

    def qualified(self, path: str) -> str:
        """See `FileReader.qualified`."""
        with java_errors(path):
            target, file_system = self._at(path)
            return plain_uri(str(file_system.makeQualified(target).toUri().toString()))

    @contextmanager
    def _opened(self, path: str) -> Iterator[JavaObject]:
        with java_errors(path):
            try:
                target, file_system = self._at(path)
                stream = file_system.open(target)
                try:
                    yield stream
                finally:
                    stream.close()
            except Py4JJavaError as error:
                if str(error.java_exception.toString()).startswith("java.io.FileNotFoundException"):
                    raise _no_file(path) from error
                raise

    def _at(self, path: str) -> tuple[JavaObject, JavaObject]:
        target = self._hadoop.path(path)
        return target, target.getFileSystem(self._hadoop.conf)


def file_reader_for(spark: SparkSession, uri: str) -> FileReader:
    """Returns the reader for a path or URI; a path without scheme belongs to the session's default file system."""
    return LocalFileReader() if is_local(spark, uri) else HadoopFileReader(spark)


def is_local(spark: SparkSession, uri: str) -> bool:
    """Returns whether a path or URI is on the driver's local disk."""
    scheme = urlsplit(uri).scheme
    if scheme:
        return scheme == "file"
    return str(HadoopJvm.of(spark).conf.get("fs.defaultFS", "file:///")).startswith("file:")


def plain_uri(uri: str) -> str:
    """Decodes a URL-encoded URI to the form that `FileReader.qualified` returns."""
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}{unquote(parts.path)}"


def no_directory(path: str, wanted: str) -> UsageError:
    """Returns the error for a path at which there is no directory; `wanted` says what the user must give."""
    return UsageError(f"{path}: no such directory; give {wanted}")


def failed_locally(what: str, error: OSError) -> WalsafeError:
    """Returns the error for a call that failed on the local disk.

    A missing permission, a read-only disk and a file in the place of a directory are the user's to mend.
    """
    if isinstance(error, PermissionError | NotADirectoryError) or error.errno == errno.EROFS:
        return UsageError(f"{what}: {error}; check the path and its permissions")
    return UnavailableError(f"{what}: {error}; put it right and try again")


def _no_file(path: str) -> UsageError:
    return UsageError(f"no such file: {path}; check the path")


def _local(path: str) -> Path:
    return local_path(path) or Path(path)


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    """Returns whether an entry, or what it links to, is a directory; a link that leads nowhere is none."""
    return entry.is_dir(follow_symlinks=False) or (entry.is_symlink() and Path(entry).is_dir())


def _by_name(entry: DirectoryEntry) -> str:
    return entry.name
