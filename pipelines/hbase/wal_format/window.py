"""A stream of bytes with a cursor: what is needed next is in memory, what is behind is let go."""

from collections.abc import Callable

from pipelines.common.errors import MalformedError
from pipelines.hbase.protobuf_wire import CutOffError

BLOCK = 1 << 20
"""Bytes read at a time."""
LARGEST = 64 << 20
"""Nothing that must be in memory whole (a key, a row, a qualifier) is larger; a value is passed over unread."""
_VARINT_BITS = 64


class Window:
    """The bytes of one file from `read`, which gives at most as many as asked for, and none at the end.

    Attributes:
        data: what is in memory.
        pos: where the cursor is in `data`; decoders may take both as locals and write `pos` back.
    """

    __slots__ = ("_base", "_ended", "_read", "data", "pos")

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._base = 0
        self._ended = False
        self.data = b""
        self.pos = 0

    @property
    def offset(self) -> int:
        """Bytes from the start of the file to the cursor."""
        return self._base + self.pos

    @property
    def length(self) -> int | None:
        """Bytes of the file; None while its end has not been seen."""
        return self._base + len(self.data) if self._ended else None

    def have(self, count: int) -> bool:
        """Whether `count` bytes follow; they are in memory then, and when not, all that follow are."""
        missing = count - (len(self.data) - self.pos)
        if missing <= 0:
            return True
        if self._ended:
            return False
        if count > LARGEST:
            raise MalformedError(f"{count} bytes in one piece at {self.offset}, which no WAL holds")
        pieces = [self.data[self.pos :]]
        while missing > 0 and (piece := self._more(max(missing, BLOCK))):
            pieces.append(piece)
            missing -= len(piece)
        self._base += self.pos
        self.data, self.pos = b"".join(pieces), 0
        return missing <= 0

    def need(self, count: int) -> None:
        """Have `count` bytes in memory.

        Raises:
            CutOffError: the file ends before.
        """
        if not self.have(count):
            raise CutOffError(f"the file ends at {self._base + len(self.data)}, inside of an entry")

    def take(self, count: int) -> bytes:
        """The next bytes.

        Raises:
            CutOffError: the file ends before.
        """
        self.need(count)
        begin = self.pos
        self.pos = begin + count
        return self.data[begin : self.pos]

    def skip(self, count: int) -> None:
        """Pass over bytes without keeping them.

        Raises:
            CutOffError: the file ends before.
        """
        missing = count - (len(self.data) - self.pos)
        if missing <= 0:
            self.pos += count
            return
        self._base += len(self.data)
        self.data, self.pos = b"", 0
        while missing > 0 and (piece := self._more(min(missing, BLOCK))):
            self._base += len(piece)
            missing -= len(piece)
        if missing > 0:
            raise CutOffError(f"the file ends at {self._base}, inside of an entry")

    def _more(self, count: int) -> bytes:
        piece = b"" if self._ended else self._read(count)
        self._ended = not piece
        return piece

    def byte(self) -> int:
        """The next byte.

        Raises:
            CutOffError: there is none.
        """
        if self.pos >= len(self.data):
            self.need(1)
        self.pos += 1
        return self.data[self.pos - 1]

    def varint(self) -> int:
        """A length as protobuf writes it (`readRawVarint32`: the upper bits are cut off).

        Raises:
            CutOffError: the file ends inside.
            MalformedError: it has no end, or is negative.
        """
        value = self.byte()
        if value < 0x80:
            return value
        value &= 0x7F
        for shift in range(7, _VARINT_BITS, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                value &= 0xFFFFFFFF
                if value >= 1 << 31:
                    break
                return value
        raise MalformedError(f"not a length at {self.offset}")
