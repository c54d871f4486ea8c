"""Reads protobuf's wire format, as far as HBase's WAL files and znodes use it; nothing here writes messages."""

from collections.abc import Iterator

from pipelines.common.errors import MalformedError

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_FIXED = {FIXED64: 8, FIXED32: 4}
_VARINT_BITS = 64


class CutOffError(MalformedError):
    """The data end inside a field or a number; HBase's readers throw an EOFException there."""


def varint(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """Reads an unsigned 64-bit number and returns it with the position after it.

    Raises:
        CutOffError: the message ends inside the number.
        MalformedError: the number has more than ten bytes.
    """
    value = 0
    for shift in range(0, _VARINT_BITS + 6, 7):
        if pos >= end:
            raise CutOffError("a protobuf message ends inside a number")
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, pos
    raise MalformedError("a varint in a protobuf message has more than ten bytes")


def signed_int64(value: int) -> int:
    """Converts a varint to the int64 that it encodes."""
    return value if value < 1 << 63 else value - (1 << 64)


def fields(data: bytes, pos: int, end: int) -> Iterator[tuple[int, int, int | bytes]]:
    """Yields the fields of a message in order: number, wire type, value (an int for VARINT, else bytes).

    Raises:
        CutOffError: the message ends inside a field.
        MalformedError: the data are not a message.
    """
    while pos < end:
        tag, pos = varint(data, pos, end)
        number, kind = tag >> 3, tag & 7
        value: int | bytes
        if kind == VARINT:
            value, pos = varint(data, pos, end)
        else:
            if kind == LENGTH:
                size, pos = varint(data, pos, end)
            elif kind in _FIXED:
                size = _FIXED[kind]
            else:
                raise MalformedError(f"wire type {kind} in a protobuf message")
            if size > end - pos:
                raise CutOffError("a protobuf message ends inside a field")
            value = data[pos : pos + size]
            pos += size
        if number == 0:
            raise MalformedError("field 0 in a protobuf message")
        yield number, kind, value
