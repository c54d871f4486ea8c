"""The little of Protocol Buffers' wire format that HBase's znodes use, read by hand: numbers and byte strings."""

from collections.abc import Iterator, Mapping

from pipelines.domain.errors import MalformedError
from pipelines.domain.server_names import MAX_LONG

MAGIC = b"PBUF"
"""What HBase puts before a message in a znode (`ProtobufMagic`)."""
_METADATA, _METADATA_HEAD = b"\xff", 5
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}
_LONGEST_VARINT = 10
_MASK = (1 << 64) - 1
Value = int | bytes
"""A varint as an unsigned number of 64 bits; everything else as bytes."""


def without_metadata(data: bytes) -> bytes:
    """A znode's data without what HBase's `RecoverableZooKeeper` puts before them (`ZKMetadata.removeMetaData`).

    That is 0xFF, the size of an identifier of the writer, and the identifier; empty data have none.

    Raises:
        MalformedError: the identifier is longer than the data.
    """
    if data[:1] != _METADATA:
        return data
    size = int.from_bytes(data[1:_METADATA_HEAD], "big", signed=True)
    if not 0 <= size <= len(data) - _METADATA_HEAD:
        raise MalformedError(f"the writer's identifier is cut off: {data[:80]!r}")
    return data[_METADATA_HEAD + size :]


def message(data: bytes) -> Mapping[int, tuple[Value, ...]]:
    """All values of a message by field number, in order of appearance.

    Raises:
        MalformedError: truncated, or no message: where protobuf throws InvalidProtocolBufferException.
    """
    found: dict[int, tuple[Value, ...]] = {}
    for number, value in _fields(data):
        found[number] = (*found.get(number, ()), value)
    return found


def delimited(data: bytes) -> Iterator[bytes]:
    """Messages that stand one behind the other, the size of each before it (`writeDelimitedTo`).

    Raises:
        MalformedError: truncated.
    """
    at = 0
    while at < len(data):
        size, at = _varint(data, at)
        yield _cut(data, at, size)
        at += size


def signed(value: int) -> int:
    """A varint as the int64 it stands for."""
    return value if value <= MAX_LONG else value - (1 << 64)


def number(fields: Mapping[int, tuple[Value, ...]], field: int) -> int | None:
    """The last number of a field, as protobuf takes it; None = absent, or of another type."""
    numbers = [value for value in fields.get(field, ()) if isinstance(value, int)]
    return numbers[-1] if numbers else None


def text(fields: Mapping[int, tuple[Value, ...]], field: int) -> str | None:
    """The last text of a field; None = absent.

    Raises:
        MalformedError: not UTF-8.
    """
    texts = [value for value in fields.get(field, ()) if isinstance(value, bytes)]
    if not texts:
        return None
    try:
        return texts[-1].decode("utf-8")
    except UnicodeDecodeError:
        raise MalformedError(f"field {field} is not UTF-8: {texts[-1][:80]!r}") from None


def _fields(data: bytes) -> Iterator[tuple[int, Value]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        field, kind = tag >> 3, tag & 7
        if field == 0:
            raise MalformedError("field 0 in a message")
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield field, value
            continue
        if kind == _BYTES:
            size, at = _varint(data, at)
        elif kind in _FIXED_SIZES:
            size = _FIXED_SIZES[kind]
        else:
            raise MalformedError(f"field {field} has wire type {kind}, which no znode of HBase has")
        yield field, _cut(data, at, size)
        at += size


def _cut(data: bytes, at: int, size: int) -> bytes:
    if size > len(data) - at:
        raise MalformedError("the message ends in the middle of a field")
    return data[at : at + size]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at a place, and the place behind it."""
    value = 0
    for index in range(_LONGEST_VARINT):
        if at + index >= len(data):
            raise MalformedError("the message ends in the middle of a number")
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & _MASK, at + index + 1
    raise MalformedError("a number of more than ten bytes")
