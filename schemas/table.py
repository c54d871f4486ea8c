"""Defines the base of all table modules."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql.types import DataType, DateType, StringType, StructField, StructType


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
    """

    name: str
    comment: str
    schema: StructType
    partitioned_by: Sequence[str] = ("run_date",)
    statistics: Sequence[str] = ("cluster", "run_id")


def column(name: str, kind: DataType, comment: str, *, nullable: bool = True) -> StructField:
    """Returns a column with its comment."""
    return StructField(name, kind, nullable, {"comment": comment})


def identity() -> list[StructField]:
    """Returns the three columns with which every table begins."""
    return [
        column("cluster", StringType(), "Name of the HBase cluster, from snapshot.json.", nullable=False),
        column(
            "run_id",
            StringType(),
            "The run that wrote the row; a repeated run replaces all rows of its cluster and run_id.",
        ),
        column("run_date", DateType(), "UTC date of the start of the capture's step `files`."),
    ]
