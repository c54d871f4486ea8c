"""The wall clock, as an argument."""

from typing import Protocol


class Clock(Protocol):
    """The wall clock; injected so that tests own time."""

    def now_ms(self) -> int:
        """Ms since the epoch, UTC."""
        ...
