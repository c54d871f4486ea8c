"""Builds a snapshot directory under a temporary name and publishes it with one rename."""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from py4j.protocol import Py4JJavaError

from pipelines.common.conditions import Condition
from pipelines.common.errors import UnavailableError, UsageError
from pipelines.files.file_reader import failed_locally
from pipelines.files.hadoop_jvm import HadoopJvm, java_errors
from pipelines.files.local_paths import local_path


class SnapshotTarget(Protocol):
    """An unfinished snapshot directory. Nothing exists under the final name until `publish`."""

    def begin(self) -> None:
        """Creates the unfinished directory, so that a place that cannot be written is known before anything is read.

        Raises:
            UsageError: the place is read-only, or this user may not write there.
            UnavailableError: the file system did not answer.
        """
        ...

    def put(self, local: Path, name: str) -> None:
        """Moves a finished local file into the unfinished directory; `name` is relative to the snapshot."""
        ...

    def remove(self, name: str) -> None:
        """Removes a file from the unfinished directory."""
        ...

    def publish(self) -> str:
        """Gives the directory its final name and returns its full URI."""
        ...

    def discard(self) -> None:
        """Removes the unfinished directory; never raises."""
        ...


class LocalTarget:
    """A directory on this machine.

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

    def begin(self) -> None:
        """See `SnapshotTarget.begin`."""
        with _os_errors(str(self._out)):
            self._making.mkdir(parents=True)

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
            for file in (*self._making.rglob("*"), self._making):
                _sync(file)
            self._making.rename(self._out)
            _sync(self._out.parent)
        return f"file://{self._out.resolve()}"

    def discard(self) -> None:
        """See `SnapshotTarget.discard`."""
        shutil.rmtree(self._making, ignore_errors=True)


class HadoopTarget:
    """A directory on any Hadoop file system.

    On an object store a rename copies file by file. There, only snapshot.json distinguishes a complete snapshot from a
    partial one: readers open it first, and it contains the digests of the other files.

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

    def begin(self) -> None:
        """See `SnapshotTarget.begin`."""
        with java_errors(self._uri):
            self._files.mkdirs(self._making)

    def put(self, local: Path, name: str) -> None:
        """See `SnapshotTarget.put`."""
        path = self._hadoop.view.org.apache.hadoop.fs.Path
        with java_errors(self._uri):
            place = path(self._making, name)
            self._files.mkdirs(place.getParent())
            self._files.copyFromLocalFile(True, True, path(f"file://{local.resolve()}"), place)

    def remove(self, name: str) -> None:
        """See `SnapshotTarget.remove`."""
        with java_errors(self._uri):
            self._files.delete(self._hadoop.view.org.apache.hadoop.fs.Path(self._making, name), False)

    def publish(self) -> str:
        """See `SnapshotTarget.publish`."""
        view, gateway = self._hadoop.view, self._hadoop.gateway
        with java_errors(self._uri):
            # FileSystem.rename would move the directory INTO an existing one; FileContext's rename refuses
            options = gateway.new_array(view.org.apache.hadoop.fs.Options.Rename, 0)
            context = view.org.apache.hadoop.fs.FileContext.getFileContext(self._out.toUri(), self._hadoop.conf)
            try:
                context.rename(self._making, self._out, options)
            except Py4JJavaError:
                if self._files.exists(self._out):  # another capture was quicker
                    raise _exists(self._uri) from None
                raise
            return str(self._out.toString())

    def discard(self) -> None:
        """See `SnapshotTarget.discard`."""
        try:
            with java_errors(self._uri):
                self._files.delete(self._making, True)
        except (UnavailableError, UsageError):
            return  # report the error that led here; an unfinished directory never counts as a snapshot


def snapshot_target(out: str, hadoop: HadoopJvm) -> SnapshotTarget:
    """Returns the target for a URI; a path without a scheme belongs to `fs.defaultFS`, as everywhere in Spark.

    Raises:
        UsageError: it exists, or Hadoop has no file system for it.
    """
    uri = hadoop.qualified(out)
    here = local_path(uri)
    # Hadoop's local file system would add a .crc file to each file
    return HadoopTarget(hadoop, uri) if here is None else LocalTarget(here)


def _beside(out: Path) -> Path:
    return out.parent / f".{out.name}.{uuid.uuid4().hex}.making"


def _exists(out: str) -> UsageError:
    return UsageError(
        f"--out {out} exists already; give a directory that does not exist yet", condition=Condition.SNAPSHOT_EXISTS
    )


def _sync(path: Path) -> None:
    """Flushes the file to disk, so that a snapshot that exists after a power failure is complete."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _os_errors(where: str) -> Iterator[None]:
    """A place that cannot be written is wrong usage, as it is on HDFS."""
    try:
        yield
    except OSError as error:
        raise failed_locally(f"{where} cannot be written", error) from error
