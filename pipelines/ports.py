"""The Protocols that use cases receive. Reader ports have no delete and no rename."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """The wall clock; injected so that tests own time."""

    def now_ms(self) -> int:
        """Ms since the epoch, UTC."""
        ...


@dataclass(frozen=True, slots=True)
class FileBatch:
    """Some files of a listing, column by column; all three columns have the same length.

    Attributes:
        paths: relative to the WAL root, as in the snapshot: `oldWALs/…`, `WALs/<server>/…`, `remoteWALs/…`.
        lengths: bytes.
        modification_times: ms since the epoch, UTC.
    """

    paths: Sequence[str]
    lengths: Sequence[int]
    modification_times: Sequence[int]

    def __len__(self) -> int:
        return len(self.paths)
