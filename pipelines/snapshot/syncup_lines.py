"""The lines of the extra `extras/syncup.jsonl`, checked key by key; each line tells its kind."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, TypeAdapter

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError
from pipelines.common.forms import Base64, Count, Form, Instant, Int64, Text, WrittenAs, one_of, value_of
from pipelines.common.strict_json import read_json
from pipelines.hbase.offline_table import UnflushedColumn
from pipelines.hbase.replication_queues import Cell
from pipelines.snapshot.syncup_facts import FlagFile, StoreFile, SyncUpFacts, TableFacts


class _Line(Form):
    kind: str


class _Root(_Line):
    uri: Text


class _Directory(_Line):
    name: Text


class _Flag(_Line):
    name: Text
    length: Count
    modification_time: Instant
    content: str


class _Table(_Line):
    unknown: Text | None = None


class _StoreFile(_Line):
    path: Text
    length: Count
    modification_time: Instant
    region: Text
    family: Text
    sequence_id: Int64


class _Unflushed(_Line):
    row: Base64
    family: Base64
    qualifier: Base64
    value: Base64
    deleted: bool
    write_time: Instant


def _unflushed(form: _Unflushed) -> UnflushedColumn:
    return UnflushedColumn(Cell(form.row, form.family, form.qualifier, form.value), form.deleted, form.write_time)


_KINDS: Mapping[str, TypeAdapter[Any]] = {
    "root": TypeAdapter(Annotated[str, WrittenAs(_Root, lambda form: form.uri)]),
    "directory": TypeAdapter(Annotated[str, WrittenAs(_Directory, lambda form: form.name)]),
    "flag": TypeAdapter(Annotated[FlagFile, WrittenAs(_Flag, without="kind")]),
    "table": TypeAdapter(Annotated[str, WrittenAs(_Table, lambda form: form.unknown)]),
    "store_file": TypeAdapter(Annotated[StoreFile, WrittenAs(_StoreFile, without="kind")]),
    "unflushed": TypeAdapter(Annotated[UnflushedColumn, WrittenAs(_Unflushed, _unflushed)]),
}


class _AnyLine(Form):
    model_config = ConfigDict(extra="ignore")

    kind: Annotated[str, one_of(tuple(_KINDS))]


_KIND: TypeAdapter[str] = TypeAdapter(Annotated[str, WrittenAs(_AnyLine, lambda form: form.kind)])


def parse_facts(lines: Iterable[tuple[str | bytes, str]]) -> SyncUpFacts:
    """Checks the lines of the extra and returns them as a frozen value.

    Args:
        lines: each with its name for messages.

    Raises:
        SnapshotError: a line has another form or an unknown kind (the message names the line), or a kind is missing or
            occurs twice.
    """
    found: dict[str, list[Any]] = {}
    where = "extras/syncup.jsonl"
    for line, place in lines:
        kind, value = _parsed(line, place)
        found.setdefault(kind, []).append(value)
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


def _parsed(line: str | bytes, where: str) -> tuple[str, Any]:
    try:
        document = read_json(line, where)
        kind = value_of(_KIND, document, where)
        return kind, value_of(_KINDS[kind], document, where)
    except SnapshotError as error:
        raise SnapshotError(error.condition, f"{error}; capture again") from None
