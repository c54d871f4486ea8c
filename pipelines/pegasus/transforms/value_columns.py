"""Computes expiry and write times of columns of values (the vectorised form of `domain.values`)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipelines.pegasus.domain.values import EPOCH_S, NEWEST, header_bytes
from pipelines.pegasus.transforms.crc64_columns import Bytes, Offsets
from pipelines.pegasus.transforms.key_columns import BinaryColumn

HEAD_BYTES = header_bytes(NEWEST)
"""The first bytes of a value, which contain everything that is needed here."""


class ValueHeads(NamedTuple):
    """The headers of a column of values.

    Attributes:
        expire_ts: seconds since 2016; 0 = never, or malformed.
        timetags: `Timetag.packed`; 0 if there is none.
        malformed: whether `decode_value` refuses the value.
    """

    expire_ts: NDArray[np.int64]
    timetags: NDArray[np.uint64]
    malformed: NDArray[np.bool_]

    def expired(self, now_s: int) -> NDArray[np.bool_]:
        """Returns `is_expired` of every value; `now_s` is seconds since 1970."""
        over: NDArray[np.bool_] = (self.expire_ts > 0) & (self.expire_ts <= now_s - EPOCH_S)
        return over


def value_heads(values: BinaryColumn, data_version: int) -> ValueHeads:
    """Returns the header of every value.

    Args:
        values: the whole values, or their first `HEAD_BYTES`.
        data_version: 0 or 1, for values that do not contain their version.
    """
    lengths, starts = values.lengths, values.starts
    data = values.data if len(values.data) else np.zeros(1, dtype=np.uint8)
    marked = (_bytes_at(data, starts, 1)[0] >= 0x80) & (lengths > 0)
    malformed = lengths < np.where(marked, HEAD_BYTES, header_bytes(data_version))
    first = starts + marked
    expire = np.zeros(len(starts), dtype=np.int64)
    for byte in _bytes_at(data, first, 4):
        expire = expire << 8 | byte
    timetags = np.zeros(len(starts), dtype=np.uint64)
    for byte in _bytes_at(data, first + 4, 8):
        timetags = timetags << np.uint64(8) | byte
    expire[malformed] = 0
    timetags[malformed | (~marked & (data_version == 0))] = 0
    return ValueHeads(expire, timetags, malformed)


def _bytes_at(data: Bytes, places: Offsets, count: int) -> list[Bytes]:
    """Returns `count` bytes, beginning at each place; the bytes after the end of the data are arbitrary."""
    return [data.take(places + offset, mode="clip") for offset in range(count)]
