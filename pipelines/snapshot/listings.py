"""Reads the listings of opened snapshots, counts what is in them, and compares their rows with snapshot.json."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from pipelines.common.conditions import Condition
from pipelines.common.spark.few_rows import at_hand, session_for_rows
from pipelines.common.spark.local_frames import local_frame
from pipelines.files.file_reader import plain_uri
from pipelines.hbase.wal_root import OLD_WALS, REMOTE_WALS, WALS
from pipelines.lake.lake_errors import is_damaged_file
from pipelines.snapshot.few_files import few_files
from pipelines.snapshot.opened_snapshot import ListingTotals, OpenedSnapshot
from schemas.snapshot_files import SNAPSHOT_FILES

_MOST_BYTES = 1 << 62
_PARTS = StructType([StructField("part", StringType()), StructField("cluster", StringType())])


class Listings:
    """The listings of the snapshots of one run; few rows are read once, whoever asks for them."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._frames: dict[tuple[str, ...], DataFrame] = {}
        self._small: dict[tuple[str, ...], pa.Table] = {}

    def counted(self, opened: Sequence[OpenedSnapshot]) -> list[OpenedSnapshot]:
        """Returns the snapshots with `listing_parts` and `listing`; a wrong number of rows becomes the `fault`."""
        if len(opened) == 1 and opened[0].listing_readable and (parts := few_files(opened[0])) is not None:
            self._small[_place(opened)] = pa.concat_tables(parts.values())
            return [_counted(opened[0], {name.removeprefix("files/"): totals_of(part) for name, part in parts.items()})]
        return self._counted_by_spark(opened)

    def _counted_by_spark(self, opened: Sequence[OpenedSnapshot]) -> list[OpenedSnapshot]:
        readable = [one for one in opened if one.listing_readable]
        if not readable:
            return list(opened)
        counts: dict[str, dict[str, ListingTotals]] = {}
        spelled: dict[str, list[str]] = {}
        try:
            found = totals_by_part(self._rows(readable))
        except (PySparkException, Py4JJavaError) as error:
            if not is_damaged_file(error):
                raise
            if len(opened) > 1:  # a damaged snapshot of one cluster must not stop the others
                return [counted for one in opened for counted in self._counted_by_spark([one])]
            fault = f"{readable[0].uri}/files: a part is not a readable Parquet file; capture again"
            damaged = Condition.SNAPSHOT_DAMAGED
            return [replace(readable[0], fault=fault, fault_condition=damaged, listing_readable=False)]
        for part, totals in found.items():
            directory, _, name = part.rpartition("/")
            place = plain_uri(directory)
            spelled.setdefault(place, []).append(part)
            counts.setdefault(place, {})[unquote(name)] = totals
        return [
            _counted(one, counts.get(f"{one.uri}/files", {}), spelled.get(f"{one.uri}/files", ()))
            if one.listing_readable
            else one
            for one in opened
        ]

    def files(self, opened: Sequence[OpenedSnapshot]) -> DataFrame:
        """Returns the listings of these snapshots: `cluster`, `path`, `length` (bytes), `modification_time`.

        Args:
            opened: snapshots that `counted` returned, several of them only if they were opened together.

        Raises:
            ValueError: one of several snapshots was opened alone, so that the paths of its parts are not known.
        """
        place = _place(opened)
        if place not in self._frames:
            frame = self._files(opened)
            self._frames[place] = frame if place in self._small else at_hand(frame, _listed(opened))
        return self._frames[place]

    def _files(self, opened: Sequence[OpenedSnapshot]) -> DataFrame:
        if not opened:
            empty = local_frame(self._session(opened), [], SNAPSHOT_FILES)
            return empty.select(F.lit("").alias("cluster"), *SNAPSHOT_FILES.names)
        if len(opened) == 1:
            small = self._small.get(_place(opened))
            rows = self._rows(opened) if small is None else self._session(opened).createDataFrame(small, SNAPSHOT_FILES)
            return rows.select(F.lit(opened[0].cluster).alias("cluster"), *SNAPSHOT_FILES.names)
        if any(one.known.listed and not one.listing_parts and one.fault is None for one in opened):
            raise ValueError("snapshots whose listings are read together must be opened together")
        parts = [(part, one.cluster) for one in opened for part in one.listing_parts]
        clusters = F.broadcast(local_frame(self._session(opened), parts, _PARTS))
        # joined by the whole path: Spark would cut the directory from it for each row (measured: 0.7 s for a million)
        return self._rows(opened).join(clusters, "part").select("cluster", *SNAPSHOT_FILES.names)

    def _rows(self, opened: Sequence[OpenedSnapshot]) -> DataFrame:
        """Returns the rows of these snapshots, each with its `part`, the path of its file as Spark spells it."""
        listing = self._session(opened).read.schema(SNAPSHOT_FILES).parquet(*(f"{one.uri}/files" for one in opened))
        return listing.withColumn("part", F.col("_metadata.file_path"))

    def _session(self, opened: Sequence[OpenedSnapshot]) -> SparkSession:
        return session_for_rows(self._spark, _listed(opened))


