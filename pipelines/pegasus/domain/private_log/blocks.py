"""Reads the blocks of a private log one at a time (`src/replica/log_file.cpp`, `log_block.cpp`).

A block is a header of 16 bytes and a body. Its CRC-32C continues that of the previous block and is stored in the
header. So each block can be checked with the previous header alone, and one bad block does not invalidate the rest.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import google_crc32c

from pipelines.pegasus.domain.encryption import is_encrypted

Read: TypeAlias = Callable[[int], bytes]
MAGIC = b"\xef\xbe\xad\xde"
BLOCK_HEADER = struct.Struct("<4siII")
"""Magic, length of the body, CRC, offset."""
_NO_BODY = 64 << 20
ENCRYPTED = "it is encrypted (encrypt_data_at_rest)"
"""The problem of the first block of an encrypted log."""


class LogEnd(StrEnum):
    """How a private log ends."""

    WHOLE = "WHOLE"
    """It ends after a whole block."""
    TORN = "TORN"
    """It ends inside its last block: it was copied while it was written, or its server died. Writes are missing."""
    NO_HEADER = "NO_HEADER"
    """It ends inside its first block."""
    CORRUPT = "CORRUPT"
    """Some of its bytes are not a block, a CRC is wrong, or a block contains something that is not a mutation."""
    UNREADABLE = "UNREADABLE"
    """The file system could not read it."""


@dataclass(frozen=True, slots=True)
class LogBlock:
    """One block.

    Attributes:
        offset: the offset of the block's header in the file.
        body: the bytes of the body; empty when they are bad.
        problem: what is wrong with the block; None = its CRC is right.
        last: whether nothing after the block can be read.
        torn: whether the file ends inside the block.
    """

    offset: int
    body: bytes
    problem: str | None = None
    last: bool = False
    torn: bool = False


def crc32c(data: bytes, before: int = 0) -> int:
    """Returns the CRC-32C of some bytes; `before` is the CRC of the bytes that precede them."""
    return int(google_crc32c.extend(before, data))


def blocks(read: Read) -> Iterator[LogBlock]:
    """Yields every block of a log in order. Bad contents never raise an error.

    Args:
        read: a function that returns up to the given number of bytes: fewer only before the end of the log, none at the
            end.
    """
    offset, sums = 0, {0}
    while True:
        header = _whole(read, BLOCK_HEADER.size)
        if not header:
            return
        if len(header) < BLOCK_HEADER.size:
            if MAGIC[: len(header)] == header[: len(MAGIC)]:
                yield LogBlock(offset, b"", torn=True, last=True)
            else:
                yield LogBlock(
                    offset, b"", f"the {len(header)} bytes at {offset} are not the header of a block", last=True
                )
            return
        magic, length, stored, _ = BLOCK_HEADER.unpack(header)
        if magic != MAGIC or not 0 < length <= _NO_BODY:
            if offset == 0 and is_encrypted(header):
                yield LogBlock(offset, b"", ENCRYPTED, last=True)
                return
            said = "no block begins" if magic != MAGIC else f"a block of {length} bytes cannot be"
            yield LogBlock(offset, b"", f"{said} at {offset}", last=True)
            return
        body = _whole(read, length)
        if len(body) < length:
            if _holds_blocks(body):
                yield LogBlock(
                    offset,
                    b"",
                    f"the block at {offset} reaches beyond the end of the file and contains other blocks",
                    last=True,
                )
            else:
                yield LogBlock(offset, b"", torn=True, last=True)
            return
        found = {crc32c(body, before) for before in sums}
        if stored in found:
            sums = {stored}
            yield LogBlock(offset, body)
        else:  # the body or the stored CRC is damaged: the next block's CRC shows which of the two it continues
            sums = {stored, *found}
            yield LogBlock(offset, b"", f"the CRC of the block at {offset} is wrong")
        offset += BLOCK_HEADER.size + length


def _holds_blocks(body: bytes) -> bool:
    """Returns whether these bytes contain a whole block. The magic alone proves nothing: it may be user data."""
    place = body.find(MAGIC, 1)  # the log's own header begins with the same magic
    while place >= 0:
        length = int.from_bytes(body[place + 4 : place + 8], "little", signed=True)
        end = place + BLOCK_HEADER.size + length
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
