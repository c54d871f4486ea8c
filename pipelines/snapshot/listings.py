"""Reads the listings of opened snapshots, and compares the number of their rows with snapshot.json."""

import re
from collections.abc import Iterable, Mapping, Sequence
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
from pipelines.snapshot.few_files import few_files
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from schemas.snapshot_files import SNAPSHOT_FILES

_NOT_PARQUET = re.compile(r"CANNOT_READ_FILE_FOOTER|is not a Parquet file|FAILED_READ_FILE|ParquetDecodingException")
_PARTS = StructType([StructField("part", StringType()), StructField("cluster", StringType())])


class Listings:
    """The listings of the snapshots of one run; few rows are read once, whoever asks for them."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._frames: dict[tuple[str, ...], DataFrame] = {}
        self._small: dict[tuple[str, ...], pa.Table] = {}

    def counted(self, opened: Sequence[OpenedSnapshot]) -> list[OpenedSnapshot]:
        """Returns the snapshots with `listing_parts`; a wrong number of rows becomes the `fault` of that snapshot."""
        if len(opened) == 1 and opened[0].listing_readable and (parts := few_files(opened[0])) is not None:
            self._small[_place(opened)] = pa.concat_tables(parts.values())
            return [_counted(opened[0], {name.removeprefix("files/"): rows.num_rows for name, rows in parts.items()})]
        return self._counted_by_spark(opened)

    def _counted_by_spark(self, opened: Sequence[OpenedSnapshot]) -> list[OpenedSnapshot]:
        readable = [one for one in opened if one.listing_readable]
        if not readable:
            return list(opened)
        counts: dict[str, dict[str, int]] = {}
        spelled: dict[str, list[str]] = {}
        try:
            found = self._rows(readable).groupBy("part").count().collect()
        except (PySparkException, Py4JJavaError) as error:
            if not _NOT_PARQUET.search(str(error)):
                raise
            if len(opened) > 1:  # a damaged snapshot of one cluster must not stop the others
                return [counted for one in opened for counted in self._counted_by_spark([one])]
            fault = f"{readable[0].uri}/files: a part is not a readable Parquet file; capture again"
            damaged = Condition.SNAPSHOT_DAMAGED
            return [replace(readable[0], fault=fault, fault_condition=damaged, listing_readable=False)]
        for part, rows in found:
            directory, _, name = part.rpartition("/")
            place = plain_uri(directory)
            spelled.setdefault(place, []).append(part)
            counts.setdefault(place, {})[unquote(name)] = rows
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


def _counted(opened: OpenedSnapshot, counts: Mapping[str, int], parts: Iterable[str] = ()) -> OpenedSnapshot:
    """Compares the row count of each part with snapshot.json; a difference becomes the `fault`."""
    counted = replace(opened, listing_parts=tuple(parts))
    for name, content in opened.known.contents.items():
        found = counts.get(name.removeprefix("files/"), 0)
        if name.startswith("files/") and found != content.rows:
            fault = f"{opened.uri}/{name}: {found} rows, but snapshot.json says {content.rows}; capture again"
            return replace(counted, fault=counted.fault or fault)
    return counted
