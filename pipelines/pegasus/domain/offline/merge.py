"""Merges the rows of a database with the rows of its log, in key order."""

from collections.abc import Iterable, Iterator, Mapping


def merged_rows(
    rows: Iterable[tuple[bytes, bytes]], tail: Mapping[bytes, bytes | None]
) -> Iterator[tuple[bytes, bytes]]:
    """Yields every live row once.

    Args:
        rows: the rows of the database, sorted by key.
        tail: the rows of the log, which replace those of the database; None = the row was removed.
    """
    if not tail:
        yield from rows
        return
    above = iter(sorted(tail.items()))
    key, value = next(above)
    ended = False
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
