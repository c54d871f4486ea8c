"""Parses saved scans that mark their own end: one line per cell, then the number of rows."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError

_CLOSING = re.compile(r"([0-9]+) row\(s\)")


class RowItem(Protocol):
    """An element that a scan finds in a row."""

    @property
    def row(self) -> bytes:
        """Returns the key of the row."""
        ...


ScannedT = TypeVar("ScannedT", bound=RowItem)


def complete_scan(
    lines: Iterable[tuple[int, str]], name: str, parse: Callable[[str, str], ScannedT], way_out: str
) -> Iterator[ScannedT]:
    """Yields the elements of a scan in scan order, and checks that the scan is whole.

    If a text was cut between two lines, rows are missing, and only the closing line shows it: two scans that were cut
    at the same line agree.

    Args:
        lines: the numbered lines; the last one is `N row(s)`.
        name: the name of the text, for messages.
        parse: parses a line; its second argument is the place of the line.
        way_out: how to get a whole scan, for messages.

    Raises:
        SnapshotError: the closing line is missing, has another number of rows, or is not the last line.
    """
    rows = 0
    last: bytes | None = None
    closed = False
    for number, line in lines:
        if closed:
            raise SnapshotError(
                Condition.EXPORT_DAMAGED,
                f"{name}, line {number}: text follows the closing `N row(s)`; {way_out}",
            )
        closing = _CLOSING.fullmatch(line)
        if closing is not None:
            if (closing.group(1).lstrip("0") or "0") != str(
                rows
            ):  # Python does not convert numbers with thousands of digits
                raise SnapshotError(
                    Condition.EXPORT_INCOMPLETE,
                    f"{name}: {rows} rows, but its closing line says {closing.group(1)}; {way_out}",
                )
            closed = True
            continue
        found = parse(line, f"{name}, line {number}")
        rows += found.row != last
        last = found.row
        yield found
    if not closed:
        raise SnapshotError(
            Condition.EXPORT_INCOMPLETE,
            f"{name}: no closing `N row(s)`, so the scan is not whole; {way_out}",
        )
