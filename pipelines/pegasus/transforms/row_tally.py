"""Sums up rows by place inside a task, so that a few sums leave the task instead of millions of rows."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    IntegerType,
    LongType,
    StructField,
    StructType,
)

from pipelines.pegasus.domain.rows import U64_MASK, RowGroup, RowKind, RowTally, Tallies
from pipelines.pegasus.transforms.examined_rows import ExaminedBatch, ExamineSettings, examine_rows

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
