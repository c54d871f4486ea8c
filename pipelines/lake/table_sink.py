"""The port through which jobs write tables of the lake."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from pyspark.sql import DataFrame

from pipelines.lake.run_summary import RunKey
from schemas.table import Table


class TableSink(Protocol):
    """Writes the tables of the lake."""

    def ensure(self, tables: Sequence[Table] = ...) -> None:
        """Create what is missing; without an argument, of the tables of a decision."""
        ...

    def replace(self, writes: Mapping[str, DataFrame], runs: Collection[RunKey], *, fresh: bool = False) -> None:
        """Make the frames the whole of what the tables hold of these runs; fresh: there was no earlier attempt."""
        ...

    def append_rows(self, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
        """Append a few rows in one commit."""
        ...

    def frame(self, table: Table, rows: Sequence[Mapping[str, object]]) -> DataFrame:
        """Rows of the driver as a DataFrame of the table's columns."""
        ...
