"""Reads a WAL file from its first byte to the point where HBase would stop."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from pipelines.common.errors import MalformedError
from pipelines.hbase.protobuf_wire import CutOffError
from pipelines.hbase.wal_format.cells import CellDecoder, CellVisitor, CompressedCells, PlainCells
from pipelines.hbase.wal_format.dictionary import Dictionaries
from pipelines.hbase.wal_format.header import (
    LARGEST_HEADER,
    PLAIN_CODEC,
    HeaderDamagedError,
    HeaderEndError,
    WalHeader,
    read_header,
)
from pipelines.hbase.wal_format.wal_key import WalKey, parse_wal_key
from pipelines.hbase.wal_format.window import FileWindow

TRAILER_MAGIC = b"LAWP"
_TRAILER_FRAME = 8
_EMPTY_TRAILER = b"\0\0\0\0" + TRAILER_MAGIC
_LARGEST_TRAILER = 1 << 20


class WalEnd(StrEnum):
    """How a file ends, from the view of replication (`ProtobufWALTailingReader`, `WALEntryStream`)."""

    CLOSED = "CLOSED"
    """It ends with its trailer: the writer closed the file."""
    OPEN = "OPEN"
    """It ends after an entry, without a trailer: the file is still being written, or its writer died."""
    TORN = "TORN"
    """It ends inside an entry or the trailer: the writer died. Readers stop after the last whole entry."""
    NO_HEADER = "NO_HEADER"
    """The file is empty or ends inside its header: replication retries forever (HBase: WALHeaderEOFException).

    A damaged header can look like this, too; see `WalReader.header_damaged`.
    """
    CORRUPT = "CORRUPT"
    """It contains bytes that are not an entry: replication retries forever, or passes over the rest of the file."""
    ENCRYPTED = "ENCRYPTED"
    """The reader read only the header: the cells need the cluster's key."""
    FOREIGN = "FOREIGN"
    """The reader read only the header: the cells use a codec other than HBase's default."""


@dataclass(frozen=True, slots=True)
class WalEntry:
    """One entry.

    Attributes:
        key: the key of the entry.
        start: the offset of the entry's first byte.
        end: the offset after its last byte; replication stores this offset once it has shipped the entry.
    """

    key: WalKey
    start: int
    end: int


class WalReader:
    """Reads one file once.

    Attributes:
        header: the header; None until it is read, or if the file has no header.
        header_damaged: whether a NO_HEADER file is more than what a server leaves that dies while it creates the file;
            then it may hold entries.
        header_end: the offset of the first entry.
        good_end: the offset after the last whole entry; the header's end if there is no entry.
        length: the bytes of the file; None unless the file was read to its end.
        ending: how the file ends; valid once `entries` has ended.
        problem: text that says what is wrong with the file; None if it is CLOSED or OPEN.
    """

    def __init__(self, read: Callable[[int], bytes], *, values: bool = False) -> None:
        self._window = FileWindow(read)
        self._values = values
        self.header: WalHeader | None = None
        self.header_damaged = False
        self.header_end = self.good_end = 0
        self.length: int | None = None
        self.ending = WalEnd.OPEN
        self.problem: str | None = None

    def entries(self, visit: CellVisitor) -> Iterator[WalEntry]:
        """Yields every whole entry in order; `visit` receives the cells of an entry before the entry is yielded.

        It raises only what `read` raises. `ending` and `problem` report an error in the file. `visit` may also have
        received cells of an incomplete entry.
        """
        try:
            self.header = read_header(self._window)
            self.header_end = self.good_end = self._window.offset
            decoder, dictionaries = self._decoder(self.header)
            while decoder is not None and not self._at_end():
                entry = self._entry(decoder, dictionaries, visit)
                self.good_end = entry.end
                yield entry
        except HeaderEndError as error:
            self._ends(WalEnd.NO_HEADER, str(error))
            damaged = isinstance(error, HeaderDamagedError) or self._has_trailer()
            self.header_damaged = damaged or (self._window.length or 0) > LARGEST_HEADER
        except CutOffError as error:
            if self._has_trailer():  # its writer closed it, so it was whole once
                problem = "by its lengths, it reaches past the end of the file, which has its trailer"
                self._ends(WalEnd.CORRUPT, f"the entry at {self.good_end} is broken: {problem}")
            else:
                self._ends(WalEnd.TORN, str(error))
        except MalformedError as error:
            self._ends(WalEnd.CORRUPT, str(error))
        self.length = self._window.length

    def _decoder(self, header: WalHeader) -> tuple[CellDecoder | None, Dictionaries | None]:
        if header.encrypted:
            self._ends(WalEnd.ENCRYPTED, f"its cells are encrypted ({header.codec})")
            return None, None
        if header.codec not in {None, PLAIN_CODEC}:
            self._ends(WalEnd.FOREIGN, f"its cells use the codec {header.codec}, which walsafe does not know")
            return None, None
        if not header.compressed:
            return PlainCells(self._window, values=self._values), None
        dictionaries = Dictionaries()
        return CompressedCells(self._window, dictionaries, header, values=self._values), dictionaries

    def _entry(self, decoder: CellDecoder, dictionaries: Dictionaries | None, visit: CellVisitor) -> WalEntry:
        window = self._window
        start = window.offset
        try:
            message = window.take(window.varint())
        except CutOffError:
            raise
        except MalformedError as error:
            raise MalformedError(f"no entry at {start}: {error}") from None
        try:
            key = parse_wal_key(message, dictionaries)
        except MalformedError as error:  # also a CutOffError: the message is whole, so the file does not end in it
            raise MalformedError(f"no entry at {start}: {error}") from None
        try:
            decoder.read(key.cells, visit)
        except CutOffError:
            raise
        except MalformedError as error:
            raise MalformedError(f"the entry at {start} is broken: {error}") from None
        return WalEntry(key, start, window.offset)

    def _at_end(self) -> bool:
        """Returns whether no entry follows; a trailer, or a part of one, is not an entry."""
        window = self._window
        if window.have(_LARGEST_TRAILER + _TRAILER_FRAME):
            return False
        data, left = window.data, len(window.data) - window.pos
        if left < _TRAILER_FRAME and _EMPTY_TRAILER.startswith(data[window.pos :]):
            if left:
                self._ends(WalEnd.TORN, "the file ends inside its trailer")
            return True
        size = int.from_bytes(data[-_TRAILER_FRAME:-4], "big", signed=True)
        if left == size + _TRAILER_FRAME and data.endswith(TRAILER_MAGIC):
            self.ending = WalEnd.CLOSED
            return True
        return False

    def _has_trailer(self) -> bool:
        """Returns whether the file ends with a trailer, whatever comes before it; False before its end is reached."""
        tail = self._window.tail
        if self._window.length is None or len(tail) < _TRAILER_FRAME or not tail.endswith(TRAILER_MAGIC):
            return False
        return 0 <= int.from_bytes(tail[:4], "big", signed=True) <= _LARGEST_TRAILER

    def _ends(self, ending: WalEnd, problem: str) -> None:
        self.ending, self.problem = ending, problem
