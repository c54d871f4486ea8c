"""A batch of listed files, stored by column."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileBatch:
    """Some files of a listing, stored by column; all three columns have the same length.

    Attributes:
        paths: the paths relative to the WAL root, as in the snapshot: `oldWALs/…`, `WALs/<server>/…`, `remoteWALs/…`.
        lengths: the lengths in bytes.
        modification_times: the modification times in ms since the epoch, UTC.
    """

    paths: Sequence[str]
    lengths: Sequence[int]
    modification_times: Sequence[int]

    def __len__(self) -> int:
        return len(self.paths)
