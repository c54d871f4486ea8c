"""Files that HBase's own writers wrote, and where its readers stop when they are cut off (wal-*.tsv)."""

import gzip
import io
import re
import struct
from typing import NamedTuple

import pytest

from pipelines.hbase.wal_format.reader import WalEnd, WalEntry, WalReader
from pipelines.hbase.wal_format.wal_key import WalKey
from tests.labs.wal_files import GOLDEN, GZIP_REST, STATES, recorded_endings

SMALL = ("plain.1", "comp.1", "comp-notag.1", "compval.1")
REGION_1, REGION_2 = b"6b2c8f8555335cc9af74455b94516cbe", b"6ecd2e9e010499f8ddef97ee8f70834f"
LRU_ENTRIES = 40_000
T = 1_700_000_000_000
PUT = 4


class Cell(NamedTuple):
    row: bytes
    family: bytes
    qualifier: bytes
    value: bytes | None


class Read(NamedTuple):
    reader: WalReader
    entries: list[WalEntry]
    cells: list[Cell]


def read(data: bytes, *, values: bool = True) -> Read:
    """The whole of a file, from a stream that gives a few bytes at a time."""
    cells: list[Cell] = []

    def visit(
        row: bytes, family: bytes, qualifier: bytes, stamp: bytes, value_length: int, value: bytes | None
    ) -> None:
        assert struct.unpack(">qb", stamp) == (T, PUT)
        assert value is None or len(value) == value_length
        cells.append(Cell(row, family, qualifier, value))

    stream = io.BytesIO(data)
    reader = WalReader(lambda count: stream.read(min(count, 7919)), values=values)
    return Read(reader, list(reader.entries(visit)), cells)


def wal(name: str) -> bytes:
    return (GOLDEN / "wals" / name).read_bytes()


def key(region: bytes, table: str, number: int, scopes: dict[bytes, int], cells: int) -> WalKey:
    return WalKey(region, table, number, T + number, scopes, cells, 0)


@pytest.mark.parametrize("name", SMALL)
def test_every_entry_and_cell(name: str) -> None:
    found = read(wal(name))
    assert [entry.key for entry in found.entries] == [
        key(REGION_1, "t1", 1, {b"f": 1}, 2),
        key(REGION_2, "ns:t2", 2, {}, 1),
        key(REGION_1, "t1", 3, {b"f": 1, b"g": 1}, 2),
        key(REGION_1, "t1", 4, {}, 0),
        key(REGION_1, "t1", 5, {b"f": 1}, 1),
    ]
    assert found.cells == [
        Cell(b"a", b"f", b"q", b"v1"),
        Cell(b"a", b"f", b"q2", b"v2"),
        Cell(b"b", b"g", b"q", b"v3"),
        Cell(b"c", b"f", b"q", b"v4"),
        Cell(b"c", b"g", b"q", b"v" * 40),
        Cell(b"a", b"f", b"q", b"v1"),
    ]
    assert (found.reader.ending, found.reader.problem, found.reader.length) == (WalEnd.CLOSED, None, len(wal(name)))
    assert [cell[:3] for cell in read(wal(name), values=False).cells] == [cell[:3] for cell in found.cells]


def test_what_the_headers_say() -> None:
    headers = {name: read(wal(name)).reader.header for name in SMALL}
    said = {
        name: (header.compressed, header.compressed_tags, header.value_algorithm)
        for name, header in headers.items()
        if header is not None and header.writer == "ProtobufLogWriter" and not header.encrypted
    }
    assert said == {
        "plain.1": (False, False, None),
        "comp.1": (True, True, None),
        "comp-notag.1": (True, False, None),
        "compval.1": (True, True, "GZ"),
    }


def test_dictionaries_forget_what_is_unused_for_longest() -> None:
    """35,985 rows and 353 qualifiers in dictionaries of 32,767 and 127: a wrong order shows in another name."""
    found = read(gzip.decompress(wal("lru.1.gz")))
    assert found.reader.ending is WalEnd.CLOSED
    assert [entry.key.sequence_id for entry in found.entries] == list(range(1, LRU_ENTRIES + 1))
    assert [cell.value for cell in found.cells] == [b"v%d" % number for number in range(LRU_ENTRIES)]
    rows = [int(cell.row.removeprefix(b"row")) for cell in found.cells]
    # the writer took a new row for nine entries of ten, else one of the first hundred, which must not be forgotten
    again = [row for number, row in enumerate(rows) if row != number]
    assert len(again) > LRU_ENTRIES // 12
    assert max(again) < 100
    assert len(set(rows)) > 2**15
    assert len({cell.qualifier for cell in found.cells}) > 2**7
    assert all(re.fullmatch(rb"q[0-9]{1,3}", cell.qualifier) for cell in found.cells)


def truncations() -> list[tuple[int, int, int, str]]:
    """Bytes kept, entries, position behind the last one (-1 without a header), HBase's words."""
    rows = [line.split("\t") for line in (GOLDEN / "wal-truncation.tsv").read_text().splitlines()]
    return [(int(row[0]), int(row[1].split()[0]), int(row[2][4:]), row[3]) for row in rows if len(row) == 4]


@pytest.mark.parametrize(("kept", "entries", "position", "words"), truncations())
def test_a_file_that_is_cut_off(kept: int, entries: int, position: int, words: str) -> None:
    found = read(wal("plain.1")[:kept])
    reader = found.reader
    if position < 0:
        assert reader.header is None
        assert "WALHeaderEOFException" in words
        expected = WalEnd.NO_HEADER
    elif words.startswith("null"):
        expected = WalEnd.CLOSED
    else:
        assert words.startswith("EOFException")
        expected = WalEnd.OPEN if words.endswith("EOF while reading message size") else WalEnd.TORN
    assert (reader.ending, len(found.entries), reader.good_end) == (expected, entries, max(position, 0))


def test_the_recorded_truncations_are_all_there() -> None:
    assert len(truncations()) == 15


@pytest.mark.parametrize("name", SMALL)
def test_every_truncation_reads_the_entries_before_it(name: str) -> None:
    whole = read(wal(name))
    ends = [entry.end for entry in whole.entries]
    assert whole.reader.header is not None
    for kept in range(len(wal(name))):
        found = read(wal(name)[:kept])
        assert [entry.end for entry in found.entries] == [end for end in ends if end <= kept], kept
        boundary = kept in {whole.reader.header_end, *ends}
        headless = kept < whole.reader.header_end
        expected = WalEnd.NO_HEADER if headless else WalEnd.OPEN if boundary else WalEnd.TORN
        assert (found.reader.ending, found.reader.length) == (expected, kept), kept
        assert (found.reader.problem is None) == boundary


@pytest.mark.parametrize("name", SMALL)
def test_every_truncation_ends_as_replication_finds_it(name: str) -> None:
    data, ends = wal(name), [entry.end for entry in read(wal(name)).entries]
    answers = recorded_endings(name)
    assert len(answers) == len(data) + 1
    for kept, (entries, state) in enumerate(answers):
        found = read(data[:kept])
        unnoticed = entries - len(found.entries) == 1 and any(0 < end - kept <= GZIP_REST for end in ends)
        assert len(found.entries) == entries or (name == "compval.1" and unnoticed), (kept, state)
        assert found.reader.ending in STATES[state], (kept, state)
