"""Compares folders of rows with the manifest that split-run and split-export write, before anyone reads the rows.

A copy of such a folder may lack files, have cut ones, or still have those of an earlier copy; no reader of Parquet
notices.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter
from pyspark.sql import SparkSession

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, SnapshotError, UnavailableError, UsageError
from pipelines.common.forms import OpenForm, read_value
from pipelines.common.human import human_count
from pipelines.files.file_reader import LocalFileReader, file_reader_for, is_local
from pipelines.files.hadoop_jvm import HadoopJvm, java_errors
from pipelines.pegasus.domain.offline.model import MANIFEST

_AGAIN = "Copy the folder again, with all its files, to an empty place"


class _File(OpenForm):
    partition: int
    file: str
    bytes: int


class _Part(OpenForm):
    files: list[_File]


class _Manifest(OpenForm):
    data_version: Literal[1] | None = None
    partition_count: int | None = None
    parts: list[_Part]


_FORM = TypeAdapter(_Manifest)
_PATTERN = re.compile(r"[*?{}\[\]\\]")
"""What Spark reads as a pattern of names."""


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """What a manifest, or the user, says about a folder of rows; None = nothing.

    Attributes:
        data_version: the `pegasus_data_version` of the values.
        partition_count: the number of partitions among which the rows lie.
    """

    data_version: int | None = None
    partition_count: int | None = None


def is_read(path: str) -> bool:
    """Returns whether readers of Parquet look at a file with this path in their folder.

    Hidden files and folders are not rows, such as the staged parts of an export that was refused or has not ended.
    """
    *folders, name = path.split("/")
    return not any(one.startswith((".", "_")) for one in (*folders, "" if name == MANIFEST else name))


def files_below(directory: str) -> list[Path]:
    """Returns every file in and below a local folder, in order; nothing if there is no such folder.

    As Spark does, it follows links to folders, which `Path.rglob` passes over like a folder that it may not read.

    Raises:
        UnavailableError: a folder cannot be read.
    """

    def failed(error: OSError) -> None:
        if error.filename != directory or not isinstance(error, FileNotFoundError | NotADirectoryError):
            raise UnavailableError(f"{error.filename} cannot be read: {error.strerror}") from None

    walk = os.walk(directory, onerror=failed, followlinks=True)
    return sorted(Path(folder, name) for folder, _, names in walk for name in names)


def check_written_rows(directory: str, given: WrittenRows = WrittenRows()) -> int | None:
    """Checks a local folder; see `written_rows_of`.

    Args:
        directory: the folder.
        given: what the user says about it.

    Returns:
        The `pegasus_data_version` of the values; None = it is unknown.

    Raises:
        UsageError: walsafe has written other rows than the user says.
        UnavailableError: a folder cannot be read.
    """
    paths = [path for path in files_below(directory) if path.is_file()]
    sizes = {str(path.relative_to(directory)): path.stat().st_size for path in paths}
    written = written_rows_of(directory, sizes, LocalFileReader().read)
    _refuse_others(directory, written, given)
    return written.data_version


def check_written_rows_at(spark: SparkSession, uri: str, given: WrittenRows) -> None:
    """Checks a folder on any file system that Spark knows; see `written_rows_of`.

    Args:
        spark: the session.
        uri: the folder.
        given: what the user says about it.

    Raises:
        UsageError: the name is a pattern, or walsafe has written other rows than the user says.
        UnavailableError: the file system does not answer.
    """
    if _PATTERN.search(uri):
        raise UsageError(f"{uri}: give one directory, not a pattern of names")
    files = file_reader_for(spark, uri)
    if is_local(spark, uri):
        check_written_rows(files.qualified(uri).removeprefix("file://"), given)
    else:
        _refuse_others(uri, written_rows_of(uri, hadoop_sizes(spark, uri), files.read), given)


def _refuse_others(directory: str, written: WrittenRows, given: WrittenRows) -> None:
    if None not in {written.data_version, given.data_version} and written.data_version != given.data_version:
        raise UsageError(
            f"{directory}: walsafe has written these rows with data version {written.data_version}, also those of a "
            f"table with version 0; leave out --data-version {given.data_version}"
        )
    count = written.partition_count
    if count is not None and given.partition_count not in {None, count}:
        raise UsageError(
            f"{directory}: walsafe has written these rows as those of {human_count(count, 'partition')} ({MANIFEST}), "
            f"but {given.partition_count} is given; give {count}"
        )


def written_rows_of(directory: str, sizes: Mapping[str, int], read: Callable[[str], bytes]) -> WrittenRows:
    """Compares the manifest in or below a folder with the files beside it, by their names and sizes.

    Args:
        directory: the folder.
        sizes: the bytes of every file in and below it, by its path in the folder.
        read: returns the content of a file.

    Returns:
        What the manifest says; nothing, if a file of rows does not belong to it, or there is none.

    Raises:
        UsageError: there are several manifests: readers would take the rows of all as those of one table.
        RefusedError: a file is missing, has another size, or is of an earlier copy, or a manifest cannot be read.
    """
    sizes = {path: size for path, size in sizes.items() if is_read(path)}
    places = sorted(path for path in sizes if path.rpartition("/")[2] == MANIFEST)
    if not places:
        return WrittenRows()
    if len(places) > 1:
        folders = ", ".join(place.removesuffix(MANIFEST).rstrip("/") or "." for place in places[:5])
        raise UsageError(f"{directory}: there are {len(places)} exports below it: {folders}; give the folder of one")
    [place] = places
    base = place.removesuffix(MANIFEST)
    where = f"{directory.rstrip('/')}/{place}"
    try:
        manifest = read_value(_FORM, read(where), where)
    except SnapshotError as error:
        raise RefusedError(Condition.ROWS_INCOMPLETE, f"{error}. {_AGAIN}") from None
    wanted = {f"{base}{one.partition}/{one.file}": one.bytes for part in manifest.parts for one in part.files}
    there = {path: size for path, size in sizes.items() if path.startswith(base) and _is_row_file(path)}
    wrong = sorted(path for path in wanted.keys() | there.keys() if wanted.get(path) != there.get(path))
    if wrong:
        raise RefusedError(Condition.ROWS_INCOMPLETE, _told(directory, wrong, wanted, there))
    is_foreign = any(_is_row_file(path) and path not in wanted for path in sizes)
    return WrittenRows() if is_foreign else WrittenRows(manifest.data_version, manifest.partition_count)


def _is_row_file(path: str) -> bool:
    return path.endswith((".parquet", ".sst"))


def _told(directory: str, wrong: list[str], wanted: Mapping[str, int], there: Mapping[str, int]) -> str:
    first = wrong[0]
    if first not in there:
        words = f"is missing, {MANIFEST} has it"
    elif first not in wanted:
        words = f"is not in {MANIFEST}: it may be of an earlier copy"
    else:
        words = f"has {there[first]} bytes, {MANIFEST} says {wanted[first]}"
    more = f" ({len(wrong)} files differ in all)" if len(wrong) > 1 else ""
    return f"{directory.rstrip('/')}/{first} {words}{more}. {_AGAIN}"


def hadoop_sizes(spark: SparkSession, uri: str) -> dict[str, int]:
    """Returns the bytes of every file in and below a folder by its path in it; nothing if there is no such folder.

    Raises:
        UsageError, UnavailableError: see `java_errors`.
    """
    hadoop = HadoopJvm.of(spark)
    sizes: dict[str, int] = {}
    with java_errors(uri):
        folder = hadoop.path(uri)
        file_system = folder.getFileSystem(hadoop.conf)
        if not file_system.exists(folder):
            return {}  # its reader says that there is nothing; a pattern of names is no folder either
        prefix = f"{file_system.makeQualified(folder).toString()}/"
        files = file_system.listFiles(folder, True)
        while files.hasNext():
            status = files.next()
            sizes[str(status.getPath().toString()).removeprefix(prefix)] = int(status.getLen())
    return sizes
