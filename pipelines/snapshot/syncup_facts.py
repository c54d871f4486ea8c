"""The extra `extras/syncup.jsonl`: data that only ReplicationSyncUp needs (docs/snapshot-format.md)."""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.common.instants import format_instant
from pipelines.hbase.offline_table import UnflushedColumn

EXTRA = "syncup"
"""Name of this extra in snapshot.json."""
INFO_FLAG = "info"
"""The file that records when ReplicationSyncUp was started; the other files are named after servers."""


@dataclass(frozen=True, slots=True)
class FlagFile:
    """One file below `ReplicationSyncUp` in the root directory; instants in ms since the epoch.

    Attributes:
        name: `info`, or a server.
        content: text of `info`; empty for the other files.
    """

    name: str
    length: int
    modification_time: int
    content: str = ""


@dataclass(frozen=True, slots=True)
class StoreFile:
    """One store file of `hbase:replication`.

    Attributes:
        path: relative to the root directory.
        length: bytes.
        modification_time: when the file was flushed or compacted, ms since the epoch.
        region: encoded name.
        family: column family.
        sequence_id: the highest sequence id in the file.
    """

    path: str
    length: int
    modification_time: int
    region: str
    family: str
    sequence_id: int


@dataclass(frozen=True, slots=True)
class TableFacts:
    """The queue table as a reader of its store files sees it.

    Attributes:
        store_files: the store files that were read.
        unflushed: the changes in the table's WALs that the store files lack.
        unknown: why `unflushed` may be incomplete, as text; None = it is complete.
    """

    store_files: tuple[StoreFile, ...] = ()
    unflushed: tuple[UnflushedColumn, ...] = ()
    unknown: str | None = None

    @property
    def flushed_at(self) -> int | None:
        """When the youngest store file was written, ms since the epoch; None if there is no store file."""
        return max((file.modification_time for file in self.store_files), default=None)

    @property
    def last_written(self) -> int | None:
        """Time of the last write that the store files lack, ms since the epoch; None = they lack none."""
        return max((change.write_time for change in self.unflushed), default=None)


@dataclass(frozen=True, slots=True)
class SyncUpFacts:
    """All data of the extra.

    Attributes:
        root: `hbase.rootdir`, full URI.
        directories: names of the directories below `WALs/`, with `-splitting`.
        flags: files that an earlier run of ReplicationSyncUp left.
        table: None if the queues are exported cells, because then it is unknown what was flushed.
    """

    root: str
    directories: tuple[str, ...] = ()
    flags: tuple[FlagFile, ...] = ()
    table: TableFacts | None = None


def fact_documents(facts: SyncUpFacts) -> Iterator[Mapping[str, Any]]:
    """Yields the lines of the extra, the inverse of `pipelines.snapshot.syncup_lines.parse_facts`."""
    yield {"kind": "root", "uri": facts.root}
    for name in facts.directories:
        yield {"kind": "directory", "name": name}
    for flag in facts.flags:
        yield {
            "kind": "flag",
            "name": flag.name,
            "length": flag.length,
            "modification_time": format_instant(flag.modification_time),
            "content": flag.content,
        }
    if facts.table is None:
        return
    yield {"kind": "table", "unknown": facts.table.unknown}
    for file in facts.table.store_files:
        yield {
            "kind": "store_file",
            "path": file.path,
            "length": file.length,
            "modification_time": format_instant(file.modification_time),
            "region": file.region,
            "family": file.family,
            "sequence_id": file.sequence_id,
        }
    for change in facts.table.unflushed:
        yield {
            "kind": "unflushed",
            **{name: _coded(getattr(change.cell, name)) for name in ("row", "family", "qualifier", "value")},
            "deleted": change.deleted,
            "write_time": format_instant(change.write_time),
        }


def _coded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
