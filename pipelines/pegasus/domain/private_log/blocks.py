"""The blocks of a private log, one at a time (`src/replica/log_file.cpp`, `log_block.cpp`).

A block is 16 bytes of header and a body. Its CRC-32C goes on from that of the block before, and the header holds it: so
each block can be checked with the header before it alone, and one bad block does not condemn the rest.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from pipelines.pegasus.domain.encryption import is_encrypted

Read: TypeAlias = Callable[[int], bytes]
Checksum: TypeAlias = Callable[[bytes, int], int]
"""CRC-32C: (bytes, sum of what stands before them) → sum."""
MAGIC = b"\xef\xbe\xad\xde"
_HEADER = struct.Struct("<4siiI")
_NO_BODY = 64 << 20
ENCRYPTED = "it is encrypted (encrypt_data_at_rest)"
"""The problem of such a log's first block."""


class Ending(str, Enum):
    """How a private log ends."""

    WHOLE = "WHOLE"
    """Behind a block."""
    TORN = "TORN"
    """Inside of its last block: normal for a log that was being written; what is missing was never acknowledged."""
    NO_HEADER = "NO_HEADER"
    """Inside of its first block."""
    CORRUPT = "CORRUPT"
    """Something in it is no block, has a wrong CRC, or holds something that is no mutation."""
    UNREADABLE = "UNREADABLE"
    """The file system did not give it."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block.

    Attributes:
        offset: in the file, of its header.
        body: its bytes; empty when they are bad.
        problem: what is wrong with it; None = its CRC is right.
        last: nothing behind it can be read.
        torn: the file ends inside of it.
    """

    offset: int
    body: bytes
    problem: str | None = None
    last: bool = False
    torn: bool = False


def blocks(read: Read, checksum: Checksum) -> Iterator[Block]:
    """Every block of a log, in order; never raises for the log's sake.

    Args:
        read: gives so many bytes, fewer only before the end, none there.
        checksum: CRC-32C.
    """
    offset, sums = 0, {0}
    while True:
        header = _whole(read, _HEADER.size)
        if not header:
            return
        if len(header) < _HEADER.size:
            if MAGIC[: len(header)] == header[: len(MAGIC)]:
                yield Block(offset, b"", torn=True, last=True)
            else:
                yield Block(offset, b"", f"{len(header)} bytes at {offset} begin no block", last=True)
            return
        magic, length, stored, _ = _HEADER.unpack(header)
        if magic != MAGIC or not 0 < length <= _NO_BODY:
            if offset == 0 and is_encrypted(header):
                yield Block(offset, b"", ENCRYPTED, last=True)
                return
            said = "no block begins" if magic != MAGIC else f"a block of {length} bytes cannot be"
            yield Block(offset, b"", f"{said} at {offset}", last=True)
            return
        body = _whole(read, length)
        if len(body) < length:
            if _holds_blocks(body):
                yield Block(offset, b"", f"the block at {offset} reaches beyond the end, with others in it", last=True)
            else:
                yield Block(offset, b"", torn=True, last=True)
            return
        stored &= 0xFFFFFFFF
        found = {checksum(body, before) for before in sums}
        if stored in found:
            sums = {stored}
            yield Block(offset, body)
        else:  # either the body is damaged or the sum: the next block shows, by which of them it goes on
            sums = {stored, *found}
            yield Block(offset, b"", f"the CRC of the block at {offset} is wrong")
        offset += _HEADER.size + length


def _holds_blocks(body: bytes) -> bool:
    """Whether a whole block stands in these bytes; the four bytes that begin one may be a user's own."""
    place = body.find(MAGIC, 1)  # the header of the log itself begins with the same four
    while place >= 0:
        length = int.from_bytes(body[place + 4 : place + 8], "little", signed=True)
        end = place + _HEADER.size + length
        if length > 0 and (end == len(body) or body[end : end + len(MAGIC)] == MAGIC):
            return True
        place = body.find(MAGIC, place + 1)
    return False


def _whole(read: Read, count: int) -> bytes:
    pieces = []
    while count:
        piece = read(count)
        if not piece:
            break
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)
