"""Computes the CRC-64/NVME of many byte strings at once, with numpy only.

A CRC is linear: `crc(m) = K[length] XOR L[0][last byte] XOR L[1][the byte before] …`. `K[n]` is the CRC of n zero
bytes, and `L[d][b]` is the effect of byte b on the register when d more bytes follow. So a column of strings needs one
table look-up for each byte position, over all strings that are long enough, and no step depends on the one before.
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
"""Strings in one batch: arrays of eight bytes each stay in the processor's caches, and below 128 KiB, the size from
which glibc gives every array new pages.
"""
LINEAR_BYTES = 256
"""Longer strings are computed byte by byte, because tables for each distance would fill the caches."""
_WORD = 8
"""Bytes fetched at a time: one gather for eight of them."""
_BYTE = np.uint64(0xFF)
_EIGHT = np.uint64(8)
_TABLE: Hashes = np.array(TABLE, dtype=np.uint64)


@lru_cache(maxsize=1)
def _distances() -> Hashes:
    """Returns the table L, one row for each distance from the end."""
    rows = np.empty((LINEAR_BYTES, 256), dtype=np.uint64)
    rows[0] = _TABLE
    for distance in range(1, LINEAR_BYTES):
        before = rows[distance - 1]
        rows[distance] = _TABLE[(before & _BYTE).astype(np.intp)] ^ before >> _EIGHT
    return rows


@lru_cache(maxsize=1)
def _zeros() -> Hashes:
    """Returns the table K."""
    found, crc = [0], 0
    for _ in range(LINEAR_BYTES):
        crc = crc64(b"\0", crc)
        found.append(crc)
    return np.array(found, dtype=np.uint64)


def crc64_columns(data: Bytes, starts: Offsets, lengths: Offsets) -> Hashes:
    """Returns the CRC of each string.

    Args:
        data: the bytes of all strings.
        starts: the offset in `data` at which each string begins.
        lengths: the number of bytes of each string; may be 0.
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
    """Returns the CRC of each string, by table look-ups; no string may be longer than `LINEAR_BYTES`."""
    shortest, longest = int(lengths.min(initial=LINEAR_BYTES)), int(lengths.max(initial=0))
    order = None
    if shortest < longest:  # longest first, so that the strings with a byte at a given distance are a slice
        order = np.argsort((longest - lengths).astype(np.uint16), kind="stable")
        starts, lengths = starts[order], lengths[order]
    crcs = _zeros().take(lengths)
    words, at = words_before(data, starts, starts + lengths)
    alive, tables, size = _alive(lengths, longest), _distances(), len(starts)
    index, term = np.empty(size, np.intp), np.empty(size, np.uint64)
    for distance in range(0, longest, _WORD):
        some = at[: alive[distance]]
        some -= _WORD
        read = words[some].view(np.uint8).reshape(-1, _WORD)
        for place in range(min(_WORD, longest - distance)):
            count = alive[distance + place]
            index[:count] = read[:count, _WORD - 1 - place]
            # no index is out of range; "clip" lets numpy write into `term` without a temporary array
            crcs[:count] ^= tables[distance + place].take(index[:count], out=term[:count], mode="clip")
    if order is None:
        return crcs
    placed = np.empty_like(crcs)
    placed[order] = crcs
    return placed


def words_before(data: Bytes, starts: Offsets, ends: Offsets) -> tuple[Hashes, Offsets]:
    """Returns a word for every eight consecutive bytes, and where the strings end in them.

    Bytes before a string are arbitrary.
    """
    first, last = int(starts.min(initial=len(data))), int(ends.max(initial=0))
    padded = np.empty(_WORD + max(last - first, 0), dtype=np.uint8)
    padded[_WORD:] = data[first:last]
    words = as_strided(padded[:_WORD].view(np.uint64), (len(padded) - _WORD + 1,), (1,))
    return words, ends - first + _WORD


def _alive(lengths: Offsets, longest: int) -> list[int]:
    """Returns, for each distance from the end, how many strings are longer than that distance."""
    counts = np.bincount(lengths, minlength=longest + 1)
    alive: list[int] = (len(lengths) - np.cumsum(counts)).tolist()
    return alive


def _stepped(data: Bytes, starts: Offsets, lengths: Offsets) -> Hashes:
    """Returns the CRC of each string, computed byte by byte from the definition, for strings of any length."""
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
