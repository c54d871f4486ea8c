"""Reading files wherever they lie: the local disk directly, everything else through Hadoop's FileSystem.

Reading only: nothing here can create, rename or delete.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from pipelines.common.errors import UnavailableError

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One element of a directory."""

    name: str
    is_directory: bool


class Storage(Protocol):
    """What reading a snapshot needs of a file system; paths are those of `storage_for`'s caller."""

    def entries(self, path: str) -> list[Entry] | None:
        """The elements of a directory, sorted by name; None when there is no such directory."""
        ...

    def read(self, path: str) -> bytes:
        """A whole file."""
        ...

    def sha256(self, path: str) -> str:
        """SHA-256 of a file, hexadecimal, read as a stream."""
        ...

    def qualified(self, path: str) -> str:
        """The path with scheme and authority, not URL-encoded; equal for every way to write the same place."""
        ...


class LocalStorage:
    """The driver's own disk."""

    def entries(self, path: str) -> list[Entry] | None:
        """See `Storage`."""
        try:
            return sorted((Entry(entry.name, entry.is_dir()) for entry in _local(path).iterdir()), key=_by_name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise UnavailableError(f"cannot list {path}: {error}") from error

    def read(self, path: str) -> bytes:
        """See `Storage`."""
        try:
            return _local(path).read_bytes()
        except OSError as error:
            raise UnavailableError(f"cannot read {path}: {error}") from error

    def sha256(self, path: str) -> str:
        """See `Storage`."""
        try:
            with _local(path).open("rb") as stream:
                digest = hashlib.sha256()
                while block := stream.read(_BLOCK):
                    digest.update(block)
                return digest.hexdigest()
        except OSError as error:
            raise UnavailableError(f"cannot read {path}: {error}") from error

    def qualified(self, path: str) -> str:
        """See `Storage`."""
        return f"file://{_local(path).absolute()}"


class HadoopStorage:
    """Any Hadoop file system, through Spark's JVM with the session's Hadoop configuration."""

    def __init__(self, spark: SparkSession) -> None:
        context: Any = spark.sparkContext
        self._jvm: Any = context._jvm  # noqa: SLF001
        self._configuration: Any = context._jsc.hadoopConfiguration()  # noqa: SLF001

    def entries(self, path: str) -> list[Entry] | None:
        """See `Storage`."""
        try:
            target, file_system = self._at(path)
            if not file_system.exists(target) or not file_system.getFileStatus(target).isDirectory():
                return None
            statuses = file_system.listStatus(target)
            return sorted(
                (Entry(status.getPath().getName(), bool(status.isDirectory())) for status in statuses), key=_by_name
            )
        except Py4JError as error:
            raise UnavailableError(f"cannot list {path}: {java_message(error)}") from error

    def read(self, path: str) -> bytes:
        """See `Storage`."""
        try:
            target, file_system = self._at(path)
            stream = file_system.open(target)
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()
        except Py4JError as error:
            raise UnavailableError(f"cannot read {path}: {java_message(error)}") from error

    def sha256(self, path: str) -> str:
        """See `Storage`."""
        try:
            target, file_system = self._at(path)
            stream = file_system.open(target)
            try:
                return str(self._jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))
            finally:
                stream.close()
        except Py4JError as error:
            raise UnavailableError(f"cannot read {path}: {java_message(error)}") from error

    def qualified(self, path: str) -> str:
        """See `Storage`."""
        try:
            target, file_system = self._at(path)
            return plain_uri(str(file_system.makeQualified(target).toUri().toString()))
        except Py4JError as error:
            raise UnavailableError(f"cannot reach {path}: {java_message(error)}") from error

    def _at(self, path: str) -> tuple[Any, Any]:
        target = self._jvm.org.apache.hadoop.fs.Path(path)
        return target, target.getFileSystem(self._configuration)


def storage_for(spark: SparkSession, uri: str) -> Storage:
    """The storage that a path or URI lies in, by the session's default file system."""
    return LocalStorage() if is_local(spark, uri) else HadoopStorage(spark)


def is_local(spark: SparkSession, uri: str) -> bool:
    """Whether a path or URI is on the driver's own disk."""
    scheme = urlsplit(uri).scheme
    if scheme:
        return scheme == "file"
    default = spark.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS", "file:///")  # noqa: SLF001
    return str(default).startswith("file:")


def plain_uri(uri: str) -> str:
    """A URL-encoded URI as `Storage.qualified` writes it."""
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}{unquote(parts.path)}"


def java_message(error: Py4JError) -> str:
    """The one line of a Java exception that a person needs."""
    cause = getattr(error, "java_exception", None)
    return str(cause.toString() if cause is not None else error).splitlines()[0]


def _local(path: str) -> Path:
    return Path(unquote(urlsplit(path).path)) if path.startswith("file:") else Path(path)


def _by_name(entry: Entry) -> str:
    return entry.name