def _place(opened: Sequence[OpenedSnapshot]) -> tuple[str, ...]:
    return tuple(one.uri for one in opened)


def _listed(opened: Sequence[OpenedSnapshot]) -> int:
    return sum(one.known.listed for one in opened)


def totals_by_part(rows: DataFrame) -> dict[str, ListingTotals]:
    """Returns the totals of each part, by its path as Spark spells it.

    Args:
        rows: `part`, `path`, `length` (bytes).
    """
    path = F.col("path")
    live = F.when(path.startswith(f"{WALS}/"), F.split_part(path, F.lit("/"), F.lit(2)))
    counted = rows.groupBy("part", live.alias("live_directory")).agg(
        F.count(F.lit(1)).alias("rows"),
        F.count_if(path.startswith(f"{OLD_WALS}/")).alias("archived_files"),
        F.try_sum(F.when(path.startswith(f"{OLD_WALS}/"), F.col("length"))).alias("archived_bytes"),
        F.count_if(path.startswith(f"{REMOTE_WALS}/")).alias("remote_files"),
        F.sum(F.abs(F.col("length").cast("double"))).alias("bytes"),
        F.count_if(~F.is_valid_utf8(path)).alias("not_utf8_paths"),
    )
    found: dict[str, list[ListingTotals]] = {}
    for row in counted.collect():
        live_directories = frozenset(() if row["live_directory"] is None else (row["live_directory"],))
        archived = row["archived_files"], row["archived_bytes"] or 0
        totals = ListingTotals(
            row["rows"], *archived, row["remote_files"], live_directories, row["bytes"] or 0, row["not_utf8_paths"]
        )
        found.setdefault(row["part"], []).append(totals)
    return {part: _sum(totals) for part, totals in found.items()}


def totals_of(rows: pa.Table) -> ListingTotals:
    """Returns the totals of one part that is in the driver: `path`, `length` (bytes)."""
    paths = [path or "" for path in rows["path"].to_pylist()]
    lengths = rows["length"].to_pylist()
    archived = [length or 0 for path, length in zip(paths, lengths, strict=True) if path.startswith(f"{OLD_WALS}/")]
    return ListingTotals(
        len(paths),
        len(archived),
        sum(archived),
        sum(path.startswith(f"{REMOTE_WALS}/") for path in paths),
        frozenset(path.split("/")[1] for path in paths if path.startswith(f"{WALS}/")),
        sum(abs(length or 0) for length in lengths),
    )


def _sum(totals: Collection[ListingTotals]) -> ListingTotals:
    return ListingTotals(
        sum(one.rows for one in totals),
        sum(one.archived_files for one in totals),
        sum(one.archived_bytes for one in totals),
        sum(one.remote_files for one in totals),
        frozenset().union(*(one.live_directories for one in totals)),
        sum(one.bytes for one in totals),
        sum(one.not_utf8_paths for one in totals),
    )


def _counted(opened: OpenedSnapshot, counts: Mapping[str, ListingTotals], parts: Iterable[str] = ()) -> OpenedSnapshot:
    """Compares the row count of each part with snapshot.json; a difference becomes the `fault`.

    So do lengths that together are more than Spark could sum up later, and paths that no reader of the tables takes.
    """
    counted = replace(opened, listing_parts=tuple(parts), listing=_sum(counts.values()))
    if counted.listing.bytes > _MOST_BYTES or counted.listing.not_utf8_paths:
        wrong = (
            "a path is not UTF-8" if counted.listing.not_utf8_paths else "the lengths are more than 2^62 bytes together"
        )
        fault = f"{opened.uri}/files: {wrong}; capture again"
        return replace(opened, fault=opened.fault or fault, listing_readable=False)
    for name, content in opened.known.contents.items():
        found = counts.get(name.removeprefix("files/"), ListingTotals()).rows
        if name.startswith("files/") and found != content.rows:
            fault = f"{opened.uri}/{name}: {found} rows, but snapshot.json says {content.rows}; capture again"
            return replace(counted, fault=counted.fault or fault)
    return counted
