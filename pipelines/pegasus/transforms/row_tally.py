"""Examines Arrow batches of rows inside a task (the vectorised form of `domain.rows`), and sums them up by place.

So a few sums leave the task instead of millions of rows.
"""

import logging
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    IntegerType,
    LongType,
    StructField,
    StructType,
)

from pipelines.common.errors import UsageError
from pipelines.common.human import human_count
from pipelines.pegasus.domain.rows import U64_MASK, Placement, RowGroup, RowKind, RowTally, Tallies
from pipelines.pegasus.transforms.key_columns import binary_column, key_hashes, partition_indexes
from pipelines.pegasus.transforms.value_columns import value_heads

_LOG = logging.getLogger(__name__)
NO_BUCKET = -1
ROW_SCHEMA = pa.schema([("partition_index", pa.int32()), ("key", pa.binary()), ("value", pa.binary())])
"""All columns of a file of rows (docs/split-rows.md)."""
TALLY_SCHEMA = StructType(
    [
        StructField("partition_index", IntegerType()),
        StructField("bucket", IntegerType()),
        StructField("kind", ByteType()),
        StructField("expired", BooleanType()),
        StructField("forever", BooleanType()),
        StructField("rows", LongType()),
        StructField("bytes", LongType()),
        StructField("digest_sum", LongType()),
        StructField("digest_xor", LongType()),
    ]
)
"""The sums of the rows that one task has read. Unsigned 64-bit numbers are stored as signed ones with the same bits."""
Batches = Iterator[Any]
_SMALL = 1 << 16


class ExamineSettings(NamedTuple):
    """How the rows of one table are examined.

    Attributes:
        placement: how the rows of the table are distributed.
        groups: the number of groups; rows are grouped by `hash % groups`.
        now_s: seconds since 1970, to decide which rows have expired.
        buckets: the number of buckets of a group; rows are counted by `hash % (groups * buckets)`.
    """

    placement: Placement
    groups: int
    now_s: int
    buckets: int = 1


class ExaminedBatch(NamedTuple):
    """The result for a batch of rows; `RowGroup` and `RowTally` describe the columns."""

    lies_in: NDArray[np.int32]
    bucket: NDArray[np.int32]
    kind: NDArray[np.int8]
    expired: NDArray[np.bool_]
    forever: NDArray[np.bool_]
    size: NDArray[np.int64]
    digest: NDArray[np.uint64]
    hashes: NDArray[np.uint64]
    timetags: NDArray[np.uint64]


def examine_rows(batch: Any, question: ExamineSettings) -> ExaminedBatch:  # noqa: ANN401 - pyarrow ships no types
    """Returns the kind, owner and other properties of each row of a RecordBatch.

    The batch has `partition_index`, `key`, `head`, `value_length` and `digest` (see `row_frames.row_heads`).
    """
    placement = question.placement
    incomplete = _incomplete(batch)
    index = np.asarray(pc.fill_null(batch.column("partition_index"), 0))
    keys = binary_column(batch.column("key"))
    found = key_hashes(keys)
    heads = value_heads(binary_column(batch.column("head")), placement.data_version)
    owner = partition_indexes(found.hashes, placement.count)
    family = partition_indexes(found.hashes, placement.created_with) == index % placement.created_with
    kind = np.where(owner == index, RowKind.OWNED, np.where(family, RowKind.STALE, RowKind.FOREIGN)).astype(np.int8)
    kind[found.malformed | heads.malformed] = RowKind.MALFORMED
    kind[found.empty] = RowKind.EMPTY_WRITE
    kind[incomplete] = RowKind.INCOMPLETE
    kind[((index < 0) | (index >= placement.count)) & ~incomplete] = RowKind.OUT_OF_RANGE
    hashed = kind >= RowKind.FOREIGN
    bucket = partition_indexes(found.hashes, question.groups * question.buckets)
    bucket = np.where(hashed, bucket, NO_BUCKET).astype(np.int32)
    size = keys.lengths + np.asarray(pc.fill_null(batch.column("value_length"), 0))
    digest = np.asarray(pc.fill_null(batch.column("digest"), 0)).view(np.uint64)
    expired = heads.expired(question.now_s) & hashed
    forever = (heads.expire_ts == 0) & hashed
    return ExaminedBatch(index, bucket, kind, expired, forever, size, digest, found.hashes, heads.timetags)


def in_buckets(question: ExamineSettings, buckets: Collection[int]) -> Callable[[Any], NDArray[np.bool_]]:
    """Returns a function that says which keys of a pyarrow array may be in one of these buckets."""
    asked = np.array(sorted(buckets), dtype=np.int32)

    def chosen(keys: Any) -> NDArray[np.bool_]:  # noqa: ANN401 - pyarrow ships no types
        found: NDArray[np.bool_] = np.isin(
            partition_indexes(key_hashes(binary_column(keys)).hashes, question.groups * question.buckets), asked
        )
        return found

    return chosen


