"""Turns mutations of a private log into columns with a few numpy steps a batch, instead of Python objects for each row.

Puts, which fill most logs, are decoded as columns if thrift wrote them as Pegasus's clients do. All other requests are
decoded one by one with `decode_request`, which also is the specification of the columns.
"""

import zlib
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.common.errors import MalformedError
from pipelines.pegasus.domain.keys import key_hash
from pipelines.pegasus.domain.private_log.blocks import crc32c
from pipelines.pegasus.domain.private_log.log_file import LogTally
from pipelines.pegasus.domain.private_log.mutations import EMPTY_WRITE, PUT, THRIFT_BINARY, MutationSpan, MutationUpdate
from pipelines.pegasus.domain.private_log.requests import Replay, decode_request
from pipelines.pegasus.transforms.crc64_columns import Bytes, Hashes, Offsets
from pipelines.pegasus.transforms.key_columns import BinaryColumn, binary_column, key_hashes_at

_LEAST_PUT = 3 + 7 + 7 + 7 + 2
"""Bytes of a put with an empty key and value: argument, key, value, expiry, two stops."""
_HEX = np.array([list(b"%02x" % byte) for byte in range(256)], dtype=np.uint8)


_NUMBERS = 7
"""Values at the beginning of a `MutationSpan` that are columns as they are."""


class MutationColumns:
    """Collects mutations of one log for a batch.

    Only numbers and bytes are kept, not one container a mutation: Python's garbage collector would visit each of them.

    Attributes:
        count: the number of mutations.
        size: bytes of the requests.
        undecoded: the number of requests that cannot be replayed from the log alone; complete after `arrays`.
    """

    def __init__(self) -> None:
        self._numbers: list[Any] = []
        self._requests: list[int] = []
        self._codes: list[str] = []
        self._checksums: list[int] = []
        self._puts: list[bytes] = []
        self._put_by: list[int] = []
        self._others: list[tuple[int, MutationUpdate]] = []
        self.count = self.size = self.undecoded = 0

    def add(self, body: bytes, span: MutationSpan) -> None:
        """Adds a mutation of a block with this body."""
        number, requests = self.count, span[-3]
        self.count += 1
        self._numbers += span[:_NUMBERS]
        self._requests.append(len(requests))
        for code, kind, first, last in requests:
            self._codes.append(code)
            if code == PUT and kind == THRIFT_BINARY:
                self._puts.append(body[first:last])
                self._put_by.append(number)
            elif code != EMPTY_WRITE:
                self._others.append((number, MutationUpdate(code, kind, body[first:last])))
        written = body[span[-2] : span[-1]]
        self._checksums += crc32c(written), zlib.crc32(written)
        self.size += len(written)

    def arrays(self, tally: LogTally) -> list[Any]:
        """Returns the columns of `log_rows.MUTATION`, and counts the mutations; there is at least one."""
        size, log = self.count, tally.file
        columns: list[Any] = [self._numbers[place::_NUMBERS] for place in range(_NUMBERS)]
        apps, partitions, ballots, decrees, offsets, committed, times = columns
        tally.add_many(zip(apps, partitions, strict=True), ballots, decrees)
        hashes = self._hashes()
        empty = np.ones(size, np.bool_)
        empty[self._put_by] = False
        empty[[number for number, _ in self._others]] = False
        return [
            _same_text(log.node, size),
            pa.array(np.full(size, log.app_id, np.int32)),
            pa.array(np.full(size, log.partition, np.int32)),
            _same_text(log.log, size),
            *(pa.array(column, pa.int64()) for column in (offsets, decrees, ballots, committed, times)),
            _lists(np.array(self._requests), pa.array(self._codes, pa.string())),
            hashes,
            self._digests(),
            pa.array(empty),
        ]

    def _hashes(self) -> Any:  # noqa: ANN401 - pyarrow ships no types
        """Returns the signed hashes of each mutation in order, each once."""
        by = np.array(self._put_by, np.int64)
        hashes, plain = _put_hashes(binary_column(pa.array(self._puts, pa.binary())))
        odd = [(self._put_by[at], MutationUpdate(PUT, THRIFT_BINARY, self._puts[at])) for at in np.flatnonzero(~plain)]
        numbers, more = [], []
        for number, update in chain(self._others, odd):
            request = decode_request(update)
            self.undecoded += request.replay in {Replay.NEEDS_BASE, Replay.UNKNOWN}
            if request.key is not None:
                numbers.append(number)
                more.append(_hash(request.key))
        by = np.concatenate([by[plain], np.array(numbers, np.int64)])
        signed = np.concatenate([hashes[plain], np.array(more, np.uint64)]).view(np.int64)
        order = np.lexsort((signed, by))
        by, signed = by[order], signed[order]
        if len(signed):
            first = np.concatenate(([True], (by[1:] != by[:-1]) | (signed[1:] != signed[:-1])))
            by, signed = by[first], signed[first]
        return _lists(np.bincount(by, minlength=self.count), pa.array(signed))

    def _digests(self) -> Any:  # noqa: ANN401 - pyarrow ships no types
        """Returns two CRCs of different polynomials as 16 hexadecimal digits: together as good as one of 64 bits."""
        crcs = np.array(self._checksums, dtype=">u4")
        return _texts(_HEX[crcs.view(np.uint8)].tobytes(), self.count)


