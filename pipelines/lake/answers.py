"""The protocol through which earlier runs and their findings are read."""

from collections.abc import Collection, Mapping
from typing import Protocol

from pipelines.lake.lake_records import RunRecord
from pipelines.lake.run_summary import FindingRow, RunKey


class FindingReader(Protocol):
    """Reads what is needed to decide whether the clean-up is paused."""

    def newest_runs(self, cluster: str | None) -> tuple[RunRecord, ...]:
        """Returns the terminal runs of the cluster, or of all clusters, newest first."""
        ...

    def findings(self, runs: Collection[RunKey]) -> Mapping[str, tuple[FindingRow, ...]]:
        """Returns rows of `findings` by cluster, in the order of `by_urgency`."""
        ...
