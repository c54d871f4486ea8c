"""A question to a table of the lake: one SELECT, which DataFusion (the engine in deltalake) and Spark answer alike."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from pipelines.lake.run_summary import RunKey
from schemas.table import Table

Row = Mapping[str, Any]
OF_A_FILE = ("run_date", "size", "rows")
"""Columns of the answer about the files of a table."""


@dataclass(frozen=True, slots=True)
class Elements:
    """A row for each element of an array column, in the column `one`.

    Attributes:
        array: the array column.
        beside: the other columns that the query needs; nothing else is read.
        where: the condition on these columns and on `one`.
    """

    array: str
    beside: tuple[str, ...]
    where: str


@dataclass(frozen=True, slots=True)
class Query:
    """One SELECT over one table, which is called `t` in it.

    Attributes:
        table: the table.
        select: the columns.
        where: the condition; it names partitions.
        then: what follows it: GROUP BY, ORDER BY, LIMIT.
        each_of: makes rows of an array before it selects.
        over: columns and condition of a SELECT over the answer of all this, as (select, what follows FROM).
    """

    table: Table
    select: str
    where: str
    then: str = ""
    each_of: Elements | None = None
    over: tuple[str, str] | None = None

    def sql(self, source: str, known: set[str], unnest: str) -> str:
        """Returns the statement.

        Args:
            source: what the engine calls the table.
            known: the columns that the table has.
            unnest: the engine's function that makes rows of an array.
        """
        missing = [field for field in self.table.schema if field.name not in known]
        added = [f"CAST(NULL AS {field.dataType.simpleString()}) AS {field.name}" for field in missing]
        if added:
            source = " ".join(("(SELECT *,", ", ".join(added), "FROM", f"{source})"))
        where, each = self.where, self.each_of
        if each is not None:
            columns = ", ".join([*(f"t.{name}" for name in each.beside), f"{unnest}(t.{each.array}) AS one"])
            source, where = " ".join(("(SELECT", columns, "FROM", source, "AS t WHERE", f"{where})")), each.where
        inner = " ".join(("SELECT", self.select, "FROM", source, "AS t WHERE", where, self.then))
        return inner if self.over is None else " ".join(("SELECT", self.over[0], "FROM", f"({inner})", self.over[1]))


def rows_of(runs: Collection[RunKey]) -> str:
    """Returns the SQL condition for the rows of these runs; RunKey has checked the names, so they are safe to quote."""
    dates = ", ".join(sorted({day_literal(run.run_date) for run in runs}))
    ids = sorted({run.run_id for run in runs})
    clusters = sorted({run.cluster for run in runs})
    condition = f"run_date IN ({dates}) AND run_id IN ({texts(ids)}) AND cluster IN ({texts(clusters)})"
    if len(ids) > 1:  # in a fleet, run ids differ by cluster: the pairs select the rows, the rest skips files
        condition += f" AND concat(cluster, '/', run_id) IN ({texts(sorted(f'{r.cluster}/{r.run_id}' for r in runs))})"
    return condition


def day_literal(day: date) -> str:
    """Returns a date as an SQL expression."""
    return f"DATE'{day.isoformat()}'"


def literal(text: str) -> str:
    """Returns any text as an SQL expression; the two engines escape quotes and backslashes in different ways."""
    return f"CAST(X'{text.encode(errors='replace').hex()}' AS STRING)"


def texts(values: Collection[str]) -> str:
    """Returns checked names as a list of SQL literals."""
    return ", ".join(f"'{value}'" for value in values)
