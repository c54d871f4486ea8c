"""Reads inputs that were saved to a file earlier: copies each file once and reads it line by line."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

from pipelines.common.errors import UsageError
from pipelines.files.file_reader import failed_locally
from pipelines.files.hadoop_jvm import HadoopJvm, java_errors
from pipelines.files.local_paths import local_path


class LocalCopies:
    """Local copies of saved files. `close` removes the copies; a local file is read in place.

    Args:
        hadoop: the interface to Spark's JVM; None = only local files can be read.
    """

    def __init__(self, hadoop: HadoopJvm | None = None) -> None:
        self._hadoop = hadoop
        self._copies = tempfile.TemporaryDirectory(prefix="walsafe-saved-")

    def local(self, uri: str) -> Path:
        """Returns the path of the file, or of its copy, on this machine.

        Raises:
            UsageError: the file does not exist, or access is denied.
            UnavailableError: the file system did not answer.
        """
        if self._hadoop is not None:
            uri = self._hadoop.qualified(uri)
        path = local_path(uri) or (self._fetched(uri) if "://" in uri else Path(uri))
        if not os.path.isfile(path):  # Path.is_file would raise in a folder that may not be searched
            raise UsageError(f"no such file: {uri}")
        return path

    def _fetched(self, uri: str) -> Path:
        if self._hadoop is None:
            raise UsageError(f"no such file: {uri}")
        path = Path(self._copies.name) / f"{crc32(uri.encode()):08x}-{uri.rpartition('/')[2]}"
        if not path.exists():
            with java_errors(uri):
                source = self._hadoop.path(uri)
                files = source.getFileSystem(self._hadoop.conf)
                if not files.exists(source):
                    raise UsageError(f"no such file: {uri}")
                # a copy that failed half-way must not be taken for the whole file when the step is repeated
                part = path.with_name(f"{path.name}.part")
                files.copyToLocalFile(False, source, self._hadoop.path(f"file://{part}"), True)
            os.replace(part, path)
        return path

    def close(self) -> None:
        """Removes the copies."""
        self._copies.cleanup()


def lines_of(path: Path, name: str) -> Iterator[tuple[int, str]]:
    """Yields each line of a text file with its number, without the line ending.

    Args:
        path: the file, which must be UTF-8.
        name: the file's name in messages.

    Raises:
        UsageError: the user may not read the file, its path leads through another file, it is not UTF-8, or its last
            line is incomplete; an incomplete line could be another valid name.
        UnavailableError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    raise UsageError(f"{name}, line {number}: cut off in the middle of a line; save it again")
                try:
                    yield number, line[:-1].decode("utf-8").removesuffix("\r")
                except UnicodeDecodeError:
                    raise UsageError(f"{name}, line {number}: not UTF-8; save it with LC_ALL=C.UTF-8") from None
    except OSError as error:
        raise failed_locally(f"{name} cannot be read", error) from error
