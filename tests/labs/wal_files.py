"""Makes WAL files byte by byte as HBase's ProtobufLogWriter does without compression."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pipelines.hbase.wal_format.reader import WalEnd
from tests.labs.places import TESTS

CODEC = "org.apache.hadoop.hbase.regionserver.wal.WALCellCodec"
TRAILER = b"\0\0\0\0LAWP"
T = 1_789_999_000_000
"""Write time of entry 0; entry n is written n ms later."""
PUT = 4

GOLDEN = TESTS / "golden" / "hbase"
GZIP_REST = 9
"""Bytes of a compressed value that HBase does not need to inflate it: it takes an entry for whole without them."""
STATES = {
    "EOF_WITH_TRAILER": {WalEnd.CLOSED},
    "EOF_AND_RESET": {WalEnd.OPEN, WalEnd.TORN},
    "EOF_AND_RESET_COMPRESSION": {WalEnd.TORN},
    "NO_HEADER": {WalEnd.NO_HEADER},
}
"""What replication's reader calls the end of a file that is not broken."""


def recorded_endings(name: str) -> list[tuple[int, str]]:
    """Returns what replication's reader said of a golden file cut off at every byte: entries and state."""
    lines = (GOLDEN / "wal-endings.tsv").read_text(encoding="utf-8").splitlines()[1:]
    rows = [line.split("\t")[1:] for line in lines if line.startswith(f"{name}\t")]
    starts = [*(int(row[0]) for row in rows), (GOLDEN / "wals" / name).stat().st_size + 1]
    stretches = zip(rows, pairwise(starts), strict=True)
    return [(int(row[1]), row[2]) for row, (start, end) in stretches for _ in range(start, end)]


def varint(number: int) -> bytes:
    """Encodes a number, also a negative one, as a protobuf varint."""
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def message(*fields: tuple[int, int | bytes]) -> bytes:
    """Encodes a protobuf message of numbers and byte strings."""
    return b"".join(
        varint(number << 3 | 2) + varint(len(value)) + value
        if isinstance(value, bytes)
        else varint(number << 3) + varint(value)
        for number, value in fields
    )


def delimited(text: bytes) -> bytes:
    """Encodes a message with its length before it."""
    return varint(len(text)) + text


def header(*further: tuple[int, int | bytes], codec: str = CODEC) -> bytes:
    """Encodes magic and header."""
    fields = ((1, 0), *further, (4, b"AsyncProtobufLogWriter"), (5, codec.encode()))
    return b"PWAL" + delimited(message(*fields))


@dataclass(frozen=True)
class Cell:
    """One cell of a put, or a cell that HBase writes for its own use."""

    family: str
    value: bytes = b"v"
    row: bytes = b"r"
    qualifier: bytes = b"q"


@dataclass(frozen=True)
class Edit:
    """One entry of a WAL."""

    table: str
    cells: Sequence[Cell] = (Cell("f"),)
    scopes: Mapping[str, int] = field(default_factory=lambda: {"f": 1})
    clusters: int = 0
    sequence_id: int | None = None
    """None = its number in the WAL."""
    write_time: int | None = None
    """None = `T` plus its number in the WAL."""


def cell(one: Cell) -> bytes:
    """Encodes a cell: length and KeyValue."""
    family = one.family.encode()
    key = struct.pack(">H", len(one.row)) + one.row + bytes([len(family)]) + family + one.qualifier
    key += struct.pack(">qb", T, PUT)
    body = struct.pack(">ii", len(key), len(one.value)) + key + one.value
    return struct.pack(">i", len(body)) + body


def entry(edit: Edit, number: int = 0) -> bytes:
    """Encodes an entry: key and cells."""
    scopes = [(6, message((1, family.encode()), (2, scope))) for family, scope in edit.scopes.items()]
    clusters = [(8, message((1, place), (2, place))) for place in range(edit.clusters)]
    key = message(
        (1, b"6b2c8f8555335cc9af74455b94516cbe"),
        (2, edit.table.encode()),
        (3, number if edit.sequence_id is None else edit.sequence_id),
        (4, T + number if edit.write_time is None else edit.write_time),
        *scopes,
        (7, len(edit.cells)),
        *clusters,
    )
    return delimited(key) + b"".join(map(cell, edit.cells))


def wal(*edits: Edit, trailer: bytes = TRAILER) -> bytes:
    """Encodes a whole file."""
    return header() + b"".join(entry(edit, number) for number, edit in enumerate(edits)) + trailer


def damaged(data: bytes, place: int, *wrong: int) -> bytes:
    """Returns a file with other bytes at a place."""
    return data[:place] + bytes(wrong) + data[place + len(wrong) :]


def ends(*edits: Edit) -> list[int]:
    """Returns the offsets at which the header and each entry of `wal` end."""
    found = [len(header())]
    for number, edit in enumerate(edits):
        found.append(found[-1] + len(entry(edit, number)))
    return found


def bulk_load(table: str, *families: str, scopes: Mapping[str, int]) -> Edit:
    """Returns the entry that marks a bulk load of these families."""
    stores = [(3, message((1, family.encode()), (2, b"home"), (3, b"hfile"))) for family in families]
    value = message((1, b"t"), (2, b"region"), *stores, (4, 7))
    return Edit(table, [Cell("METAFAMILY", value, b"METAROW", b"HBASE::BULK_LOAD")], scopes)
