"""Computes a 64-bit digest of key and value for columns of rows, with numpy.

The digest is no cryptographic one. Each word of eight bytes is mixed with a constant of its place and multiplied, so
that equal bytes in another place give another sum; long strings take BLAKE2b, which needs no numpy step a word.
"""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipelines.pegasus.transforms.crc64_columns import BATCH, Bytes, Hashes, Offsets, words_before
from pipelines.pegasus.transforms.key_columns import BinaryColumn, binary_column

_WORD = 8
_LONG_BYTES = 2048
_MANY = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def row_digests(keys: Any, values: Any) -> Hashes:  # noqa: ANN401 - pyarrow ships no types
    """Returns the digest of each row of two columns of byte strings; NULL counts as empty."""
    with np.errstate(over="ignore"):
        return _mixed(_string_digests(binary_column(keys)) * _MANY + _string_digests(binary_column(values)))


def _mixed(words: Hashes) -> Hashes:
    """Mixes every bit into every other (the last steps of SplitMix64)."""
    words = (words ^ words >> np.uint64(30)) * _FIRST
    words = (words ^ words >> np.uint64(27)) * _SECOND
    return words ^ words >> np.uint64(31)


_PLACES = _mixed(np.arange(1, _LONG_BYTES // _WORD + 2, dtype=np.uint64) * _MANY)


def _string_digests(column: BinaryColumn) -> Hashes:
    lengths, starts = column.lengths, column.starts
    found = np.empty(len(lengths), np.uint64)
    for begin in range(0, len(lengths), BATCH):
        part = slice(begin, begin + BATCH)
        found[part] = _short(column.data, starts[part], np.minimum(lengths[part], _LONG_BYTES))
    long = lengths > _LONG_BYTES
    for row in np.flatnonzero(long).tolist():
        text = column.data[starts[row] : starts[row] + lengths[row]].tobytes()
        found[row] = int.from_bytes(hashlib.blake2b(text, digest_size=_WORD).digest(), "little")
    return found


def _short(data: Bytes, starts: Offsets, lengths: Offsets) -> Hashes:
    words, ends = words_before(data, starts, starts + lengths)
    full, rest = lengths // _WORD, lengths % _WORD
    sums = lengths.astype(np.uint64) * _MANY
    every = int(full.min(initial=_LONG_BYTES))
    at = ends
    for place in range(int(full.max(initial=0))):
        if place < every:
            at = at - _WORD
            sums += _term(words[at], _PLACES[place])
        else:
            rows = np.flatnonzero(full > place)
            sums[rows] += _term(words[ends[rows] - _WORD * (place + 1)], _PLACES[place])
    rows = np.flatnonzero(rest)
    shift: NDArray[np.uint64] = (_WORD * (_WORD - rest[rows])).astype(np.uint64)  # words are little-endian
    sums[rows] += _term(words[ends[rows] - _WORD * (full[rows] + 1)] >> shift, _PLACES[-1])
    return _mixed(sums)


def _term(words: Hashes, place: np.uint64) -> Hashes:
    mixed: Hashes = words ^ place
    mixed *= _FIRST
    mixed ^= mixed >> _HALF
    mixed *= place | np.uint64(1)
    return mixed
