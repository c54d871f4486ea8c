"""Makes the same decision with polars, as a second yardstick beside DuckDB: the same tables, lookups and counts."""

import os
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from pipelines.decide.spark.lookup import DecisionFrames, start_column

LEAST_PLAIN = 1_000_000_000_000
"""The smallest timestamp of thirteen digits."""
ODD_TIMESTAMP = r"[^/]+\.([0-9]+)(?:\.[0-9A-Za-z]+)?$"
ODD_GROUP = r"([^/]+)\.[0-9]+(?:\.[0-9A-Za-z]+)?$"
SERVER = r"^([^%]+%2C[0-9]+%2C[0-9]+)"


class PolarsDecision:
    """The decision on one snapshot, made by polars' streaming engine.

    Args:
        snapshot: the snapshot directory.
        frames: the frames that walsafe broadcasts for it; only one cluster.
        threads: as many threads as Spark has; polars reads the number once per process, when it is imported.
    """

    name = "polars"

    def __init__(self, snapshot: Path, frames: DecisionFrames, threads: int) -> None:
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        import polars as pl  # noqa: PLC0415 - not before it knows how many threads

        self._pl: Any = pl
        self._files = str(snapshot / "files" / "*.parquet")
        self._starts = frames.starts
        (self._scalars,) = frames.clusters
        self._groups = self._table(frames.groups)
        self._servers = self._table(frames.servers.select("encoded", "plain_bucket"))
        self._answers = self._table(frames.answers.select("bucket", "answer_reason"))

    def by_reason(self) -> dict[str, int]:
        """Returns the number of files by reason."""
        pl = self._pl
        counts = self._reasons().group_by("reason").agg(pl.len()).collect(engine="streaming")
        return dict(counts.rows())

    def _table(self, frame: Any) -> Any:  # noqa: ANN401 - a DataFrame of Spark, then of polars
        return self._pl.from_arrow(frame.toArrow()).lazy()

    def _reasons(self) -> Any:  # noqa: ANN401 - polars is imported later
        pl, own = self._pl, self._scalars
        modified = pl.col("modification_time").dt.epoch("ms")
        looked_up = self._looked_up().join(self._answers, on="bucket", how="left")
        return looked_up.select(
            pl.when(pl.col("wal_group").is_null())
            .then(pl.lit("INVALID_NAME"))
            .when(modified > own["files_finished"])
            .then(pl.lit("FUTURE_TIMESTAMP"))
            .when(own["files_started"] - modified - own["wal_ttl"] <= 0)
            .then(pl.lit("TOO_YOUNG"))
            .when(pl.col("meta"))
            .then(pl.lit("META_WAL"))
            .when(pl.col("ts").is_null())
            .then(pl.lit("POISON_NAME"))
            .otherwise(pl.col("answer_reason"))
            .alias("reason")
        )

    def _looked_up(self) -> Any:  # noqa: ANN401 - polars is imported later
        """Returns the bucket of every file: that of its group, else of its server, else of the cluster."""
        pl = self._pl
        found = self._named().join(self._groups, on="wal_group", how="left")
        passed = [
            (pl.col("ts") > pl.col(start_column(number))).cast(pl.Int32).fill_null(0) for number in range(self._starts)
        ]
        stretch = reduce(add, passed, pl.col("first_bucket"))
        known = pl.col("first_bucket").is_not_null()
        bucket = pl.when(pl.col("ts").is_null()).then(pl.col("overflow_bucket")).otherwise(stretch)
        columns = ("modification_time", "meta", "ts", "wal_group")
        by_group = found.filter(known).select(*columns, bucket.alias("bucket"))
        by_server = (
            found.filter(~known)
            .with_columns(pl.col("wal_group").str.extract(SERVER).alias("encoded"))
            .join(self._servers, on="encoded", how="left")
            .select(*columns, pl.col("plain_bucket").fill_null(self._scalars["unknown_bucket"]).alias("bucket"))
        )
        return pl.concat([by_group, by_server])

    def _named(self) -> Any:  # noqa: ANN401 - polars is imported later
        """Returns group and timestamp of every name.

        They are cut out of usual names, and found by regular expressions in the others.

        polars computes all branches of a `when` for every row, so the two kinds of names are separated first.
        """
        pl = self._pl
        bare = pl.col("path").str.strip_suffix(".meta")
        digits = bare.str.tail(13)
        cut = pl.scan_parquet(self._files).select(
            "path",
            "modification_time",
            pl.col("path").str.ends_with(".meta").alias("meta"),
            digits.cast(pl.Int64, strict=False).alias("number"),
            bare.str.head(-13).alias("front"),
        )
        plain = (
            (pl.col("number") >= LEAST_PLAIN)
            & pl.col("front").str.ends_with(".")
            & pl.col("front").str.starts_with("oldWALs/")
            & ~pl.col("front").str.slice(8).str.contains("/", literal=True)
        ).fill_null(value=False)
        group = pl.col("front").str.strip_prefix("oldWALs/").str.strip_suffix(".")
        usual = cut.filter(plain).select(
            "modification_time", "meta", pl.col("number").alias("ts"), group.alias("wal_group")
        )
        other = cut.filter(~plain).select(
            "modification_time",
            "meta",
            pl.col("path").str.extract(ODD_TIMESTAMP).cast(pl.Int64, strict=False).alias("ts"),
            pl.col("path").str.extract(ODD_GROUP).alias("wal_group"),
        )
        return pl.concat([usual, other])
