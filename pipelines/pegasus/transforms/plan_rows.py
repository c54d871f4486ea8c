"""Computes hashes and sizes of a table's keys."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BinaryType, BooleanType, LongType, StructField, StructType

from pipelines.common.errors import UsageError
from pipelines.pegasus.domain.split_plan import RowTotals
from pipelines.pegasus.transforms.key_columns import binary_column, key_hashes, partition_indexes

HASHED = StructType(
    [
        StructField("hash", LongType()),
        StructField("size", LongType()),
        StructField("malformed", BooleanType()),
        StructField("copy", BooleanType()),
        StructField("key", BinaryType()),
    ]
)
_ARROW = to_arrow_schema(HASHED)
_COLUMNS = {"partition_index", "key", "value", "value_bytes"}


def hashed_keys(rows: DataFrame, where: str, count: int) -> DataFrame:
    """Returns each key with its hash and the bytes of key and value, without records of empty writes.

    A row in a partition that does not own it is a `copy`; without `partition_index`, none is.

    Args:
        rows: the columns `key` (raw key), and `value` or `value_bytes`; `partition_index` may be missing.
        where: the name of the rows in messages.
        count: the number of partitions of the table, a power of two.

    Raises:
        UsageError: a column is missing, unknown or of another type.
    """
    kinds = dict(rows.dtypes)
    unknown = sorted(set(kinds) - _COLUMNS)
    if unknown:
        raise UsageError(f"{where}: unknown column {unknown[0]!r}; docs/split-plan.md lists the allowed columns")
    if kinds.get("key") != "binary":
        raise UsageError(
            f"{where}: column 'key' must be the raw key as BINARY, found {kinds.get('key', 'no such column')}"
        )
    if kinds.get("value") == "binary":
        size = F.length("value")
    elif kinds.get("value_bytes") in {"int", "bigint"}:
        size = F.col("value_bytes")
    else:
        raise UsageError(f"{where} needs the column 'value' as BINARY, or 'value_bytes' as a number")
    if kinds.get("partition_index", "int") not in {"int", "bigint"}:
        raise UsageError(f"{where}: column 'partition_index' must be a number, found {kinds['partition_index']}")
    unknown_place = F.lit(-1)
    index = F.coalesce("partition_index", unknown_place) if "partition_index" in kinds else unknown_place
    sized = rows.select(F.coalesce("key", F.lit(b"")), size.cast("long"), index.cast("long"))
    return sized.mapInArrow(hash_rows(count), HASHED)


def check_partitions(rows: DataFrame, where: str, count: int) -> None:
    """Checks `partition_index`, if the rows have it: that of another number of partitions makes rows look like copies.

    Raises:
        UsageError: a row is in a partition outside `count`.
    """
    if "partition_index" not in rows.columns:
        return
    index = F.col("partition_index")
    wrong = rows.agg(F.max(F.when((index < 0) | (index >= count), index)).alias("index")).collect()[0]["index"]
    if wrong is not None:
        raise UsageError(f"{where}: a row belongs to partition {wrong}, but the table has {count} partitions")


def sizes_by_hash_bits(keys: DataFrame, count: int) -> dict[int, RowTotals]:
    """Returns rows and bytes by the low bits of the hash, as many bits as `count` partitions need."""
    low = F.col("hash").bitwiseAND(F.lit(count - 1)).alias("low")
    rows = (
        keys.where("NOT malformed").groupBy(low).agg(F.count("*").alias("rows"), F.sum("size").alias("bytes")).collect()
    )
    return {row["low"]: RowTotals(row["rows"], row["bytes"] or 0) for row in rows}


def hot_hashes(keys: DataFrame, target: int, most: int) -> list[tuple[int, int, int, bytes]]:
    """Returns the hashes above `target` bytes, which no split divides: hash, rows, bytes, one of the keys."""
    sums = keys.where("NOT malformed").groupBy("hash")
    found = sums.agg(F.count("*").alias("rows"), F.sum("size").alias("bytes"), F.min("key").alias("key"))
    rows = found.where(F.col("bytes") > target).orderBy(F.desc("bytes")).limit(most).collect()
    return [(row["hash"], row["rows"], row["bytes"], bytes(row["key"])) for row in rows]


def hash_rows(count: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Returns the function for `mapInArrow` that turns keys, sizes and partitions (-1 = unknown) into `HASHED`."""

    def hashed(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            keys, values, places = batch.columns
            column = binary_column(keys)
            found = key_hashes(column)
            lengths = np.asarray(values.fill_null(0)) + column.lengths
            index = np.asarray(places)
            copy = (index >= 0) & (partition_indexes(found.hashes, count) != index) & ~found.malformed
            numbers = (found.hashes.view(np.int64), lengths, found.malformed, copy)
            rows = pa.RecordBatch.from_arrays([*map(pa.array, numbers), keys], schema=_ARROW)
            yield rows.filter(pa.array(~found.empty))

    return hashed
