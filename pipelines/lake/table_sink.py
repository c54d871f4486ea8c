"""The protocol through which jobs write the tables of the lake."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from pyspark.sql import DataFrame

from pipelines.lake.run_summary import RunKey
from schemas.table import Table


class TableSink(Protocol):
    """Writes the tables of the lake."""

    def ensure(self, tables: Sequence[Table] = ...) -> None:
        """Creates missing tables; without an argument, the tables of a decision."""
        ...

    def replace(self, writes: Mapping[str, DataFrame], runs: Collection[RunKey], *, fresh: bool = False) -> None:
        """Replaces all rows of these runs in the tables by the frames; `fresh`: no earlier attempt wrote rows."""
        ...

    def append_rows(self, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
        """Appends a few rows in one commit."""
        ...

    def frame(self, table: Table, rows: Sequence[Mapping[str, object]]) -> DataFrame:
        """Returns rows of the driver as a DataFrame with the table's columns."""
        ...
