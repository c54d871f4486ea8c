"""The wall clock as a parameter."""

from typing import Protocol


class Clock(Protocol):
    """The wall clock. Callers pass it in, so that tests can set the time."""

    def now_ms(self) -> int:
        """Returns the current time in ms since the epoch, UTC."""
        ...
