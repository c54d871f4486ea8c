"""The WALs that ReplicationSyncUp reads for one queue, in its order and from where it begins.

Follows `ReplicationSourceManager.getWALFilesToReplicate` with `syncUp`, and `ReplicationSource.getStartOffset`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipelines.hbase.replication_queues import GroupOffset
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import WalName, encode_prefix, is_replication_table_group, parse_wal_name
from pipelines.queues.syncup.rows import Content

LIVE, ARCHIVE = "WALs", "oldWALs"


@dataclass(frozen=True, slots=True)
class ListedFile:
    """One file of the listing below `WALs` or `oldWALs`.

    Attributes:
        path: below the WAL root.
        length: bytes.
        name: its name taken apart; None = not a WAL's.
    """

    path: str
    length: int
    name: WalName | None

    @classmethod
    def of(cls, path: str, length: int) -> "ListedFile":
        """From a row of the listing."""
        return cls(path, length, parse_wal_name(path.rpartition("/")[2]))

    @property
    def directory(self) -> str:
        """Where it lies, below the WAL root."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class PlannedWal:
    """One WAL that a queue takes up.

    Attributes:
        file: the WAL.
        group: its WAL group.
        content: what it is to the tool.
        start: offset of the first byte that is read.
    """

    file: ListedFile
    group: str
    content: Content
    start: int

    @property
    def bytes(self) -> int:
        """Bytes that are read."""
        return max(self.file.length - self.start, 0)


class FilesOfServers:
    """The listing by what decides whether the tool looks at a file: its directory, and the server in its name."""

    def __init__(self, files: Iterable[ListedFile]) -> None:
        self._by_directory: dict[str, list[ListedFile]] = {}
        self._by_server: dict[ServerName, list[ListedFile]] = {}
        for file in files:
            self._by_directory.setdefault(file.directory, []).append(file)
            if file.name is not None and file.name.server is not None:
                self._by_server.setdefault(file.name.server, []).append(file)

    def seen(self, source: ServerName) -> list[ListedFile]:
        """What the tool lists for a server: `WALs/<server>`, and `oldWALs` and `oldWALs/<server>` by prefix.

        Not `WALs/<server>-splitting`: the hole that docs/syncup.md tells of.
        """
        prefix = encode_prefix(str(source))
        archived = [
            file
            for directory in (ARCHIVE, f"{ARCHIVE}/{source}")
            for file in self._by_directory.get(directory, ())
            if file.path.rpartition("/")[2].startswith(prefix)
        ]
        return [*archived, *self._by_directory.get(f"{LIVE}/{source}", ())]

    def written_by(self, source: ServerName) -> Sequence[ListedFile]:
        """All WALs that the server wrote, wherever they lie."""
        return self._by_server.get(source, ())


def planned_wals(
    source: ServerName, offsets: Mapping[str, GroupOffset], files: Iterable[ListedFile]
) -> tuple[PlannedWal, ...]:
    """What one queue takes up, in the tool's order: by timestamp, then by name, each group from its offset on.

    Args:
        source: whose WALs the queue reads.
        offsets: by WAL group; a group without one is read whole.
        files: what the tool lists for the server; a name that is no WAL's must not be among them.
    """
    taken = [one for one in files if one.name and _should_replicate(one.name, offsets.get(one.name.group))]
    taken.sort(key=lambda one: (_timestamp(one), one.path.rpartition("/")[2]))
    begun: set[str] = set()
    planned = []
    for file in taken:
        name = file.name
        if name is None:
            continue
        content, start = _content(name, source), 0
        if name.group not in begun:
            begun.add(name.group)
            offset = offsets.get(name.group)
            start = max(offset.offset, 0) if offset and offset.wal == name.name else 0
        planned.append(PlannedWal(file, name.group, content, start))
    return tuple(planned)


def missing_wals(offsets: Mapping[str, GroupOffset], files: Iterable[ListedFile]) -> Iterator[tuple[str, str]]:
    """(group, WAL) of the offsets inside of a WAL that is not among these files."""
    names = {file.path.rpartition("/")[2] for file in files}
    for group, offset in sorted(offsets.items()):
        if offset.wal and offset.offset >= 0 and offset.wal not in names:
            yield group, offset.wal


def needed(
    source: ServerName, offsets: Mapping[str, GroupOffset], files: Iterable[ListedFile]
) -> Iterator[tuple[ListedFile, int]]:
    """The WALs of a server that the queue really needs, wherever they lie, each with the offset it is needed from."""
    for file in files:
        name = file.name
        if name is None or _content(name, source) is not Content.EDITS:
            continue
        offset = offsets.get(name.group)
        if _should_replicate(name, offset):
            yield file, offset.offset if offset and offset.wal == name.name else 0


def _should_replicate(name: WalName, offset: GroupOffset | None) -> bool:
    """`ReplicationSourceManager.shouldReplicate`; a timestamp that HBase throws on is needed."""
    if name.is_meta:
        return False
    return offset is None or not offset.wal or name.timestamp is None or offset.should_replicate(name.timestamp)


def _timestamp(file: ListedFile) -> int:
    return -1 if file.name is None or file.name.timestamp is None else file.name.timestamp


def _content(name: WalName, source: ServerName) -> Content:
    return Content.QUEUE_TABLE if is_replication_table_group(name.group, source) else Content.EDITS
