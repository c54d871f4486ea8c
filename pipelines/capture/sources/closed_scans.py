"""Parses saved scans that show their own end: one line per cell, then the number of rows."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError

_CLOSING = re.compile(r"([0-9]+) row\(s\)")


class RowItem(Protocol):
    """Anything that a scan finds in a row."""

    @property
    def row(self) -> bytes:
        """Key of the row."""
        ...


ScannedT = TypeVar("ScannedT", bound=RowItem)


def complete_scan(
    lines: Iterable[tuple[int, str]], name: str, parse: Callable[[str, str], ScannedT], way_out: str
) -> Iterator[ScannedT]:
    """Yields what was scanned, in scan order.

    A text that was cut between two lines lacks rows, and nothing else shows it: two scans that were cut alike agree.

    Args:
        lines: numbered lines; the last one is `N row(s)`.
        name: name of the text, for messages.
        parse: parses a line; its second argument is the place of the line.
        way_out: how to get a whole scan, for messages.

    Raises:
        SnapshotError: the closing line is missing, has another number of rows, or is not the last: the scan is not
            whole.
    """
    rows = 0
    last: bytes | None = None
    closed = False
    for number, line in lines:
        if closed:
            raise SnapshotError(
                Condition.EXPORT_DAMAGED, f"{name}, line {number}: something follows the closing `N row(s)`; {way_out}"
            )
        closing = _CLOSING.fullmatch(line)
        if closing is not None:
            if (closing.group(1).lstrip("0") or "0") != str(rows):  # Python converts no number of thousands of digits
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
            Condition.EXPORT_INCOMPLETE, f"{name}: the closing `N row(s)` is missing, the scan is not whole; {way_out}"
        )
