"""The cells of an entry, in both of HBase's forms (`KeyValueCodecWithTags`, `WALCellCodec.CompressedKvDecoder`)."""

import struct
import zlib
from typing import Protocol

from pipelines.common.errors import MalformedError
from pipelines.hbase.protobuf_wire import CutOffError
from pipelines.hbase.wal_format.dictionary import Dictionaries
from pipelines.hbase.wal_format.header import WalHeader
from pipelines.hbase.wal_format.window import LARGEST, Window

META_FAMILY = b"METAFAMILY"
"""Family of the cells that HBase writes for itself: flushes, compactions, bulk loads, markers."""
_HEAD = struct.Struct(">iiiH")  # length of the cell, of its key, of its value, of its row
_HEAD_SIZE = 14
_LENGTHS = 8  # of key and value: inside of the cell
_KEY_FRAME = 12  # of a key around row, family and qualifier: their lengths, timestamp, type
_LARGEST_KEY_PART = 40_000  # head, row and family of a cell: at most 14 + 32767 + 1 + 255 bytes
_STAMP = 9  # timestamp and type
_GZIP = 31  # zlib's word for "a gzip member"
INFLATABLE = (None, "NONE", "GZ")
"""Value compressions whose values can be looked into; values of all others are passed over."""


class Visit(Protocol):
    """Whoever wants to see the cells."""

    def __call__(
        self, row: bytes, family: bytes, qualifier: bytes, stamp: bytes, value_length: int, value: bytes | None, /
    ) -> None:
        """One cell.

        Args:
            row: its row.
            family: its family.
            qualifier: its qualifier.
            stamp: eight bytes of timestamp, one of type.
            value_length: bytes of the value, uncompressed.
            value: given for cells of `META_FAMILY`, and for all of a reader with `values`; None where it is compressed
                by something else than `INFLATABLE`.
        """
        ...


class CellDecoder(Protocol):
    """Reads the cells of one entry."""

    def read(self, count: int, visit: Visit) -> None:
        """Read so many cells.

        Raises:
            CutOffError: the file ends before.
            MalformedError: not cells.
        """
        ...


class PlainCells:
    """Cells as they are: a length, then a KeyValue."""

    def __init__(self, window: Window, *, values: bool) -> None:
        self._window = window
        self._values = values

    def read(self, count: int, visit: Visit) -> None:
        """See `CellDecoder`."""
        window, values = self._window, self._values
        data, pos = window.data, window.pos
        for _ in range(count):
            if len(data) - pos < _LARGEST_KEY_PART:
                window.pos = pos
                window.have(_LARGEST_KEY_PART)
                data, pos = window.data, window.pos
                if len(data) - pos < _HEAD_SIZE:
                    raise CutOffError("the file ends inside of a cell")
            length, key_length, value_length, row_length = _HEAD.unpack_from(data, pos)
            row_end = pos + _HEAD_SIZE + row_length
            key_end = pos + 4 + _LENGTHS + key_length
            if key_end > len(data):  # a long qualifier, or the end of the file
                window.pos = pos
                _check_lengths(length, key_length, value_length, row_length, 0)
                window.need(key_end - pos)
                row_end, key_end = row_end - pos + window.pos, key_end - pos + window.pos
                data, pos = window.data, window.pos
            family_length = data[row_end] if row_end < key_end else 0
            if (
                value_length < 0
                or key_length < row_length + family_length + _KEY_FRAME
                or length < _LENGTHS + key_length + value_length
            ):
                _check_lengths(length, key_length, value_length, row_length, family_length)
            family_end = row_end + 1 + family_length
            row = data[pos + _HEAD_SIZE : row_end]
            family = data[row_end + 1 : family_end]
            qualifier = data[family_end : key_end - _STAMP]
            stamp = data[key_end - _STAMP : key_end]
            value = None
            if values or family == META_FAMILY:
                window.pos = pos
                window.need(_LENGTHS + 4 + key_length + value_length)
                data, pos = window.data, window.pos
                begin = pos + 4 + _LENGTHS + key_length
                value = data[begin : begin + value_length]
            following = pos + 4 + length
            if following <= len(data):
                pos = following
            else:
                window.pos = pos
                window.skip(4 + length)
                data, pos = window.data, window.pos
            visit(row, family, qualifier, stamp, value_length, value)
        window.pos = pos


class CompressedCells:
    """Cells whose names are in dictionaries, tags and values compressed in their own way."""

    def __init__(self, window: Window, dictionaries: Dictionaries, header: WalHeader, *, values: bool) -> None:
        self._window = window
        self._names = dictionaries
        self._header = header
        self._values = values

    def read(self, count: int, visit: Visit) -> None:
        """See `CellDecoder`."""
        window, names = self._window, self._names
        take, varint = window.take, window.varint
        row_item, family_item, qualifier_item = names.row.item, names.family.item, names.qualifier.item
        algorithm = self._header.value_algorithm
        for _ in range(count):
            _key_length, value_length, tags_length = varint(), varint(), varint()
            row, family, qualifier = row_item(window), family_item(window), qualifier_item(window)
            stamp = take(_STAMP)
            size = value_length if algorithm is None else varint()
            value = None
            if (self._values or family == META_FAMILY) and algorithm in INFLATABLE:
                value = _inflated(take(size), value_length, algorithm)
            else:
                window.skip(size)
            if tags_length:
                self._tags(tags_length)
            visit(row, family, qualifier, stamp, value_length, value)

    def _tags(self, length: int) -> None:
        """Pass over tags; the dictionary must see them (`TagCompressionContext.uncompressTags`)."""
        if not self._header.compressed_tags:
            self._window.skip(length)
            return
        read = 0
        while read < length:
            read += 2 + len(self._names.tags.item(self._window))


def _check_lengths(length: int, key_length: int, value_length: int, row_length: int, family_length: int) -> None:
    """What `KeyValueUtil.checkKeyValueBytes` says of lengths.

    Raises:
        MalformedError: they contradict each other.
    """
    if (
        value_length < 0
        or not row_length + family_length + _KEY_FRAME <= key_length <= LARGEST
        or length < _LENGTHS + key_length + value_length
    ):
        raise MalformedError(
            f"not a cell: {length} bytes, of them {key_length} of key and {value_length} of value; "
            f"row {row_length}, family {family_length}"
        )


def _inflated(data: bytes, length: int, algorithm: str | None) -> bytes:
    """One value; each is a stream of its own."""
    if algorithm != "GZ" or not length:
        return data[:length]
    try:
        value = zlib.decompressobj(_GZIP).decompress(data, length)
    except zlib.error as error:
        raise MalformedError(f"a value cannot be inflated: {error}") from None
    if len(value) != length:
        raise MalformedError(f"a value of {length} bytes inflates to {len(value)}")
    return value
