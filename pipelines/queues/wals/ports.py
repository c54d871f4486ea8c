"""The ports of inspect-wals."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from pipelines.lake.run_summary import RunKey
from pipelines.queues.wals.rows import InspectedFile


class WalContentsReader(Protocol):
    """Reads the insides of WALs, many at a time."""

    def read(
        self, wal_root: str, files: Sequence[InspectedFile], cuts: Mapping[str, frozenset[int]]
    ) -> Sequence[InspectedFile]:
        """The same files with their contents, or with what kept them from being read.

        A WAL below `WALs/` that has been archived meanwhile is read where it is now.

        Args:
            wal_root: full URI, no slash at the end.
            files: as listed.
            cuts: offsets to tell apart what lies before and behind, by name of the WAL.
        """
        ...


class PastInspections(Protocol):
    """Reads what earlier inspections found."""

    def findings_before(self, key: RunKey) -> Mapping[str, tuple[int, int]]:
        """first_seen (ms since the epoch) and the number of inspections, by finding, of the last 30 days."""
        ...
