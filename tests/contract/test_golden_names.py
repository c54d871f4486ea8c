"""The recorded answers of HBase's own parsers of names, offsets, queue ids and servers (golden names.tsv)."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from pipelines.common.errors import MalformedError
from pipelines.hbase.replication_queues import parse_offset, parse_queue_id
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import encode_prefix, parse_wal_name, wal_timestamp
from tests.labs.places import TESTS

NAMES = TESTS / "golden" / "hbase" / "names.tsv"


def sections() -> dict[str, list[list[str]]]:
    """Rows by section; the first section has no heading."""
    found: dict[str, list[list[str]]] = {"names": []}
    current = found["names"]
    for line in NAMES.read_text(encoding="utf-8").split("\n"):
        if line.startswith("--- "):
            current = found.setdefault(line.removeprefix("--- "), [])
        else:
            current.append(line.split("\t"))
    return found


GOLDEN = sections()


def or_throws(parse: Callable[[str], object], text: str) -> str:
    """The parser's answer as text; `!` where it throws."""
    try:
        return str(parse(text))
    except MalformedError:
        return "!"


def recorded(answer: str) -> str:
    """The recorded answer; `!` for any Java exception."""
    return "!" if answer.startswith("!") else answer


NAME_ROWS = [row for row in GOLDEN["names"] if len(row) == 7]


def test_the_golden_file_is_whole() -> None:
    assert len(NAME_ROWS) == 34
    assert len(GOLDEN["queue ids"]) >= 14
    assert len(GOLDEN["server names"]) >= 14


@pytest.mark.promise("names-compare-as-in-hbase", "parses-as-hbase-does")
@pytest.mark.parametrize("row", NAME_ROWS, ids=lambda row: row[0] or "empty")
def test_wal_names(row: list[str]) -> None:
    text, valid, timestamp, group, server, meta, _ = row
    name = text.replace("\\n", "\n")
    wal = parse_wal_name(name)
    assert (wal is not None) == (valid == "true")
    if wal is None:
        assert wal_timestamp(name) == -1
        return
    assert ("!" if wal.timestamp is None else str(wal.timestamp)) == recorded(timestamp)
    assert wal.group == group
    assert ("!" if wal.server is None else str(wal.server)) == recorded(server)
    assert wal.is_meta == (meta == "true")


@pytest.mark.parametrize("row", [row for row in GOLDEN["offsets"] if row[0] not in {"parseOffset", "BEGIN"}], ids=str)
def test_should_replicate(row: list[str]) -> None:
    offset, name, answer = row
    assert parse_offset(offset).should_replicate(wal_timestamp(name)) == (answer == "true")


@pytest.mark.promise("parses-as-hbase-does")
@pytest.mark.parametrize("row", [row for row in GOLDEN["offsets"] if row[0] == "parseOffset"], ids=str)
def test_parse_offset(row: list[str]) -> None:
    assert or_throws(parse_offset, row[1]) == recorded(row[2])


@pytest.mark.promise("parses-as-hbase-does")
@pytest.mark.parametrize("row", [row for row in GOLDEN["queue ids"] if len(row) == 2], ids=str)
def test_queue_ids(row: list[str]) -> None:
    text, answer = row
    assert or_throws(parse_queue_id, text) == recorded(answer).partition(" | ")[0]
    if not answer.startswith("!"):
        fields = dict(part.split("=", 1) for part in answer.split(" | ")[1:])
        assert parse_queue_id(text).key == (fields["peer"], fields["server"], fields["walsOf"])


def test_claims_keep_the_first_owner() -> None:
    chain = next(row[0] for row in GOLDEN["queue ids"] if " -> " in row[0]).split(" -> ")
    queue = parse_queue_id(chain[0])
    for step in chain[1:]:
        target = parse_queue_id(step)
        queue = queue.claimed_by(target.owner)
        assert str(queue) == step


@pytest.mark.promise("parses-as-hbase-does")
@pytest.mark.parametrize(
    "row", [row for row in GOLDEN["server names"] if len(row) == 5 and row[0] != "dir"], ids=lambda row: row[0]
)
def test_server_names(row: list[str]) -> None:
    assert or_throws(ServerName.parse, row[0]) == recorded(row[1])


def test_server_names_are_ordered_by_host_then_numbers() -> None:
    line = next(row[0] for row in GOLDEN["server names"] if row[0].startswith("sorted"))
    names = [ServerName.parse(name) for name in line[line.index("[") + 1 : line.index("]")].split(", ")]
    assert all(one < two for one, two in pairwise(names))


def test_encoding_is_javas() -> None:
    encoded = next(row[0] for row in GOLDEN["server names"] if row[0].startswith("ENC ")).removeprefix("ENC ")
    assert encode_prefix("2001:db8::1,16020,5 *-_.~+/$") == encoded
