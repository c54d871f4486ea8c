"""Reads the encoding of HBase's znodes: metadata, and protobuf messages as numbers and byte strings."""

from collections.abc import Mapping

from pipelines.common.errors import MalformedError
from pipelines.hbase.protobuf_wire import fields

MAGIC = b"PBUF"
"""The prefix that HBase puts before a message in a znode (`ProtobufMagic`)."""
_METADATA, _METADATA_HEAD = b"\xff", 5
Value = int | bytes
"""The value of a field: a varint as an unsigned 64-bit number, every other type as bytes."""


def without_metadata(data: bytes) -> bytes:
    """Returns a znode's data without the prefix of HBase's `RecoverableZooKeeper` (`ZKMetadata.removeMetaData`).

    The prefix is 0xFF, the length of an identifier of the writer, and the identifier; empty data have no prefix.

    Raises:
        MalformedError: the identifier is longer than the data.
    """
    if data[:1] != _METADATA:
        return data
    size = int.from_bytes(data[1:_METADATA_HEAD], "big", signed=True)
    if not 0 <= size <= len(data) - _METADATA_HEAD:
        raise MalformedError(f"the writer's identifier is cut off: {data[:80]!r}")
    return data[_METADATA_HEAD + size :]


def fields_by_number(data: bytes) -> Mapping[int, tuple[Value, ...]]:
    """Returns all values of a message by field number, in order of appearance.

    Raises:
        MalformedError: the data are truncated or not a message; protobuf throws InvalidProtocolBufferException.
    """
    found: dict[int, tuple[Value, ...]] = {}
    for number, _, value in fields(data, 0, len(data)):
        found[number] = (*found.get(number, ()), value)
    return found


def last_number(values: Mapping[int, tuple[Value, ...]], field: int) -> int | None:
    """Returns the last number of a field, as protobuf does; None if the field is absent or has another type."""
    numbers = [value for value in values.get(field, ()) if isinstance(value, int)]
    return numbers[-1] if numbers else None


def last_text(values: Mapping[int, tuple[Value, ...]], field: int) -> str | None:
    """Returns the last text of a field; None if the field is absent.

    Raises:
        MalformedError: the text is not UTF-8.
    """
    texts = [value for value in values.get(field, ()) if isinstance(value, bytes)]
    if not texts:
        return None
    try:
        return texts[-1].decode("utf-8")
    except UnicodeDecodeError:
        raise MalformedError(f"field {field} is not UTF-8: {texts[-1][:80]!r}") from None
