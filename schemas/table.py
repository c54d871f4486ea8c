"""Defines the base of all table modules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql.types import (
    DataType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

PLAIN_NAMES: Mapping[str, tuple[str, DataType]] = {
    "at": ("written_at", TimestampType()),
    "foreign": ("foreign_mutations", IntegerType()),
    "offset": ("offset_bytes", LongType()),
    "primary": ("primary_node", StringType()),
    "table": ("table_name", StringType()),
}
"""Columns whose name is a word of SQL: the name of a copy, and its type."""
TIMES: Mapping[str, str] = {
    "wal_timestamp": "wal_at",
    "need_timestamp": "needed_from",
    "oldest_timestamp": "oldest_wal_at",
    "oldest_pending_timestamp": "oldest_pending_at",
}
"""Columns with an instant in ms since the epoch: the name of the same instant as a timestamp."""

CHECKPOINT_INTERVAL = "delta.checkpointInterval"
"""Delta's name of the property; without it the interval is 10."""


@dataclass(frozen=True, slots=True)
class Table:
    """A Delta table of the lake: `<lake>/<name>`.

    Attributes:
        name: the folder below the lake.
        comment: one sentence for `DESCRIBE TABLE` and docs/tables.md.
        schema: columns with comments; columns are only ever added.
        partitioned_by: partition columns.
        statistics: columns whose minimum and maximum Delta stores per file, so that readers skip files. Each costs
            time for every row written, and 5 ms of CPU for each commit, however small.
        checkpoint_interval: after so many commits Delta writes a checkpoint, which needs Spark; readers read all
            commits after the last one. A table in a lake on the local file system has at least 50 (docs/adr/0035).
    """

    name: str
    comment: str
    schema: StructType
    partitioned_by: Sequence[str] = ("run_date",)
    statistics: Sequence[str] = ("cluster", "run_id")
    checkpoint_interval: int = 10

    def properties(self) -> dict[str, str]:
        """Returns Delta's properties of a new table."""
        return {
            "delta.dataSkippingStatsColumns": ",".join(self.statistics),
            CHECKPOINT_INTERVAL: str(self.checkpoint_interval),
        }


def column(name: str, kind: DataType, comment: str, *, nullable: bool = True) -> StructField:
    """Returns a column with its comment."""
    return StructField(name, kind, nullable, {"comment": comment})


def twin(of: str) -> StructField:
    """Returns the column that stands beside a column of `PLAIN_NAMES` or `TIMES`; `pipelines.lake.twins` fills it."""
    if of in PLAIN_NAMES:
        name, kind = PLAIN_NAMES[of]
        return column(name, kind, f"The same as `{of}`, whose name is a word of SQL.")
    return column(TIMES[of], TimestampType(), f"`{of}` as a time (UTC); NULL if it is not in the years 1970 to 9999.")


def identity() -> list[StructField]:
    """Returns the three columns with which every table begins."""
    return [
        column("cluster", StringType(), "Name of the cluster that the run examined.", nullable=False),
        column("run_id", StringType(), "The run that wrote the row."),
        column(
            "run_date",
            DateType(),
            "UTC date of what the run examined; for HBase, of the start of the capture's step `files`.",
        ),
    ]
