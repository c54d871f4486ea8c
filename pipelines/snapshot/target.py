"""Where a snapshot directory is put together and how it appears: all at once, by one rename."""

import os
import shutil
import uuid
from pathlib import Path
from typing import Protocol

from pipelines.common.errors import UnavailableError, UsageError
from pipelines.files.hadoop_jvm import HadoopJvm, java_errors


class SnapshotTarget(Protocol):
    """A snapshot directory in the making. Nothing is at the final place until `publish`."""

    def put(self, local: Path, name: str) -> None:
        """Take a finished local file into the directory in the making; `name` is relative to the snapshot."""
        ...

    def remove(self, name: str) -> None:
        """Take a file out of the directory in the making again."""
        ...

    def publish(self) -> str:
        """Give the directory its final name; returns its full URI."""
        ...

    def discard(self) -> None:
        """Remove whatever was taken; never raises."""
        ...


class LocalTarget:
    """A directory of this machine.

    Args:
        out: the final directory, which must not exist.

    Raises:
        UsageError: it exists.
    """

    def __init__(self, out: Path) -> None:
        if out.exists() or out.is_symlink():
            raise _exists(str(out))
        self._out = out
        self._making = _beside(out)

    def put(self, local: Path, name: str) -> None:
        """See `SnapshotTarget.put`."""
        with _os_errors(str(self._out)):
            place = self._making / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(local, place)

    def remove(self, name: str) -> None:
        """See `SnapshotTarget.remove`."""
        with _os_errors(str(self._out)):
            (self._making / name).unlink()

    def publish(self) -> str:
        """See `SnapshotTarget.publish`."""
        if self._out.exists():
            raise _exists(str(self._out))
        with _os_errors(str(self._out)):
            for file in self._making.rglob("*"):
                _sync(file)
            self._making.rename(self._out)
            _sync(self._out.parent)
        return self._out.resolve().as_uri()

    def discard(self) -> None:
        """See `SnapshotTarget.discard`."""
        shutil.rmtree(self._making, ignore_errors=True)


class HadoopTarget:
    """A directory of any file system that Hadoop knows.

    On an object store a rename is a copy, file by file; there only snapshot.json, which readers open first and which
    holds the digests of the rest, tells a whole snapshot from a part of one.

    Args:
        hadoop: the JVM.
        out: URI of the final directory, which must not exist.

    Raises:
        UsageError: it exists.
    """

    def __init__(self, hadoop: HadoopJvm, out: str) -> None:
        self._hadoop = hadoop
        self._uri = out
        with java_errors(out):
            path = hadoop.path(out)
            self._files = path.getFileSystem(hadoop.conf)
            self._out = self._files.makeQualified(path)
            self._making = hadoop.view.org.apache.hadoop.fs.Path(
                self._out.getParent(), f".{self._out.getName()}.{uuid.uuid4().hex}.making"
            )
            if self._files.exists(self._out):
                raise _exists(out)

    def put(self, local: Path, name: str) -> None:
        """See `SnapshotTarget.put`."""
        path = self._hadoop.view.org.apache.hadoop.fs.Path
        with java_errors(self._uri):
            place = path(self._making, name)
            self._files.mkdirs(place.getParent())
            self._files.copyFromLocalFile(True, True, path(local.resolve().as_uri()), place)

    def remove(self, name: str) -> None:
        """See `SnapshotTarget.remove`."""
        with java_errors(self._uri):
            self._files.delete(self._hadoop.view.org.apache.hadoop.fs.Path(self._making, name), False)

    def publish(self) -> str:
        """See `SnapshotTarget.publish`."""
        view, gateway = self._hadoop.view, self._hadoop.gateway
        with java_errors(self._uri):
            # FileSystem.rename would move the directory INTO an existing one; FileContext's refuses
            options = gateway.new_array(view.org.apache.hadoop.fs.Options.Rename, 0)
            context = view.org.apache.hadoop.fs.FileContext.getFileContext(self._out.toUri(), self._hadoop.conf)
            context.rename(self._making, self._out, options)
            return str(self._out.toString())

    def discard(self) -> None:
        """See `SnapshotTarget.discard`."""
        try:
            with java_errors(self._uri):
                self._files.delete(self._making, True)
        except (UnavailableError, UsageError):
            return  # the error that led here is the one to report; a directory in the making is never a snapshot


def snapshot_target(out: str, hadoop: HadoopJvm) -> SnapshotTarget:
    """The target that a URI means; a path without a scheme belongs to `fs.defaultFS`, as everywhere in Spark.

    Raises:
        UsageError: it exists, or Hadoop has no file system for it.
    """
    uri = hadoop.qualified(out)
    # Hadoop's own local file system would add a .crc file to each file
    return LocalTarget(Path(uri.removeprefix("file:"))) if uri.startswith("file:") else HadoopTarget(hadoop, uri)


def _beside(out: Path) -> Path:
    return out.parent / f".{out.name}.{uuid.uuid4().hex}.making"


def _exists(out: str) -> UsageError:
    return UsageError(f"--out {out} exists already; give a directory that does not exist yet")


def _sync(path: Path) -> None:
    """A snapshot that is there after a power failure is there whole."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class _os_errors:  # noqa: N801 - reads as a statement
    """Turns OSError into UnavailableError."""

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OSError):
            raise UnavailableError(f"{self._where} cannot be written: {error}; put it right and try again") from error
