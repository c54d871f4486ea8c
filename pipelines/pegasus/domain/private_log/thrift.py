"""Reads the part of thrift's binary protocol that requests in a private log use.

Pegasus declares `dsn.blob` as a struct but writes it as a length and bytes, without fields, which thrift libraries
cannot read. So the caller must say which fields are blobs.
"""

import struct
from collections.abc import Callable
from typing import Any, TypeAlias

from pipelines.common.errors import MalformedError

STOP, BOOL, BYTE, DOUBLE, I16, I32, I64, STRING, STRUCT, LIST = 0, 2, 3, 4, 6, 8, 10, 11, 12, 15
_NUMBERS = {
    BOOL: struct.Struct(">b"),
    BYTE: struct.Struct(">b"),
    DOUBLE: struct.Struct(">d"),
    I16: struct.Struct(">h"),
    I32: struct.Struct(">i"),
    I64: struct.Struct(">q"),
}
Value: TypeAlias = Any


class ThriftReader:
    """Reads one buffer from the beginning to the end.

    Every method raises MalformedError if the buffer does not have the expected content.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def blob(self) -> bytes:
        """Reads a blob: a length and bytes."""
        length = int(self.number(I32))
        end = self._place + length
        if length < 0 or end > len(self._data):
            raise MalformedError(f"a blob of {length} bytes at {self._place}")
        found = self._data[self._place : end]
        self._place = end
        return found

    def number(self, kind: int) -> int | float:
        """Reads a number of the thrift type `kind`."""
        form = _NUMBERS[kind]
        try:
            (value,) = form.unpack_from(self._data, self._place)
        except struct.error as error:
            raise MalformedError(f"the request ends at {self._place}") from error
        self._place += form.size
        return value  # type: ignore[no-any-return]  # struct does not say of which type

    def fields(self, known: "dict[int, Kind]") -> dict[int, Value]:
        """Reads a struct's fields up to its stop byte; `known` has the readers of struct and list fields."""
        found: dict[int, Value] = {}
        while True:
            kind = int(self.number(BYTE))
            if kind == STOP:
                return found
            name = int(self.number(I16))
            found[name] = self._value(kind, known.get(name))

    def items(self, kind: "Kind") -> list[Value]:
        """Reads a list, whose elements `kind` reads."""
        self.number(BYTE)
        count = int(self.number(I32))
        if not 0 <= count <= len(self._data):
            raise MalformedError(f"a list of {count}")
        return [kind(self) for _ in range(count)]

    def end(self) -> None:
        """Checks that the buffer has been read to its end."""
        if self._place != len(self._data):
            raise MalformedError(f"{len(self._data) - self._place} bytes follow the end of the request")

    def _value(self, kind: int, known: "Kind | None") -> Value:
        if known is not None:
            if kind in {STRUCT, LIST} or (kind == STRING and known is ThriftReader.blob):
                return known(self)
        elif kind in _NUMBERS:
            return self.number(kind)
        elif kind == STRING:
            return self.blob()
        raise MalformedError(f"a field of thrift type {kind} at {self._place}")


Kind: TypeAlias = Callable[[ThriftReader], Value]
"""Reads one value."""
