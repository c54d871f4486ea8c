"""Counts the rows of each listing, and the paths that it contains more than once."""

from collections import defaultdict
from collections.abc import Mapping

from pyspark.sql import DataFrame

from pipelines.common.spark.few_rows import few
from pipelines.decide.rule.remote_wals import REMOTE_WALS
from pipelines.decide.spark import summary
from pipelines.reconcile.rows import ListingCounts


def listing_counts(files: DataFrame, rows: int) -> Mapping[str, ListingCounts]:
    """Returns the counts of each cluster; those of few rows, which are in the driver, without a Spark job.

    Args:
        files: `cluster`, `path`, `length`.
        rows: approximate number of rows.
    """
    return _few(files) if few(rows) else _many(files, rows)


def _few(files: DataFrame) -> Mapping[str, ListingCounts]:
    paths: dict[str, list[str]] = defaultdict(list)
    sizes: dict[str, int] = defaultdict(int)
    for cluster, path, length in files.select("cluster", "path", "length").collect():
        paths[cluster].append(path or "")
        sizes[cluster] += length or 0 if (path or "").startswith("oldWALs/") else 0
    return {
        cluster: ListingCounts(
            len(own),
            sum(path.startswith("oldWALs/") for path in own),
            sizes[cluster],
            len(own) - len(set(own)),
            sum(path.startswith(f"{REMOTE_WALS}/") for path in own),
        )
        for cluster, own in paths.items()
    }


def _many(files: DataFrame, rows: int) -> Mapping[str, ListingCounts]:
    repeats: dict[str, int] = {}
    if summary.repeated_hashes(files, rows).collect()[0]["repeated"]:
        repeats = {row["cluster"]: row["duplicate_paths"] for row in summary.duplicate_paths(files).collect()}
    return {
        row["cluster"]: ListingCounts(
            row["rows"],
            row["archived_files"],
            row["archived_bytes"] or 0,
            repeats.get(row["cluster"], 0),
            row["remote_files"],
        )
        for row in summary.listing_totals(files).collect()
    }
