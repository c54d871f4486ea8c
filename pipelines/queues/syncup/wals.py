"""Selects the WALs that ReplicationSyncUp reads for one queue, in its order and with their start offsets.

Follows `ReplicationSourceManager.getWALFilesToReplicate` with `syncUp`, and `ReplicationSource.getStartOffset`.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

from pipelines.common.human import human_bytes
from pipelines.hbase.replication_queues import GroupOffset
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import WalName, encode_prefix, is_replication_table_group, parse_wal_name
from pipelines.hbase.wal_root import OLD_WALS, WALS
from pipelines.queues.syncup.rows import SyncUpContent


@dataclass(frozen=True, slots=True)
class ListedWal:
    """One listed file below `WALs` or `oldWALs`.

    Attributes:
        path: below the WAL root.
        length: bytes.
        name: its parsed name; None = not a WAL name.
    """

    path: str
    length: int
    name: WalName | None

    @classmethod
    def of(cls, path: str, length: int) -> "ListedWal":
        """Returns the file of a listing row."""
        return cls(path, length, parse_wal_name(path.rpartition("/")[2]))

    @property
    def directory(self) -> str:
        """Its directory, below the WAL root."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class PlannedWal:
    """One WAL that a queue reads.

    Attributes:
        file: the WAL.
        group: its WAL group.
        content: how the tool treats it.
        start: offset of the first byte that is read.
    """

    file: ListedWal
    group: str
    content: SyncUpContent
    start: int

    @property
    def bytes(self) -> int:
        """Number of bytes that are read."""
        return 0 if self.content is SyncUpContent.NOT_READ else self.waiting

    @property
    def waiting(self) -> int:
        """Number of bytes that the peer lacks, read or not."""
        return max(self.file.length - self.start, 0)


def human_waiting(sizes: Sequence[int]) -> str:
    """Returns the sum of what is left of WALs as text; an open WAL is listed too short, often as empty."""
    total = human_bytes(sum(sizes))
    return f"{total} or more (an open WAL is listed too short)" if 0 in sizes else total


class FilesOfServers:
    """The listing, indexed by what the tool looks files up by: the directory, and the server in the name."""

    def __init__(self, files: Iterable[ListedWal]) -> None:
        self._by_directory: dict[str, list[ListedWal]] = {}
        self._by_server: dict[ServerName, list[ListedWal]] = {}
        for file in files:
            self._by_directory.setdefault(file.directory, []).append(file)
            if file.name is not None and file.name.server is not None:
                self._by_server.setdefault(file.name.server, []).append(file)
        for files_of_one in self._by_directory.values():
            files_of_one.sort(key=_name)

    def seen(self, source: ServerName) -> list[ListedWal]:
        """Returns what the tool lists for a server: `WALs/<server>`, and `oldWALs` and `oldWALs/<server>` by prefix.

        It does not list `WALs/<server>-splitting` (docs/syncup.md).
        """
        prefix = encode_prefix(str(source))
        archived: list[ListedWal] = []
        for directory in (OLD_WALS, f"{OLD_WALS}/{source}"):
            files = self._by_directory.get(directory, [])
            first = bisect_left(files, prefix, key=_name)
            archived += takewhile(lambda file: _name(file).startswith(prefix), islice(files, first, None))
        return [*archived, *self._by_directory.get(f"{WALS}/{source}", ())]

    def written_by(self, source: ServerName) -> Sequence[ListedWal]:
        """Returns all WALs that the server wrote, in any directory."""
        return self._by_server.get(source, ())


def _name(file: ListedWal) -> str:
    return file.path.rpartition("/")[2]


def planned_wals(
    source: ServerName, offsets: Mapping[str, GroupOffset], files: Iterable[ListedWal]
) -> tuple[PlannedWal, ...]:
    """Returns the WALs that one queue reads, in the order of the tool: by timestamp, then by name.

    Args:
        source: the server whose WALs the queue reads.
        offsets: by WAL group; a group without an offset is read whole.
        files: what the tool lists for the server, without files whose names are not WAL names.

    Returns:
        The WALs; the first one of each group starts at the group's offset.
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


def missing_wals(offsets: Mapping[str, GroupOffset], files: Iterable[ListedWal]) -> Iterator[tuple[str, str]]:
    """Yields (group, WAL) of unfinished offsets whose WAL is not among these files."""
    names = {file.path.rpartition("/")[2] for file in files}
    for group, offset in sorted(offsets.items()):
        if offset.wal and offset.offset >= 0 and offset.wal not in names:
            yield group, offset.wal


def needed_wals(
    source: ServerName, offsets: Mapping[str, GroupOffset], files: Iterable[ListedWal]
) -> Iterator[tuple[ListedWal, int]]:
    """Yields the WALs of a server that the queue really needs, in any directory, with the first needed offset."""
    for file in files:
        name = file.name
        if name is None or _content(name, source) is not SyncUpContent.EDITS:
            continue
        offset = offsets.get(name.group)
        if _should_replicate(name, offset):
            yield file, offset.offset if offset and offset.wal == name.name else 0


def _should_replicate(name: WalName, offset: GroupOffset | None) -> bool:
    """Follows `ReplicationSourceManager.shouldReplicate`; a WAL with a timestamp that HBase throws on is needed."""
    if name.is_meta:
        return False
    return offset is None or not offset.wal or name.timestamp is None or offset.should_replicate(name.timestamp)


def _timestamp(file: ListedWal) -> int:
    return -1 if file.name is None or file.name.timestamp is None else file.name.timestamp


def _content(name: WalName, source: ServerName) -> SyncUpContent:
    return SyncUpContent.QUEUE_TABLE if is_replication_table_group(name.group, source) else SyncUpContent.EDITS
