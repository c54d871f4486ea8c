"""SQL that Spark and deltalake read alike: the rows of some runs, dates, and texts of a user."""

from collections.abc import Collection
from datetime import date

from pipelines.lake.run_summary import RunKey


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
