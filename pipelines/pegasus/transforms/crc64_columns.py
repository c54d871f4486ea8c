"""CRC-64/NVME of many byte strings at once, in numpy alone.

A CRC is linear: `crc(m) = K[length] XOR L[0][last byte] XOR L[1][the byte before] …`, where `K[n]` is the CRC of n zero
bytes and `L[d][b]` what a byte b does to the register when d more bytes follow. So a column of strings needs one table
look-up for each byte position, over all strings that are long enough, and no step has to wait for the one before.
"""

from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from pipelines.pegasus.domain.crc64 import ALL_ONES, TABLE, crc64

Hashes = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]
BATCH = 16_000
"""Strings at a time: arrays of eight bytes each stay in the processor's caches, and below the 128 KiB from which glibc
gives every array new pages."""
LINEAR_BYTES = 256
"""Longer strings are stepped through byte by byte: tables for each distance would fill the caches."""
_WORD = 8
"""Bytes fetched at a time: one gather for eight of them."""
_BYTE = np.uint64(0xFF)
_EIGHT = np.uint64(8)
_TABLE: Hashes = np.array(TABLE, dtype=np.uint64)


@lru_cache(maxsize=1)
def _distances() -> Hashes:
    """L, a row for each distance from the end."""
    rows = np.empty((LINEAR_BYTES, 256), dtype=np.uint64)
    rows[0] = _TABLE
    for distance in range(1, LINEAR_BYTES):
        before = rows[distance - 1]
        rows[distance] = _TABLE[(before & _BYTE).astype(np.intp)] ^ before >> _EIGHT
    return rows


@lru_cache(maxsize=1)
def _zeros() -> Hashes:
    """K."""
    found, crc = [0], 0
    for _ in range(LINEAR_BYTES):
        crc = crc64(b"\0", crc)
        found.append(crc)
    return np.array(found, dtype=np.uint64)


def crc64_columns(data: Bytes, starts: Offsets, lengths: Offsets) -> Hashes:
    """The CRC of each string.

    Args:
        data: bytes of all strings.
        starts: where each begins in `data`.
        lengths: how many bytes each has, 0 included.
    """
    crcs = np.empty(len(starts), dtype=np.uint64)
    for begin in range(0, len(starts), BATCH):
        part = slice(begin, begin + BATCH)
        _batch(data, starts[part], lengths[part], crcs[part])
    return crcs


def _batch(data: Bytes, starts: Offsets, lengths: Offsets, crcs: Hashes) -> None:
    longest = int(lengths.max(initial=0))
    if longest > LINEAR_BYTES:
        long = lengths > LINEAR_BYTES
        crcs[long] = _stepped(data, starts[long], lengths[long])
        short = ~long
        crcs[short] = _linear(data, starts[short], lengths[short])
    else:
        crcs[:] = _linear(data, starts, lengths)


def _linear(data: Bytes, starts: Offsets, lengths: Offsets) -> Hashes:
    """The strings of at most `LINEAR_BYTES`."""
    shortest, longest = int(lengths.min(initial=LINEAR_BYTES)), int(lengths.max(initial=0))
    order = None
    if shortest < longest:  # longest first, so that those with a byte at some distance are a slice
        order = np.argsort((longest - lengths).astype(np.uint16), kind="stable")
        starts, lengths = starts[order], lengths[order]
    crcs = _zeros().take(lengths)
    words, at = _words(data, starts, starts + lengths)
    alive, tables, size = _alive(lengths, longest), _distances(), len(starts)
    index, term = np.empty(size, np.intp), np.empty(size, np.uint64)
    for distance in range(0, longest, _WORD):
        some = at[: alive[distance]]
        some -= _WORD
        read = words[some].view(np.uint8).reshape(-1, _WORD)
        for place in range(min(_WORD, longest - distance)):
            count = alive[distance + place]
            index[:count] = read[:count, _WORD - 1 - place]
            # no index is out of range; "clip" lets numpy write into `term` without an array of its own in between
            crcs[:count] ^= tables[distance + place].take(index[:count], out=term[:count], mode="clip")
    if order is None:
        return crcs
    placed = np.empty_like(crcs)
    placed[order] = crcs
    return placed


def _words(data: Bytes, starts: Offsets, ends: Offsets) -> tuple[Hashes, Offsets]:
    """Every eight bytes in a row as a word, and where the strings end in them; bytes before a string are whatever."""
    first, last = int(starts.min(initial=len(data))), int(ends.max(initial=0))
    padded = np.empty(_WORD + max(last - first, 0), dtype=np.uint8)
    padded[_WORD:] = data[first:last]
    words = as_strided(padded[:_WORD].view(np.uint64), (len(padded) - _WORD + 1,), (1,))
    return words, ends - first + _WORD


def _alive(lengths: Offsets, longest: int) -> list[int]:
    """How many strings are longer than each distance."""
    counts = np.bincount(lengths, minlength=longest + 1)
    alive: list[int] = (len(lengths) - np.cumsum(counts)).tolist()
    return alive


def _stepped(data: Bytes, starts: Offsets, lengths: Offsets) -> Hashes:
    """Byte by byte, as the definition has it; the longest strings first."""
    order = np.argsort(-lengths, kind="stable")
    at, alive = starts[order], _alive(lengths, int(lengths.max(initial=0)))
    registers = np.full(len(starts), ALL_ONES, dtype=np.uint64)
    for place in range(int(lengths.max(initial=0))):
        some = registers[: alive[place]]
        index = (some ^ data.take(at[: alive[place]] + place)) & _BYTE
        some[:] = _TABLE.take(index.astype(np.intp)) ^ some >> _EIGHT
    placed = np.empty_like(registers)
    placed[order] = registers ^ np.uint64(ALL_ONES)
    return placed
