"""Parses the message `WALKey` at the beginning of each entry (HBase `WALKeyImpl.readFieldsFromPb`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from pipelines.common.errors import MalformedError
from pipelines.hbase.protobuf_wire import LENGTH, VARINT, CutOffError, fields, signed_int64, varint
from pipelines.hbase.wal_format.dictionary import Dictionaries, LruDictionary

SCOPE_GLOBAL = 1
_SCOPES = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class WalKey:
    """The key of one entry.

    Attributes:
        region: the encoded region name.
        table: `namespace:table`, without the default namespace.
        sequence_id: the sequence id of the edit.
        write_time: ms since the epoch, as stored; a damaged one may be no instant (`is_instant`).
        scopes: the replication scope by family at the time of the edit; families without a scope are absent.
        cells: the number of cells that follow.
        clusters: the number of other clusters that the edit has passed through.
    """

    region: bytes
    table: str
    sequence_id: int
    write_time: int
    scopes: Mapping[bytes, int]
    cells: int
    clusters: int


def parse_wal_key(data: bytes, dictionaries: Dictionaries | None) -> WalKey:
    """Parses a key.

    Args:
        data: the message.
        dictionaries: the dictionaries of a compressed file; None for an uncompressed file.

    Raises:
        CutOffError: a field is longer than the message.
        MalformedError: the message is not a key.
    """
    region = table = None
    numbers: dict[int, int] = {}
    scopes: list[tuple[bytes, int]] = []
    attributes: list[bytes] = []
    clusters = 0
    pos, end = 0, len(data)
    while pos < end:
        tag = data[pos]
        if tag in {0x18, 0x20, 0x38}:
            numbers[tag >> 3], pos = varint(data, pos + 1, end)
            continue
        if tag not in {0x0A, 0x12, 0x32, 0x42, 0x62}:
            pos = _other(data, pos, end)
            continue
        size, begin = varint(data, pos + 1, end)
        pos = begin + size
        if pos > end:
            raise CutOffError("a key ends inside a field")
        part = data[begin:pos]
        if tag == 0x0A:
            region = part
        elif tag == 0x12:
            table = part
        elif tag == 0x32:
            scopes.append(_scope(part))
        elif tag == 0x42:
            clusters += 1
        else:
            attributes.append(part)
    if region is None or table is None or 3 not in numbers or 4 not in numbers:
        raise MalformedError("a key without region, table, sequence id or write time")
    if dictionaries is not None:
        region, table = dictionaries.region.item_of(region), dictionaries.table.item_of(table)
        scopes = [(dictionaries.family.item_of(family), scope) for family, scope in scopes]
        _attributes(attributes, dictionaries.table)
    sequence_id, write_time = signed_int64(numbers[3]), signed_int64(numbers[4])
    cells = numbers.get(7, 0) & 0xFFFFFFFF
    return WalKey(region, _name(table), sequence_id, write_time, dict(scopes), cells, clusters)


@lru_cache(1024)
def _name(table: bytes) -> str:
    return table.decode("utf-8", errors="replace")


def _other(data: bytes, pos: int, end: int) -> int:
    """Skips a field that is not needed here and returns the position after it."""
    tag, begin = varint(data, pos, end)
    kind = tag & 7
    if kind == VARINT:
        return varint(data, begin, end)[1]
    size, begin = varint(data, begin, end) if kind == LENGTH else ({1: 8, 5: 4}.get(kind, -1), begin)
    if size < 0 or tag < 8:
        raise MalformedError(f"tag {tag} in a key")
    if size > end - begin:
        raise CutOffError("a key ends inside a field")
    return begin + size


@lru_cache(1024)  # every entry has the same few scopes
def _scope(part: bytes) -> tuple[bytes, int]:
    family, scope = None, None
    for number, kind, value in fields(part, 0, len(part)):
        if number == 1 and kind == LENGTH and isinstance(value, bytes):
            family = value
        elif number == 2 and kind == VARINT and value in _SCOPES and isinstance(value, int):
            scope = value
    if family is None or scope is None:
        raise MalformedError("a replication scope without family or type")
    return family, scope


def _attributes(parts: list[bytes], dictionary: LruDictionary) -> None:
    """Reads attribute values, because they are items of the table dictionary and change its order."""
    for part in parts:
        for number, kind, value in fields(part, 0, len(part)):
            if number == 2 and kind == LENGTH and isinstance(value, bytes):
                dictionary.item_of(value)
