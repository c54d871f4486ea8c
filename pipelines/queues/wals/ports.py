"""The ports of inspect-wals."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from pipelines.lake.run_summary import RunKey
from pipelines.queues.wals.rows import InspectedFile


class WalContentsReader(Protocol):
    """Reads the content of many WALs."""

    def read(
        self, wal_root: str, files: Sequence[InspectedFile], cuts: Mapping[str, frozenset[int]]
    ) -> Sequence[InspectedFile]:
        """Returns the same files with their contents, or with the fault that prevented reading.

        A WAL below `WALs/` that has been archived since the listing is read from oldWALs.

        Args:
            wal_root: full URI, without a trailing slash.
            files: as listed.
            cuts: by WAL name, offsets at which the tally is split.
        """
        ...


class PastInspections(Protocol):
    """Reads the findings of earlier inspections."""

    def findings_before(self, key: RunKey) -> Mapping[str, tuple[int, int]]:
        """Returns first_seen (ms since the epoch) and the number of inspections by finding key, of the last 30 days."""
        ...
