"""Decodes the cells of an entry in both HBase formats (`KeyValueCodecWithTags`, `WALCellCodec.CompressedKvDecoder`)."""

import struct
import zlib
from typing import Protocol

from pipelines.common.errors import MalformedError
from pipelines.hbase.protobuf_wire import CutOffError
from pipelines.hbase.wal_format.dictionary import Dictionaries
from pipelines.hbase.wal_format.header import WalHeader
from pipelines.hbase.wal_format.window import LARGEST, FileWindow

META_FAMILY = b"METAFAMILY"
"""The family of the cells that HBase writes for its own use: flushes, compactions, bulk loads, markers."""
_HEAD = struct.Struct(">iiiH")  # length of the cell, of its key, of its value, of its row
_HEAD_SIZE = 14
_LENGTHS = 8  # length fields of key and value, which count as part of the cell
_KEY_FRAME = 12  # the rest of a key besides row, family and qualifier: their lengths, timestamp, type
_LARGEST_KEY_PART = 40_000  # head, row and family of a cell: at most 14 + 32767 + 1 + 255 bytes
_STAMP = 9  # timestamp and type
_GZIP = 31  # zlib's window-bits value for a gzip member
INFLATABLE = (None, "NONE", "GZ")
"""Value compressions that this reader can decompress; it skips values that are compressed otherwise."""


class CellVisitor(Protocol):
    """A callback that receives each cell."""

    def __call__(
        self, row: bytes, family: bytes, qualifier: bytes, stamp: bytes, value_length: int, value: bytes | None, /
    ) -> None:
        """Receives one cell.

        Args:
            row: the row key.
            family: the column family.
            qualifier: the column qualifier.
            stamp: eight bytes with the timestamp, then one byte with the type.
            value_length: the number of bytes of the uncompressed value.
            value: the value, for cells of `META_FAMILY` and, if the reader was made with `values`, for all cells; else
                None. None also if the compression is not in `INFLATABLE`.
        """
        ...


class CellDecoder(Protocol):
    """Reads the cells of one entry."""

    def read(self, count: int, visit: CellVisitor) -> None:
        """Reads `count` cells and passes each to `visit`.

        Raises:
            CutOffError: the file ends before the end of the last cell.
            MalformedError: the bytes are not cells.
        """
        ...


class PlainCells:
    """Decodes uncompressed cells: a length, then a KeyValue."""

    def __init__(self, window: FileWindow, *, values: bool) -> None:
        self._window = window
        self._values = values

    def read(self, count: int, visit: CellVisitor) -> None:
        """See `CellDecoder.read`."""
        window, values = self._window, self._values
        data, pos = window.data, window.pos
        for _ in range(count):
            if len(data) - pos < _LARGEST_KEY_PART:
                window.pos = pos
                window.have(_LARGEST_KEY_PART)
                data, pos = window.data, window.pos
                if len(data) - pos < _HEAD_SIZE:
                    raise CutOffError("the file ends inside a cell")
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
    """Decodes cells of a compressed WAL: names are in dictionaries, tags and values have their own compression."""

    def __init__(self, window: FileWindow, dictionaries: Dictionaries, header: WalHeader, *, values: bool) -> None:
        self._window = window
        self._names = dictionaries
        self._header = header
        self._values = values

    def read(self, count: int, visit: CellVisitor) -> None:
        """See `CellDecoder.read`."""
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
        """Skips tags, but adds them to the dictionary (`TagCompressionContext.uncompressTags`)."""
        if not self._header.compressed_tags:
            self._window.skip(length)
            return
        read = 0
        while read < length:
            read += 2 + len(self._names.tags.item(self._window))


def _check_lengths(length: int, key_length: int, value_length: int, row_length: int, family_length: int) -> None:
    """Checks the lengths of a cell as `KeyValueUtil.checkKeyValueBytes` does.

    Raises:
        MalformedError: the lengths contradict each other.
    """
    if (
        value_length < 0
        or not row_length + family_length + _KEY_FRAME <= key_length <= LARGEST
        or length < _LENGTHS + key_length + value_length
    ):
        raise MalformedError(
            f"not a cell: {length} bytes, with {key_length} of key and {value_length} of value; "
            f"row {row_length}, family {family_length}"
        )


def _inflated(data: bytes, length: int, algorithm: str | None) -> bytes:
    """Decompresses one value, which is a separate gzip stream.

    Raises:
        MalformedError: the value cannot be decompressed, or has another length.
    """
    if algorithm != "GZ" or not length:
        return data[:length]
    try:
        value = zlib.decompressobj(_GZIP).decompress(data, length)
    except zlib.error as error:
        raise MalformedError(f"a value cannot be decompressed: {error}") from None
    if len(value) != length:
        raise MalformedError(f"a value of {length} bytes has {len(value)} bytes after decompression")
    return value
