"""Merges the rows of a database with the rows of its log, in key order, and puts them into lists."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from operator import itemgetter

BATCH_BYTES = 16 << 20
_STEP = 32
"""The rows whose bytes are counted at once; so a list can exceed `BATCH_BYTES` by so many rows."""


def row_batches(rows: Iterable[tuple[bytes, bytes]], most: int) -> Iterator[list[tuple[bytes, bytes]]]:
    """Yields rows in lists of `most` rows, or of fewer as soon as their values have `BATCH_BYTES`."""
    left, batch, size = iter(rows), list[tuple[bytes, bytes]](), 0
    while part := list(islice(left, min(_STEP, most - len(batch)))):
        batch += part
        size += sum(map(len, map(itemgetter(1), part)))
        if len(batch) == most or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def merged_rows(
    rows: Iterable[tuple[bytes, bytes]], tail: Mapping[bytes, bytes | None]
) -> Iterator[tuple[bytes, bytes]]:
    """Yields every live row once.

    Args:
        rows: the rows of the database, sorted by key.
        tail: the rows of the log, which replace those of the database; None = the row was removed.
    """
    above = iter(sorted(tail.items()))
    key, value, ended = _next(above)
    for below, old in rows:
        while not ended and key < below:
            if value is not None:
                yield key, value
            key, value, ended = _next(above)
        if not ended and key == below:
            if value is not None:
                yield key, value
            key, value, ended = _next(above)
        else:
            yield below, old
    while not ended:
        if value is not None:
            yield key, value
        key, value, ended = _next(above)


def _next(above: Iterator[tuple[bytes, bytes | None]]) -> tuple[bytes, bytes | None, bool]:
    found = next(above, None)
    return (b"", None, True) if found is None else (*found, False)
