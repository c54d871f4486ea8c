"""Reads a cold backup: finds its old partitions, on a local disk or another file system, and checks their files."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, SnapshotError, UnavailableError, UsageError
from pipelines.common.forms import OpenForm, read_value
from pipelines.files.file_reader import FileReader, no_directory
from pipelines.pegasus.domain.encryption import refuse_encrypted
from pipelines.pegasus.domain.offline.model import OldPartition
from pipelines.pegasus.domain.offline.replica_info import parse_app_metadata
from pipelines.pegasus.sources.replica_tree import agreed, each_once

BACKUP_METADATA = "backup_metadata"
_DEEPEST = 3
"""Pegasus writes `<root>/<policy>/<backup id>/<app>_<id>`."""


class _File(OpenForm):
    name: Annotated[str, Field(pattern=r"^[^/]+$")]
    size: Annotated[int, Field(ge=0)]
    md5: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class _Metadata(OpenForm):
    """`cold_backup_metadata` of Pegasus (`src/replica/backup/cold_backup_context.h`)."""

    checkpoint_decree: int
    files: list[_File]


_METADATA = TypeAdapter(_Metadata)


def backup_of(files: FileReader, root: str, app_id: int, count: int) -> list[OldPartition]:
    """Returns one source for each partition of a cold backup, which has no logs.

    Args:
        files: reads the file system of the backup.
        root: the directory of the backup, which has `<app>_<id>`, or one above it.
        app_id: the id of the table.
        count: the number of its partitions.

    Raises:
        UsageError: there is no such directory, it is not a finished backup of that table, a partition or its
            `backup_metadata` is missing, or `app_metadata` has another table or count.
        RefusedError: `app_metadata` is encrypted.
        UnavailableError: the file system does not answer.
    """
    if files.entries(root) is None:
        raise no_directory(root, "that of a backup id, <root>/<policy>/<backup id>")
    tables = list(_tables(files, root.rstrip("/"), 1))
    folders = [folder for folder in tables if folder.rpartition("_")[2] == str(app_id)]
    if not folders:
        others = [folder for folder in tables if _names(files, f"{folder}/meta")]
        there = f"; there are {', '.join(others[:5])}: give the --app-id of one" if others else ""
        raise UsageError(f"{root} contains no directory <app>_{app_id} of a cold backup (docs/split-files.md){there}")
    if len(folders) > 1:
        raise UsageError(
            f"{root}: {len(folders)} directories end in _{app_id}: {', '.join(folders[:5])}; give the directory of a "
            "single backup id"
        )
    (folder,) = folders
    if "app_backup_status" not in _names(files, f"{folder}/meta"):
        raise UsageError(f"{folder}: no meta/app_backup_status, so the backup has not ended")
    metadata = f"{folder}/meta/app_metadata"
    data = files.read(metadata) if "app_metadata" in _names(files, f"{folder}/meta") else None
    refuse_encrypted(data or b"", metadata)
    unread, created_with = agreed(data, metadata, parse_app_metadata, app_id, count)
    found: dict[int, list[OldPartition]] = {}
    for name in _names(files, folder):
        if name.isdigit():
            checkpoint = _checkpoint(files, f"{folder}/{name}")
            source = OldPartition(int(name), checkpoint, unread=unread, created_with=created_with)
            found.setdefault(int(name), []).append(source)
    return each_once(found, folder, app_id, count)


def check_backup_files(checkpoint: str) -> None:
    """Compares size and MD5 of every file of a checkpoint with its `backup_metadata`.

    Raises:
        UsageError: the metadata are missing or invalid.
        RefusedError: a file is missing, damaged or encrypted.
        UnavailableError: a file cannot be read.
    """
    folder = Path(checkpoint)
    where = folder / BACKUP_METADATA
    try:
        data = where.read_bytes()
        refuse_encrypted(data, str(where))
        for file in read_value(_METADATA, data, str(where)).files:
            _check(folder / file.name, file)
    except SnapshotError as error:
        raise UsageError(f"{error}; copy the checkpoint from the block service again") from None
    except FileNotFoundError:
        raise UsageError(f"{where} is missing, so the checkpoint was not copied completely") from None
    except OSError as error:
        raise UnavailableError(f"{error.filename} cannot be read: {error.strerror}") from None


def _tables(files: FileReader, path: str, depth: int) -> Iterator[str]:
    """Yields the directories below a path whose names end as those of tables do: `<app>_<id>`."""
    for entry in files.entries(path) or ():
        below = f"{path}/{entry.name}"
        if not entry.is_directory:
            continue
        if re.search(r"_\d+$", entry.name):
            yield below
        if depth < _DEEPEST:
            yield from _tables(files, below, depth + 1)


def _checkpoint(files: FileReader, partition: str) -> str:
    """Returns the directory of the valid checkpoint of a partition."""
    current = f"{partition}/current_checkpoint"
    entries = {entry.name: entry.is_directory for entry in files.entries(partition) or ()}
    if "current_checkpoint" not in entries:
        raise UsageError(f"{partition}: no current_checkpoint, which names the directory that counts")
    name = files.read(current).decode("utf-8", errors="replace").strip()
    if not entries.get(name):
        raise UsageError(f"{current} names {name!r}, but there is no such directory")
    return f"{partition}/{name}"


def _names(files: FileReader, path: str) -> list[str]:
    return [entry.name for entry in files.entries(path) or ()]


def _check(path: Path, said: _File) -> None:
    found = "it is missing"
    if path.is_file():
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False))
        if path.stat().st_size == said.size and digest.hexdigest() == said.md5:
            return
        found = f"it has {path.stat().st_size} bytes and MD5 {digest.hexdigest()}"
    raise RefusedError(
        Condition.REPLICA_DAMAGED,
        f"{path}: {found}, but {BACKUP_METADATA} says {said.size} bytes and MD5 {said.md5}. Copy the checkpoint again, "
        "or take another backup",
    )
