"""Saved scans that tell their own end: a line for each cell, then the number of rows."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from pipelines.common.errors import SnapshotError

_CLOSING = re.compile(r"([0-9]+) row\(s\)")


class OfRow(Protocol):
    """Anything that a scan finds in a row."""

    @property
    def row(self) -> bytes:
        """Its key."""
        ...


ScannedT = TypeVar("ScannedT", bound=OfRow)


def closed_scan(
    lines: Iterable[tuple[int, str]], name: str, parse: Callable[[str, str], ScannedT], way_out: str
) -> Iterator[ScannedT]:
    """What was scanned, in scan order.

    A text that was cut between two lines lacks rows, and nothing else shows it: two scans that were cut alike agree.

    Args:
        lines: numbered, the last of them `N row(s)`.
        name: of the text, for messages.
        parse: one line and where it stands.
        way_out: for messages: how to get a whole scan.

    Raises:
        SnapshotError: the closing line is missing or counts other rows: the scan is not whole.
    """
    rows = 0
    last: bytes | None = None
    closed = False
    for number, line in lines:
        if closed:
            raise SnapshotError(f"{name}, line {number}: something follows the closing `N row(s)`; {way_out}")
        closing = _CLOSING.fullmatch(line)
        if closing is not None:
            if (closing.group(1).lstrip("0") or "0") != str(rows):  # thousands of digits are no number to Python
                raise SnapshotError(f"{name}: {rows} rows, but its closing line says {closing.group(1)}; {way_out}")
            closed = True
            continue
        found = parse(line, f"{name}, line {number}")
        rows += found.row != last
        last = found.row
        yield found
    if not closed:
        raise SnapshotError(f"{name}: the closing `N row(s)` is missing, the scan is not whole; {way_out}")
