"""Reads the directory that `conf/export/walsafe-export.sh` wrote: one stamped text for each step of a capture."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import TypeAdapter

from pipelines.common.conditions import Condition
from pipelines.common.errors import MalformedError, SnapshotError, UsageError
from pipelines.common.forms import OpenForm, value_of
from pipelines.common.instants import parse_instant
from pipelines.common.strict_json import read_json
from pipelines.files.saved_text import LocalCopies, lines_of
from pipelines.snapshot.capture_clocks import StepStamp
from pipelines.snapshot.model import CaptureStep

_BEGIN = re.compile(r"# walsafe-export 1 (\S+) started (\S+) host (\S+) zone (\S+)")
_END = re.compile(r"# walsafe-export end (\S+) finished (\S+) status 0")
_ANY = "# walsafe-export "


FormT = TypeVar("FormT", bound=OpenForm)


@dataclass(frozen=True, slots=True)
class PartStamp:
    """The contents of the first and the last line of a part."""

    step: CaptureStep
    host: str
    zone: ZoneInfo

    @property
    def taken(self) -> StepStamp:
        """Returns when the part was taken, and by whose clock."""
        return StepStamp(self.step, self.host)


class ExportPart:
    """One part of an export.

    Args:
        path: the local copy.
        step: the step to which the part must belong.
        name: the name of the part, for messages.

    Attributes:
        name: as given.
    """

    def __init__(self, path: Path, step: str, name: str) -> None:
        self._path = path
        self._step = step
        self.name = name
        self._stamp: PartStamp | None = None

    def stamp(self) -> PartStamp:
        """Returns the stamps; reads the whole part once.

        Raises:
            SnapshotError: a stamp is missing: the part is cut off, or the export script did not write it.
        """
        if self._stamp is None:
            for _ in self.lines():
                pass
        if self._stamp is None:
            raise AssertionError("lines() ends with a stamp or an error")
        return self._stamp

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yields the numbered lines between the stamps.

        Raises:
            SnapshotError: for the reasons of `stamp`.
            UsageError: the text is cut off in the middle of a line.
        """
        begin: re.Match[str] | None = None
        end: re.Match[str] | None = None
        for number, line in lines_of(self._path, self.name):
            if begin is None:
                begin = _BEGIN.fullmatch(line)
                if begin is None or begin.group(1) != self._step:
                    raise SnapshotError(
                        Condition.EXPORT_DAMAGED,
                        f"{self.name} is not a part {self._step!r} that walsafe-export.sh wrote: {line[:120]!r}",
                    )
            elif end is not None:
                raise SnapshotError(
                    Condition.EXPORT_DAMAGED,
                    f"{self.name}, line {number}: there is text after the closing line; export again",
                )
            elif line.startswith(_ANY):
                end = _END.fullmatch(line)
                if end is None or end.group(1) != self._step:
                    raise SnapshotError(
                        Condition.EXPORT_INCOMPLETE,
                        f"{self.name}, line {number}: this line should close step {self._step!r} with status 0: "
                        f"{line[:120]!r}; correct the cause, then run walsafe-export.sh again",
                    )
            else:
                yield number, line
        if begin is None or end is None:
            raise SnapshotError(
                Condition.EXPORT_INCOMPLETE,
                f"{self.name}: cut off, because its closing line is missing; run walsafe-export.sh again",
            )
        self._stamp = self._stamped(begin, end)

    def value(self, form: type[FormT]) -> FormT:
        """Returns the one JSON object that the part contains.

        Raises:
            SnapshotError: the part contains something else.
        """
        lines = [line for _, line in self.lines()]
        try:
            document = read_json(lines[0] if len(lines) == 1 else "", self.name)
        except SnapshotError:
            raise SnapshotError(
                Condition.EXPORT_DAMAGED, f"{self.name}: expected one line of JSON between the stamps; export again"
            ) from None
        return value_of(TypeAdapter(form), document, self.name)

    def _stamped(self, begin: re.Match[str], end: re.Match[str]) -> PartStamp:
        try:
            step = CaptureStep(self._step, parse_instant(begin.group(2)), parse_instant(end.group(2)))
            return PartStamp(step, begin.group(3), ZoneInfo(begin.group(4)))
        except (MalformedError, ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise SnapshotError(
                Condition.EXPORT_DAMAGED, f"{self.name}: the script does not write such a stamp: {error}"
            ) from None


class ExportDirectory:
    """The parts of one export. Every part that is read must come from one host, because only its clock orders them.

    Args:
        uri: the URI of the directory.
        files: fetches the files.
    """

    def __init__(self, uri: str, files: LocalCopies) -> None:
        self._uri = uri.rstrip("/")
        self._files = files
        self._parts: dict[str, ExportPart] = {}

    def part(self, step: str) -> ExportPart:
        """Returns the part of one step.

        Raises:
            UsageError: there is no such part.
            SnapshotError: the part is not whole, or the parts read before were stamped by another host.
        """
        if step not in self._parts:
            name = f"{self._uri}/{step}.txt"
            try:
                path = self._files.local(name)
            except UsageError as error:
                raise UsageError(f"{error}; export.path must be a directory that walsafe-export.sh wrote") from None
            self._opened(ExportPart(path, step, name), step)
        return self._parts[step]

    def _opened(self, part: ExportPart, step: str) -> None:
        first = next(iter(self._parts.values()), part)
        if part.stamp().host != first.stamp().host:
            raise SnapshotError(
                Condition.SNAPSHOT_OUT_OF_ORDER,
                f"{part.name} was stamped by the clock of host {part.stamp().host}, {first.name} by that of "
                f"{first.stamp().host}: the clocks of two hosts do not show which was first. Export again: one run of "
                "walsafe-export.sh writes all parts",
            )
        self._parts[step] = part

    def optional_part(self, name: str) -> ExportPart | None:
        """Returns a part that only some exports have; None = this export does not have it.

        Raises:
            SnapshotError, UsageError: the part exists, but it is not whole or was stamped by another host.
        """
        try:
            self._files.local(f"{self._uri}/{name}.txt")
        except UsageError:
            return None
        return self.part(name)
