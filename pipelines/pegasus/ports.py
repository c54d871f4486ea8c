"""The Protocols that the split jobs receive."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from pyspark.sql import DataFrame

from pipelines.lake.run_summary import RunKey
from pipelines.pegasus.domain.state.model import ClusterState


class StateReader(Protocol):
    """Reads state files."""

    def states(self, uri: str) -> Sequence[ClusterState]:
        """Returns the states of a file, or of every `*.json` of a directory, in time order.

        Raises:
            UsageError: there is none, a file is invalid, or two states are of different clusters or of the same time.
        """
        ...


class PastFindings(Protocol):
    """Reads the findings of earlier runs of a job."""

    def findings_before(self, key: RunKey) -> Mapping[str, tuple[int, int]]:
        """Returns first_seen (ms since the epoch) and the number of runs, by finding, of the last 30 days."""
        ...


class LogReader(Protocol):
    """Finds and decodes private logs."""

    def decode(self, uri: str) -> DataFrame:
        """Returns every log below a directory as `transforms.log_rows.DECODED`, persisted for repeated use.

        Raises:
            UsageError: there is no log below it.
        """
        ...

    def journal(self, uri: str) -> DataFrame:
        """Returns the lines of a request journal as `transforms.journal_rows.ASKED`.

        Raises:
            UsageError: it is a directory, empty, or not UTF-8.
        """
        ...
