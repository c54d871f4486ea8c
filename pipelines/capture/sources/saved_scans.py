"""Reads saved scans: lines of the export script or in the form of a snapshot, and then their number."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Annotated, TypeVar

from pydantic import TypeAdapter

from pipelines.capture.sources.export_parts import ExportDirectory
from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError, UsageError
from pipelines.common.forms import Base64, Count, Form, WrittenAs, read_value
from pipelines.files.saved_text import LocalCopies, lines_of
from pipelines.hbase.replication_queues import Cell, CellVersion
from pipelines.snapshot.capture_clocks import StepStamp
from pipelines.snapshot.queue_lines import CELL

ValueT = TypeVar("ValueT")
EXPORT_AGAIN = "export again"
"""How to get a whole export, for messages."""
_SCAN_AGAIN = "scan again, and let the program that scans count the rows and write `N row(s)` as its last line"


class _Version(Form):
    row: Base64
    timestamp: Count
    value: Base64


_VERSION: TypeAdapter[CellVersion] = TypeAdapter(Annotated[CellVersion, WrittenAs(_Version)])


class ExportedQueues:
    """Reads the scans of the export script as a `QueueSource`; each scan must end with its row count."""

    def __init__(self, export: ExportDirectory) -> None:
        self._export = export

    def stamp(self, step: str) -> StepStamp:
        """See `CaptureSource.stamp`."""
        return self._export.part(step).stamp().taken

    def cells(self, step: str) -> Iterator[Cell]:
        """See `QueueSource.cells`."""
        return scanned_cells(self._export.part(step).lines(), f"{step}.txt")


class SavedCells:
    """Reads two files as a `QueueSource`: JSON lines like those of a snapshot's `queues-1.jsonl`, then the row count.

    A file that was cut between two lines is a scan with missing rows, and both files may be cut at the same line.

    Args:
        files: fetches the files.
        passes: the URI and stamp of each file, by the name of the step.
    """

    def __init__(self, files: LocalCopies, passes: Mapping[str, tuple[str, StepStamp]]) -> None:
        self._files = files
        self._passes = passes

    def stamp(self, step: str) -> StepStamp:
        """See `CaptureSource.stamp`."""
        return self._passes[step][1]

    def cells(self, step: str) -> Iterator[Cell]:
        """See `QueueSource.cells`."""
        uri, _ = self._passes[step]
        lines = ((number, line) for number, line in lines_of(self._files.local(uri), uri) if line)
        return complete_scan(lines, uri, parse_cell, _SCAN_AGAIN)


def scanned_cells(lines: Iterable[tuple[int, str]], name: str) -> Iterator[Cell]:
    """Yields the cells of a scan that ends with `N row(s)`.

    Raises:
        SnapshotError: the closing line is missing or has another number of rows: the scan is not whole.
        UsageError: a line is not a cell.
    """
    return complete_scan(lines, name, parse_cell, EXPORT_AGAIN)


def scanned_versions(lines: Iterable[tuple[int, str]], name: str) -> Iterator[CellVersion]:
    """Yields the cell versions of an exported scan of one column; its last line must be `N row(s)`.

    Raises:
        SnapshotError, UsageError: for the reasons of `scanned_cells`.
    """
    return complete_scan(lines, name, parse_version, EXPORT_AGAIN)


def parse_cell(line: str, where: str) -> Cell:
    """Parses a cell from a line of JSON.

    Raises:
        UsageError: the line is not a cell; the message names the place.
    """
    return parsed_line(CELL, line, where, '{"row":"<base64>","family":…,"qualifier":…,"value":…}')


def parse_version(line: str, where: str) -> CellVersion:
    """Parses one version of a cell from a line of JSON; times are in ms since the epoch.

    Raises:
        UsageError: the line is not a version of a cell; the message names the place.
    """
    return parsed_line(_VERSION, line, where, '{"row":"<base64>","timestamp":ms,"value":"<base64>"}')


def parsed_line(form: TypeAdapter[ValueT], line: str, where: str, like: str) -> ValueT:
    """Parses a line of JSON.

    Args:
        form: what it must look like.
        line: the text.
        where: its place, for messages.
        like: an example, for messages.

    Raises:
        UsageError: it looks different; the message names the place.
    """
    try:
        return read_value(form, line, where)
    except SnapshotError as error:
        raise UsageError(f"{error}; not a line like {like}: {line[:120]!r}") from None


def complete_scan(
    lines: Iterable[tuple[int, str]],
    name: str,
    parse: Callable[[str, str], ValueT],
    way_out: str,
    *,
    noun: str = "row",
    row_of: Callable[[ValueT], object] | None = attrgetter("row"),
) -> Iterator[ValueT]:
    """Yields the elements of a scan in scan order, and checks that the scan is whole.

    If a text was cut between two lines, rows are missing, and only the closing line shows it: two scans that were cut
    at the same line agree.

    Args:
        lines: the numbered lines; the last one is `N row(s)`, or with another noun.
        name: the name of the text, for messages.
        parse: parses a line; its second argument is the place of the line.
        way_out: how to get a whole scan, for messages.
        noun: the word behind the number, without `(s)`.
        row_of: elements that follow each other and have the same row count as one; None = each counts.

    Raises:
        SnapshotError: the closing line is missing, has another number of rows, or is not the last line.
    """
    closing_line = re.compile(rf"([0-9]+) {noun}\(s\)")
    count = 0
    last: ValueT | None = None
    closed = False
    for number, line in lines:
        if closed:
            raise SnapshotError(
                Condition.EXPORT_DAMAGED,
                f"{name}, line {number}: text follows the closing `N {noun}(s)`; {way_out}",
            )
        closing = closing_line.fullmatch(line)
        if closing is not None:
            # compared as texts: Python does not convert numbers with thousands of digits
            if (closing.group(1).lstrip("0") or "0") != str(count):
                raise SnapshotError(
                    Condition.EXPORT_INCOMPLETE,
                    f"{name}: {count} {noun}s, but its closing line says {closing.group(1)}; {way_out}",
                )
            closed = True
            continue
        found = parse(line, f"{name}, line {number}")
        count += row_of is None or last is None or row_of(found) != row_of(last)
        last = found
        yield found
    if not closed:
        raise SnapshotError(
            Condition.EXPORT_INCOMPLETE,
            f"{name}: no closing `N {noun}(s)`, so the scan is not whole; {way_out}",
        )
