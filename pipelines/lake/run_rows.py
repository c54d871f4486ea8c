"""The SQL condition for the rows of some runs, the same for Spark and for deltalake."""

from collections.abc import Collection

from pipelines.lake.run_summary import RunKey


def rows_of(runs: Collection[RunKey]) -> str:
    """Returns the SQL condition for the rows of these runs; RunKey has checked the names, so they are safe to quote."""
    dates = ", ".join(sorted({f"DATE'{run.run_date.isoformat()}'" for run in runs}))
    ids = sorted({run.run_id for run in runs})
    clusters = sorted({run.cluster for run in runs})
    condition = f"run_date IN ({dates}) AND run_id IN ({texts(ids)}) AND cluster IN ({texts(clusters)})"
    if len(ids) > 1:  # in a fleet, run ids differ by cluster: the pairs select the rows, the rest skips files
        condition += f" AND concat(cluster, '/', run_id) IN ({texts(sorted(f'{r.cluster}/{r.run_id}' for r in runs))})"
    return condition


def texts(values: Collection[str]) -> str:
    """Returns checked names as a list of SQL literals."""
    return ", ".join(f"'{value}'" for value in values)
