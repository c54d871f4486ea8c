"""Finds old partitions in replica directories, on a local disk or on another file system."""

import posixpath
from collections.abc import Callable, Iterator

from pipelines.common.errors import MalformedError, UsageError
from pipelines.files.file_reader import FileReader, no_directory
from pipelines.pegasus.domain.encryption import refuse_encrypted
from pipelines.pegasus.domain.offline.model import OldPartition
from pipelines.pegasus.domain.offline.replica_info import (
    APP_INFO,
    INIT_INFO,
    AppInfo,
    InitInfo,
    parse_app_info,
    parse_init_info,
)
from pipelines.pegasus.domain.private_log.names import DISCARDED, Gpid, parse_replica_name

_DEEPEST = 12
_CORRECT = "or correct --app-id or the number of partitions now (--from of split-run, --partitions of split-export)"


def find_old_partitions(files: FileReader, root: str, app_id: int, count: int) -> list[OldPartition]:
    """Returns one source for each old partition: `<app>.<partition>.pegasus/data/rdb`, logs in `plog`.

    Args:
        files: reads the file system of the replicas.
        root: a directory above the replica directories.
        app_id: the id of the table.
        count: the number of its partitions.

    Raises:
        UsageError: there is no such directory or it is too far above the replicas, a partition has no source or more
            than one, or no data, its `.app-info` has another table or count, or its `.init-info` cannot be parsed.
        RefusedError: `.app-info` or `.init-info` is encrypted.
        UnavailableError: a directory, `.app-info` or `.init-info` cannot be read.
    """
    if files.entries(root) is None:
        raise no_directory(root, "one above the replica directories")
    found: dict[int, list[OldPartition]] = {}
    others = set[int]()
    for path, gpid in replica_directories(files, root):
        if gpid.app_id != app_id:
            others.add(gpid.app_id)
        else:
            there = {entry.name: entry.is_directory for entry in files.entries(path) or ()}
            info, init_info = (
                _content(files, f"{path}/{name}") if name in there else None for name in (APP_INFO, INIT_INFO)
            )
            unread, created_with = agreed(info, f"{path}/{APP_INFO}", parse_app_info, app_id, count)
            init = _init_info(init_info, f"{path}/{INIT_INFO}")
            source = OldPartition(
                gpid.partition,
                f"{path}/data/rdb",
                f"{path}/plog" if there.get("plog") else None,
                init.log_offset,
                init.durable_decree,
                unread,
                created_with=created_with,
                lacks_init_info=init_info is None,
            )
            found.setdefault(gpid.partition, []).append(source)
    if not found:
        if others:
            known = ", ".join(map(str, sorted(others)))
            raise UsageError(f"{root} has no replica of table {app_id}; there are those of {known}: correct --app-id")
        raise UsageError(
            f"{root} contains no replica directory <app>.<partition>.pegasus (docs/split-files.md); give a cold backup "
            "with --backup"
        )
    sources = each_once(found, root, app_id, count)
    for source in sources:
        if files.entries(source.database) is None:
            raise UsageError(f"{source.database}: no such directory; copy the replica with its data")
    return sources


def _init_info(data: bytes | None, where: str) -> InitInfo:
    """Returns the content of `.init-info`; if the replica has no such file, one that demands nothing (a finding)."""
    if data is None:
        return InitInfo()
    try:
        return parse_init_info(data)
    except MalformedError as error:
        raise UsageError(f"{where}: {error}; copy the replica again, or take the replica of another server") from None


def _content(files: FileReader, path: str) -> bytes:
    data = files.read(path)
    refuse_encrypted(data, path)
    return data


def agreed(
    data: bytes | None, where: str, parse: Callable[[bytes], AppInfo], app_id: int, count: int
) -> tuple[str | None, int | None]:
    """Compares a file's table and count with the caller's.

    Args:
        data: the content of the file; None = there is no such file.
        where: the path of the file, for messages.
        parse: the parser of the file.
        app_id: the id of the table.
        count: the number of its partitions.

    Returns:
        Why the file cannot be read; None = it agrees. And the number of partitions with which the table was created;
        None = the file does not state it.

    Raises:
        UsageError: the file has another table or count.
    """
    if data is None:
        return f"{where}: there is no such file", None
    try:
        said = parse(data)
    except MalformedError as error:
        return f"{where}: {error}", None
    if (said.app_id, said.partition_count) != (app_id, count):
        raise UsageError(
            f"{where}: table {said.app_id} ({said.app_name}) has {said.partition_count} partitions, but table "
            f"{app_id} with {count} partitions is given. Give the data of all partitions of one table, {_CORRECT}"
        )
    return None, said.init_partition_count


def each_once(found: dict[int, list[OldPartition]], root: str, app_id: int, count: int) -> list[OldPartition]:
    """Returns the source of each partition, by index.

    Args:
        found: the sources of each partition.
        root: the directory of the input, for messages.
        app_id: the id of the table.
        count: the number of its partitions.

    Raises:
        UsageError: a partition has no source or more than one, or there are more partitions.
    """
    missing = sorted(set(range(count)) - set(found))
    if missing:
        raise UsageError(
            f"{root}: no data of partition {app_id}.{missing[0]} ({len(missing)} of {count} are missing); give all of "
            f"them, {_CORRECT}"
        )
    beyond = sorted(set(found) - set(range(count)))
    if beyond:
        raise UsageError(
            f"{root}: there is a partition {app_id}.{beyond[0]}; the table has more than {count}; take the data of one "
            f"table, {_CORRECT}"
        )
    doubled = next((sources for _, sources in sorted(found.items()) if len(sources) > 1), None)
    if doubled:
        places = " and ".join(source.database for source in doubled[:2])
        raise UsageError(
            f"partition {app_id}.{doubled[0].partition} exists twice: {places}; remove one of them from the input"
        )
    return [found[index][0] for index in range(count)]


def replica_directories(files: FileReader, root: str) -> Iterator[tuple[str, Gpid]]:
    """Yields the replica directories below a directory; skips those that a server has put aside.

    Raises:
        UsageError: the directory is too far above the replicas.
        UnavailableError: a directory cannot be read.
    """
    return _below(files, root, 0)


def _below(files: FileReader, path: str, depth: int) -> Iterator[tuple[str, Gpid]]:
    if depth > _DEEPEST:
        raise UsageError(
            f"{path}: more than {_DEEPEST} directories below the given one; give one that has only replicas below it"
        )
    for entry in files.entries(path) or ():
        if not entry.is_directory or entry.name.endswith(DISCARDED):
            continue
        below = posixpath.join(path, entry.name)
        try:
            gpid = parse_replica_name(entry.name)
        except MalformedError:
            yield from _below(files, below, depth + 1)
        else:
            yield below, gpid
