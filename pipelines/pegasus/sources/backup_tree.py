"""Finds old partitions in a cold backup, on a local disk or on another file system."""

import re
from collections.abc import Iterator

from pipelines.common.errors import UsageError
from pipelines.files.file_reader import FileReader, no_directory
from pipelines.pegasus.domain.encryption import refuse_encrypted
from pipelines.pegasus.domain.offline.plan import OldPartition
from pipelines.pegasus.domain.offline.replica_info import parse_app_metadata
from pipelines.pegasus.sources.replica_tree import agreed, each_once

_DEEPEST = 3
"""Pegasus writes `<root>/<policy>/<backup id>/<app>_<id>`."""


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
