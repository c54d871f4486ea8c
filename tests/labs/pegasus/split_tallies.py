"""Computes sums of rows without Spark, from Arrow batches with the columns that a task examines."""

import zlib
from collections.abc import Sequence

import pyarrow as pa

from pipelines.pegasus.domain.rows import Tallies
from pipelines.pegasus.transforms.row_tally import ExamineSettings, add_batch, examine_rows
from pipelines.pegasus.transforms.value_columns import HEAD_BYTES
from tests.labs.pegasus.split_rows import Row


def batch_of(rows: Sequence[Row]) -> pa.RecordBatch:
    """Returns these rows in the form of `row_frames.row_heads`, but with another digest."""
    digests = [zlib.crc32(row.key + b"\0" + row.value) * 0x9E3779B97F4A7C15 % (1 << 63) for row in rows]
    columns = [
        pa.array([row.index for row in rows], pa.int32()),
        pa.array([row.key for row in rows], pa.binary()),
        pa.array([row.value[:HEAD_BYTES] for row in rows], pa.binary()),
        pa.array([len(row.value) for row in rows], pa.int64()),
        pa.array(digests, pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["partition_index", "key", "head", "value_length", "digest"])


def tallied(rows: Sequence[Row], question: ExamineSettings, batches: int = 1) -> Tallies:
    """Returns the sums of the rows, which are divided into this number of batches."""
    tallies: Tallies = {}
    for number in range(batches):
        add_batch(tallies, examine_rows(batch_of(rows[number::batches]), question))
    return tallies