def tally_of(question: ExamineSettings) -> Callable[[Batches], Batches]:
    """Returns the function for `mapInArrow` that turns all batches of a task into one batch of sums."""

    def count(batches: Batches) -> Batches:
        tallies: Tallies = {}
        for batch in batches:
            add_batch(tallies, examine_rows(batch, question))
        yield _as_batch(tallies)

    return count


def add_batch(tallies: Tallies, rows: ExaminedBatch) -> None:
    """Adds the rows of one batch to the tallies."""
    if not len(rows.lies_in):
        return
    kinds = len(RowKind)
    codes = ((rows.lies_in.astype(np.int64) << 24 | (rows.bucket + 1)) * kinds + rows.kind) * 4
    codes += rows.expired * 2 + rows.forever
    codes = np.asarray(pa.array(codes).dictionary_encode().indices)
    if len(codes) <= _SMALL:
        codes = codes.astype(np.uint16)  # numpy sorts them by their digits
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    begins = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    counts = np.diff(np.append(begins, len(codes)))
    sizes = np.add.reduceat(rows.size[order], begins)
    digests = rows.digest[order]
    sums = np.add.reduceat(digests, begins)
    xors = np.bitwise_xor.reduceat(digests, begins)
    for place, begin in enumerate(begins.tolist()):
        row = order[begin]
        where = RowGroup(
            int(rows.lies_in[row]),
            int(rows.bucket[row]),
            RowKind(int(rows.kind[row])),
            bool(rows.expired[row]),
            bool(rows.forever[row]),
        )
        more = RowTally(*(int(column[place]) for column in (counts, sizes, sums, xors)))
        tallies[where] = tallies[where] + more if where in tallies else more


def merged_sums(rows: Iterator[Any]) -> Tallies:
    """Merges the sums of all tasks; the input has rows of `TALLY_SCHEMA`."""
    tallies: Tallies = {}
    for row in rows:
        where = RowGroup(row["partition_index"], row["bucket"], RowKind(row["kind"]), row["expired"], row["forever"])
        more = RowTally(row["rows"], row["bytes"], row["digest_sum"] & U64_MASK, row["digest_xor"] & U64_MASK)
        tallies[where] = tallies[where] + more if where in tallies else more
    return tallies


def check_tallies(tallies: Tallies, uri: str, placement: Placement) -> Tallies:
    """Checks the sums of a table's rows, and returns them unchanged.

    Raises:
        UsageError: a row belongs to a partition that the table does not have, or a row lacks a column.
    """
    for kind, words in (
        (RowKind.OUT_OF_RANGE, f"rows of partition {{index}}, but the given partition count is {placement.count}"),
        (RowKind.INCOMPLETE, "rows without a partition_index, key or value (such as one of partition {index})"),
    ):
        if places := [place.index for place in tallies if place.kind is kind]:
            raise UsageError(f"{uri}: {words.format(index=min(places))}; docs/split-rows.md has the format")
    total = sum(tally.rows for tally in tallies.values())
    _LOG.info("%s: %s counted", uri, human_count(total, "row"))
    return tallies


def _incomplete(batch: Any) -> NDArray[np.bool_]:  # noqa: ANN401 - pyarrow ships no types
    missing = np.zeros(batch.num_rows, dtype=np.bool_)
    for name in ("partition_index", "key", "head"):
        column = batch.column(name)
        if column.null_count:
            missing |= np.asarray(column.is_null())
    return missing


def _as_batch(tallies: Tallies) -> Any:  # noqa: ANN401 - pyarrow ships no types
    places, sums = list(tallies), list(tallies.values())
    columns = [
        pa.array([one.index for one in places], pa.int32()),
        pa.array([one.bucket for one in places], pa.int32()),
        pa.array([int(one.kind) for one in places], pa.int8()),
        pa.array([one.expired for one in places], pa.bool_()),
        pa.array([one.forever for one in places], pa.bool_()),
        pa.array([one.rows for one in sums], pa.int64()),
        pa.array([one.bytes for one in sums], pa.int64()),
        _bits([one.digest_sum for one in sums]),
        _bits([one.digest_xor for one in sums]),
    ]
    return pa.RecordBatch.from_arrays(columns, names=TALLY_SCHEMA.names)


def _bits(values: list[int]) -> Any:  # noqa: ANN401 - pyarrow ships no types
    """Returns unsigned numbers as signed numbers with the same bits."""
    bits: NDArray[np.int64] = np.array(values, dtype=np.uint64).view(np.int64)
    return pa.array(bits)
