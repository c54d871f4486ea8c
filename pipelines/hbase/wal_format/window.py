"""Gives decoders a stream of bytes with a cursor; only the bytes from the cursor on are kept in memory."""

from collections.abc import Callable

from pipelines.common.errors import MalformedError
from pipelines.hbase.protobuf_wire import CutOffError

BLOCK = 1 << 20
"""The number of bytes in one read."""
LARGEST = 64 << 20
"""The largest piece that must be in memory as a whole (a key, row or qualifier); larger values are skipped unread."""
_VARINT_BITS = 64
_TAIL = 8


class FileWindow:
    """The bytes of one file. `read` returns at most as many bytes as requested, and none at the end of the file.

    Attributes:
        data: the bytes in memory.
        pos: position of the cursor in `data`. Decoders may copy both into local variables and write `pos` back.
        tail: the last eight bytes that were read; at the end of the file, its last eight.
    """

    __slots__ = ("_base", "_ended", "_read", "data", "pos", "tail")

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._base = 0
        self._ended = False
        self.data = b""
        self.pos = 0
        self.tail = b""

    @property
    def offset(self) -> int:
        """Returns the number of bytes from the start of the file to the cursor."""
        return self._base + self.pos

    @property
    def length(self) -> int | None:
        """Returns the number of bytes of the file; None until its end is reached."""
        return self._base + len(self.data) if self._ended else None

    def have(self, count: int) -> bool:
        """Loads `count` bytes after the cursor, and returns whether the file has so many.

        If it has fewer, all are loaded.

        Raises:
            MalformedError: the bytes are not in memory yet and `count` is larger than `LARGEST`.
        """
        missing = count - (len(self.data) - self.pos)
        if missing <= 0:
            return True
        if self._ended:
            return False
        if count > LARGEST:
            raise MalformedError(f"{count} bytes in one piece at {self.offset}, which is too large for a WAL")
        pieces = [self.data[self.pos :]]
        while missing > 0 and (piece := self._more(max(missing, BLOCK))):
            pieces.append(piece)
            missing -= len(piece)
        self._base += self.pos
        self.data, self.pos = b"".join(pieces), 0
        return missing <= 0

    def need(self, count: int) -> None:
        """Loads `count` bytes into memory.

        Raises:
            CutOffError: the file has fewer bytes.
        """
        if not self.have(count):
            raise CutOffError(f"the file ends at {self._base + len(self.data)}, inside an entry")

    def take(self, count: int) -> bytes:
        """Returns the next `count` bytes and moves the cursor after them.

        Raises:
            CutOffError: the file has fewer bytes.
        """
        self.need(count)
        begin = self.pos
        self.pos = begin + count
        return self.data[begin : self.pos]

    def skip(self, count: int) -> None:
        """Moves the cursor over `count` bytes without keeping them.

        Raises:
            CutOffError: the file has fewer bytes.
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
            raise CutOffError(f"the file ends at {self._base}, inside an entry")

    def _more(self, count: int) -> bytes:
        piece = b"" if self._ended else self._read(count)
        self._ended = not piece
        self.tail = (self.tail + piece[-_TAIL:])[-_TAIL:]
        return piece

    def byte(self) -> int:
        """Returns the next byte and moves the cursor after it.

        Raises:
            CutOffError: no byte follows.
        """
        if self.pos >= len(self.data):
            self.need(1)
        self.pos += 1
        return self.data[self.pos - 1]

    def varint(self) -> int:
        """Reads a length as protobuf writes it (`readRawVarint32` drops the upper bits).

        Raises:
            CutOffError: the file ends inside the number.
            MalformedError: the number has more than ten bytes, or is negative.
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
        raise MalformedError(f"no valid length (varint) before byte {self.offset}")
