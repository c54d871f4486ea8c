"""The Protocols that the split jobs receive."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from pyspark.sql import DataFrame

from pipelines.lake.run_summary import RunKey
from pipelines.pegasus.domain.state.model import ClusterState


class StateReader(Protocol):
    """Reads state files."""

    def states(self, uri: str) -> Sequence[ClusterState]:
        """The states of a file, or of every `*.json` of a directory, in the order of their times.

        Raises:
            UsageError: there is none, one is no state file, they are of several clusters, or two are of one moment.
        """
        ...


class PastFindings(Protocol):
    """Reads what earlier runs of a job found."""

    def findings_before(self, key: RunKey) -> Mapping[str, tuple[int, int]]:
        """first_seen (ms since the epoch) and the number of runs, by finding, of the last 30 days."""
        ...


class LogReader(Protocol):
    """Finds and decodes private logs."""

    def decode(self, uri: str) -> DataFrame:
        """Every log below a directory as `transforms.log_rows.DECODED`, kept for several readings.

        Raises:
            UsageError: there is no log below it.
        """
        ...

    def journal(self, uri: str) -> DataFrame:
        """The lines of a request journal as `transforms.journal_rows.ASKED`.

        Raises:
            UsageError: there is none.
        """
        ...