def _hash(key: bytes) -> int:
    try:
        return key_hash(key)
    except MalformedError:  # its hash key alone is too long: no partition owns such a key
        return 0


def _put_hashes(puts: BinaryColumn) -> tuple[Hashes, NDArray[np.bool_]]:
    """Returns the hash of the key of each put, and which puts have exactly the usual fields; the rest is undefined."""
    data, starts, lengths = puts.data, puts.starts, puts.lengths
    ends = starts + lengths
    hashes, plain = np.zeros(len(starts), np.uint64), lengths >= _LEAST_PUT
    rows = np.flatnonzero(plain)
    begins, last = starts[rows], ends[rows] - 9  # where the expiry must begin
    good = (data[begins] == 12) & (data[begins + 1] == 0) & (data[begins + 2] <= 1) & _field(data, begins + 3, 12, 1)
    keys, key_bytes = begins + 10, _number(data, begins + 6)
    good &= key_bytes <= last - 7 - keys
    rows, keys, key_bytes, last = rows[good], keys[good], key_bytes[good], last[good]
    values = keys + key_bytes
    good = _field(data, values, 12, 2) & (values + 7 + _number(data, values + 3) == last)
    good &= _field(data, last, 8, 3) & (data[last + 7] == 0) & (data[last + 8] == 0)
    rows, keys, key_bytes = rows[good], keys[good], key_bytes[good]
    found = key_hashes_at(data, keys, key_bytes)
    good = ~found.malformed & ~found.empty
    plain[:] = False
    plain[rows[good]] = True
    hashes[rows] = found.hashes
    return hashes, plain


def _field(data: Bytes, at: Offsets, kind: int, number: int) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (data[at] == kind) & (data[at + 1] == 0) & (data[at + 2] == number)
    return found


def _number(data: Bytes, at: Offsets) -> Offsets:
    found = data[at].astype(np.int64) << 24  # a number below zero is read as one beyond every request
    for place, shift in ((1, 16), (2, 8), (3, 0)):
        found |= data[at + place].astype(np.int64) << shift
    return found


def _lists(lengths: NDArray[np.int64], values: Any) -> Any:  # noqa: ANN401 - pyarrow ships no types
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def _same_text(text: str, size: int) -> Any:  # noqa: ANN401 - pyarrow ships no types
    return _texts(text.encode() * size, size)


def _texts(joined: bytes, size: int) -> Any:  # noqa: ANN401 - pyarrow ships no types
    """Returns an array of texts that all have the same number of bytes."""
    offsets = (np.arange(size + 1) * (len(joined) // size)).astype(np.int32)
    return pa.StringArray.from_buffers(size, pa.py_buffer(offsets), pa.py_buffer(joined))
