"""Parses saved texts that mark their own end: one line per cell or znode, then the number of rows or znodes."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError


class RowItem(Protocol):
    """An element that a scan finds in a row."""

    @property
    def row(self) -> bytes:
        """Returns the key of the row."""
        ...


ItemT = TypeVar("ItemT")
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
    return _closed(lines, name, parse, way_out, "row", lambda last, found: last is None or found.row != last.row)


def complete_list(
    lines: Iterable[tuple[int, str]], name: str, parse: Callable[[str, str], ItemT], way_out: str, noun: str
) -> Iterator[ItemT]:
    """Yields the elements of a list whose last line is their number, like `3 znode(s)`.

    Args:
        lines: see `complete_scan`.
        name: see there.
        parse: see there.
        way_out: see there.
        noun: the word behind the number, without `(s)`.

    Raises:
        SnapshotError: for the reasons of `complete_scan`.
    """
    return _closed(lines, name, parse, way_out, noun, lambda _last, _found: True)


def _closed(
    lines: Iterable[tuple[int, str]],
    name: str,
    parse: Callable[[str, str], ItemT],
    way_out: str,
    noun: str,
    counts: Callable[[ItemT | None, ItemT], bool],
) -> Iterator[ItemT]:
    closing_line = re.compile(rf"([0-9]+) {noun}\(s\)")
    count = 0
    last: ItemT | None = None
    closed = False
    for number, line in lines:
        if closed:
            raise SnapshotError(
                Condition.EXPORT_DAMAGED,
                f"{name}, line {number}: text follows the closing `N {noun}(s)`; {way_out}",
            )
        closing = closing_line.fullmatch(line)
        if closing is not None:
            if (closing.group(1).lstrip("0") or "0") != str(
                count
            ):  # Python does not convert numbers with thousands of digits
                raise SnapshotError(
                    Condition.EXPORT_INCOMPLETE,
                    f"{name}: {count} {noun}s, but its closing line says {closing.group(1)}; {way_out}",
                )
            closed = True
            continue
        found = parse(line, f"{name}, line {number}")
        count += counts(last, found)
        last = found
        yield found
    if not closed:
        raise SnapshotError(
            Condition.EXPORT_INCOMPLETE,
            f"{name}: no closing `N {noun}(s)`, so the scan is not whole; {way_out}",
        )
