"""Shows how far a long step has come: a bar on a terminal, now and then a line in a log."""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

TERMINAL_ENV = "WALSAFE_TERMINAL"
"""Width of the terminal that standard error reaches in the end: spark-submit puts a pipe before it."""
ItemT = TypeVar("ItemT")
_LOG = logging.getLogger(__name__)
_BAR_AFTER_S = 2.0
_LINE_EVERY_S = 10.0
_LINE = "{n:,} of {total:,}{unit}, {rate_noinv_fmt}, {remaining} to go"
_LINE_WITHOUT_TOTAL = "{n:,}{unit}, {rate_noinv_fmt}"


def terminal_width() -> int:
    """Returns the number of columns of the terminal; 0 = standard error goes to a file or a log."""
    given = os.environ.get(TERMINAL_ENV, "")
    if given.isdecimal():
        return int(given)
    return (os.get_terminal_size(sys.stderr.fileno()).columns or 80) if sys.stderr.isatty() else 0


class Progress:
    """The progress of one step; `str` says it in words.

    Args:
        what: the step.
        total: how much there is to do; None = unknown.
        unit: what is counted.
        seconds: a monotonic clock.
        tell: receives the lines for the log.
    """

    def __init__(
        self,
        what: str,
        total: int | None = None,
        unit: str = "files",
        *,
        seconds: Callable[[], float] = time.monotonic,
        tell: Callable[[str], None] = _LOG.info,
    ) -> None:
        self._what, self._total, self._unit, self._seconds, self._tell = what, total, unit, seconds, tell
        self._began = self._told = seconds()
        self._count, self._also = 0, ""
        width = terminal_width()
        self._bar = (
            tqdm(total=total, desc=what, unit=f" {unit}", delay=_BAR_AFTER_S, ncols=width, leave=False)
            if width
            else None
        )

    def __str__(self) -> str:
        elapsed = max(self._seconds() - self._began, 0.001)
        line = _LINE_WITHOUT_TOTAL if self._total is None else _LINE
        text: str = tqdm.format_meter(self._count, self._total, elapsed, bar_format=line, unit=f" {self._unit}")
        return f"{text}{self._also}"

    def more(self, count: int) -> None:
        """Adds to what is done."""
        self.reached(self._count + count)

    def reached(self, count: int, also: str = "") -> None:
        """Sets how much is done and what else to say of it, and tells the log of it now and then."""
        done, self._count = count - self._count, count
        self._also = f"; {also}" if also else ""
        if self._bar is not None:
            self._bar.set_postfix_str(also, refresh=False)
            self._bar.update(done)
        elif self._seconds() - self._told >= _LINE_EVERY_S:
            self._told = self._seconds()
            self._tell(f"{self._what}: {self}")

    def over(self, items: Iterable[ItemT]) -> Iterator[ItemT]:
        """Yields the items and counts each one that has been dealt with; then ends."""
        try:
            for item in items:
                yield item
                self.more(1)
        finally:
            self.end()

    def end(self) -> None:
        """Removes the bar."""
        if self._bar is not None:
            self._bar.close()
