"""Counts and compares rows of tables as DataFrames.

Counting needs no shuffle. Only rows whose sums differ are compared key by key.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from pipelines.pegasus.domain.rows import U64_MASK, RowKind, Tallies
from pipelines.pegasus.domain.verify.compare import AFTER, BEFORE
from pipelines.pegasus.domain.verify.judge import DifferenceReason, KeyCopy, KeyFacts, key_problems
from pipelines.pegasus.transforms.row_tally import (
    TALLY_SCHEMA,
    Batches,
    ExamineSettings,
    examine_rows,
    merged_sums,
    tally_of,
)
from pipelines.pegasus.transforms.value_columns import HEAD_BYTES

DETAIL_SCHEMA = StructType(
    [
        StructField("partition_index", IntegerType()),
        StructField("group", IntegerType()),
        StructField("kind", ByteType()),
        StructField("expired", BooleanType()),
        StructField("key", BinaryType()),
        StructField("hash", LongType()),
        StructField("digest", LongType()),
        StructField("timetag", LongType()),
    ]
)
JUDGED_SCHEMA = StructType(
    [
        StructField("group", IntegerType()),
        StructField("reason", StringType()),
        StructField("side", StringType()),
        StructField("key", BinaryType()),
        StructField("hash", LongType()),
        StructField("before_index", IntegerType()),
        StructField("after_index", IntegerType()),
        StructField("before_timetag", LongType()),
        StructField("after_timetag", LongType()),
        StructField("stale_timetag", LongType()),
        StructField("detail", StringType()),
    ]
)


def row_heads(rows: DataFrame) -> DataFrame:
    """Selects the needed part of every row.

    Only the first bytes, the length and a digest of the value leave the JVM.
    """
    return rows.select(
        "partition_index",
        "key",
        F.substring("value", 1, HEAD_BYTES).alias("head"),
        F.length("value").cast("long").alias("value_length"),
        F.xxhash64("key", "value").alias("digest"),
    )


class Heads(Protocol):
    """Rows with the columns of `row_heads`, wherever they are read."""

    def mapInArrow(self, function: Callable[[Batches], Batches], schema: StructType) -> DataFrame:  # noqa: N802 - Spark's name
        """Applies a function to the batches of each task."""
        ...


def row_sums(heads: Heads, question: ExamineSettings) -> Tallies:
    """Returns the sums of all rows, without a shuffle."""
    counted = heads.mapInArrow(tally_of(question), TALLY_SCHEMA)
    return merged_sums(iter(counted.collect()))


def detail_rows(
    heads: Heads, question: ExamineSettings, buckets: Collection[int], kinds: Collection[RowKind]
) -> DataFrame:
    """Returns the single rows of some buckets or of some kinds."""
    asked = np.array(sorted(buckets), dtype=np.int32)
    odd = np.array(sorted(kinds), dtype=np.int8)

    def pick(batches: Batches) -> Batches:
        for batch in batches:
            found = examine_rows(batch, question)
            wanted = np.isin(found.bucket, asked) & (found.kind >= RowKind.STALE) | np.isin(found.kind, odd)
            group = np.where(found.bucket >= 0, found.bucket % question.groups, found.bucket)
            columns = (found.lies_in, group, found.kind, found.expired)
            bits = (found.hashes, found.digest, found.timetags)
            arrays = [pa.array(column[wanted]) for column in columns]
            arrays.append(batch.column("key").filter(pa.array(wanted)))
            arrays += [pa.array(column[wanted].view(np.int64)) for column in bits]
            yield pa.RecordBatch.from_arrays(arrays, names=DETAIL_SCHEMA.names)

    return heads.mapInArrow(pick, DETAIL_SCHEMA)


def judged_keys(before: DataFrame, after: DataFrame) -> DataFrame:
    """Judges every key of two frames of `DETAIL_SCHEMA`; shuffles only these rows."""
    both = before.withColumn("side", F.lit(BEFORE)).unionByName(after.withColumn("side", F.lit(AFTER)))
    which = {
        "before": (F.col("side") == BEFORE) & (F.col("kind") == int(RowKind.OWNED)),
        "after": (F.col("side") == AFTER) & (F.col("kind") == int(RowKind.OWNED)),
    }
    sums = [column for name, condition in which.items() for column in _copy(name, condition)]
    copy = F.struct(F.col("partition_index").alias("index"), "digest", "expired", "timetag")
    for side in (BEFORE, AFTER):
        left = (F.col("side") == side) & (F.col("kind") == int(RowKind.STALE))
        sums.append(F.collect_list(F.when(left, copy)).alias(f"copies_{side}"))
    keys = both.where(F.col("kind") >= int(RowKind.STALE)).groupBy("key", "hash", "group").agg(*sums)
    same = (F.col("before_rows") == 1) & (F.col("after_rows") == 1) & (F.size("copies_after") == 0)
    return keys.where(~(same & (F.col("before_digest") == F.col("after_digest")))).mapInArrow(_judge, JUDGED_SCHEMA)


def odd_rows(frame: DataFrame, side: str) -> DataFrame:
    """Returns the rows of `DETAIL_SCHEMA` whose kind alone is a difference, in the form `JUDGED_SCHEMA`."""
    foreign, stale = (F.col("kind") == int(kind) for kind in (RowKind.FOREIGN, RowKind.STALE))
    word = F.when(foreign, DifferenceReason.FOREIGN.value).when(stale, DifferenceReason.STALE.value)
    index = F.col("partition_index")
    detail = F.when(foreign, F.concat(F.lit("lies in partition "), index, F.lit(", where it never belonged"))).when(
        stale, F.concat(F.lit("still lies in partition "), index, F.lit(" after its compaction"))
    )
    nothing = F.lit(None).cast("long")
    return frame.select(
        F.when(F.col("group") >= 0, F.col("group")).alias("group"),
        F.coalesce(word, F.lit(DifferenceReason.MALFORMED.value)).alias("reason"),
        F.lit(side).alias("side"),
        "key",
        F.when(F.col("group") >= 0, F.col("hash")).alias("hash"),
        F.when(F.lit(side == BEFORE), index).alias("before_index"),
        F.when(F.lit(side == AFTER), index).alias("after_index"),
        (F.col("timetag") if side == BEFORE else nothing).alias("before_timetag"),
        (F.col("timetag") if side == AFTER else nothing).alias("after_timetag"),
        nothing.alias("stale_timetag"),
        F.coalesce(detail, F.lit("Pegasus does not write such a key or value")).alias("detail"),
    )


def _copy(name: str, condition: Column) -> list[Column]:
    """Returns the fields of a `KeyCopy`."""

    def of(column: str) -> Column:
        return F.max(F.when(condition, F.col(column)))

    return [
        F.count_if(condition).alias(f"{name}_rows"),
        of("partition_index").alias(f"{name}_index"),
        of("digest").alias(f"{name}_digest"),
        F.coalesce(F.min(F.when(condition, F.col("expired"))), F.lit(False)).alias(f"{name}_expired"),
        F.coalesce(of("timetag"), F.lit(0)).alias(f"{name}_timetag"),
    ]


def _judge(batches: Batches) -> Batches:
    for batch in batches:
        rows = [row for facts in batch.to_pylist() for row in _judged_rows(facts)]
        columns = list(zip(*rows, strict=True)) or [()] * len(_ARROW)
        arrays = [pa.array(list(column), field.type) for column, field in zip(columns, _ARROW, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


_COPIES = ("before", "after", "stale")
_NO_COPY = {"index": None, "digest": None, "expired": False, "timetag": 0}
_ARROW = to_arrow_schema(JUDGED_SCHEMA)


def _judged_rows(facts: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    known = frozenset(one["digest"] for one in facts["copies_before"])
    rows_before = known | {facts["before_digest"], facts["after_digest"]}
    left, owner = facts["copies_after"], facts["after_timetag"]

    def worst(one: dict[str, Any]) -> tuple[bool, bool, bool, int]:
        newer = not one["expired"] and 0 < owner < one["timetag"]
        return newer, one["digest"] not in rows_before, not one["expired"], one["timetag"]

    newest = max(left, key=worst, default=_NO_COPY)
    facts |= {f"stale_{name}": value for name, value in newest.items()} | {"stale_rows": len(left)}
    before, after, stale = (_read_copy(facts, name) for name in _COPIES)
    for found in key_problems(KeyFacts(before, after, stale, known)):
        tags = (facts[f"{name}_timetag"] or None for name in _COPIES)
        where = (facts["before_index"], facts["after_index"])
        about = (facts["group"], found.reason.value, found.side, facts["key"], facts["hash"])
        yield (*about, *where, *tags, found.detail)


def _read_copy(facts: dict[str, Any], name: str) -> KeyCopy:
    rows, index, digest, expired, timetag = (
        facts[f"{name}_{field}"] for field in ("rows", "index", "digest", "expired", "timetag")
    )
    return KeyCopy(rows, index, digest, expired, timetag & U64_MASK)


def reason_counts(frame: DataFrame) -> dict[tuple[int | None, str, str], int]:
    """Counts differences by (partition, reason, side)."""
    rows = frame.groupBy("group", "reason", "side").count().collect()
    return {(row["group"], row["reason"], row["side"]): row["count"] for row in rows}
