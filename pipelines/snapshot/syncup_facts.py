"""The extra `extras/syncup.jsonl`: data that only ReplicationSyncUp needs (docs/snapshot-format.md)."""

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError
from pipelines.common.instants import format_instant, parse_instant
from pipelines.common.json_object import JsonObject
from pipelines.hbase.offline_table import UnflushedColumn
from pipelines.hbase.replication_queues import Cell

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
    """Yields the lines of the extra, the inverse of `parse_facts`."""
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


def parse_facts(forms: Iterable[JsonObject]) -> SyncUpFacts:
    """Checks the lines of the extra and returns them as a frozen value.

    Raises:
        SnapshotError: a line has another form or an unknown kind (the message names the line), or a kind is missing or
            occurs twice.
    """
    found: dict[str, list[Any]] = {}
    where = "extras/syncup.jsonl"
    for form in forms:
        kind = form.one_of("kind", tuple(_KINDS))
        found.setdefault(kind, []).append(_KINDS[kind](form))
        form.no_other_keys()
    for kind in ("root", "table"):
        if len(found.get(kind, ())) > 1:
            raise SnapshotError(Condition.DOCUMENT_MALFORMED, f"{where}: two lines of kind {kind!r}; capture again")
    if "root" not in found:
        raise SnapshotError(Condition.SNAPSHOT_INCOMPLETE, f"{where}: no line of kind 'root'; capture again")
    table = None
    if "table" in found:
        table = TableFacts(tuple(found.get("store_file", ())), tuple(found.get("unflushed", ())), found["table"][0])
    elif "store_file" in found or "unflushed" in found:
        raise SnapshotError(
            Condition.SNAPSHOT_INCOMPLETE, f"{where}: no line of kind 'table' for its store files; capture again"
        )
    return SyncUpFacts(found["root"][0], tuple(found.get("directory", ())), tuple(found.get("flag", ())), table)


def _flag(form: JsonObject) -> FlagFile:
    return FlagFile(form.text("name"), form.count("length"), _instant(form), form.any_text("content"))


def _store_file(form: JsonObject) -> StoreFile:
    return StoreFile(
        form.text("path"),
        form.count("length"),
        _instant(form),
        form.text("region"),
        form.text("family"),
        form.integer("sequence_id"),
    )


def _unflushed(form: JsonObject) -> UnflushedColumn:
    cell = Cell(*(_decoded(form, name) for name in ("row", "family", "qualifier", "value")))
    return UnflushedColumn(cell, form.flag("deleted"), _instant(form, "write_time"))


_KINDS: Mapping[str, Callable[[JsonObject], Any]] = {
    "root": lambda form: form.text("uri"),
    "directory": lambda form: form.text("name"),
    "flag": _flag,
    "table": lambda form: form.optional_text("unknown"),
    "store_file": _store_file,
    "unflushed": _unflushed,
}


def _instant(form: JsonObject, key: str = "modification_time") -> int:
    try:
        return parse_instant(form.text(key))
    except ValueError as error:
        raise SnapshotError(Condition.DOCUMENT_MALFORMED, f"{form.where}: {error}") from None


def _coded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _decoded(form: JsonObject, key: str) -> bytes:
    try:
        return base64.b64decode(form.any_text(key), validate=True)
    except ValueError as error:
        raise SnapshotError(
            Condition.DOCUMENT_MALFORMED, f"{form.where}: {key!r} is not base64 ({error}); capture again"
        ) from None
