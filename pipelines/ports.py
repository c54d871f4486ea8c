"""The Protocols that use cases receive. Reader ports have no delete and no rename."""

from typing import Protocol


class Clock(Protocol):
    """The wall clock; injected so that tests own time."""

    def now_ms(self) -> int:
        """Ms since the epoch, UTC."""
        ...
