"""Examines Arrow batches of rows: the kind of each row and its owner (the vectorised form of `domain.rows`)."""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipelines.pegasus.domain.rows import Placement, RowKind
from pipelines.pegasus.transforms.key_columns import binary_column, key_hashes, partition_indexes
from pipelines.pegasus.transforms.value_columns import value_heads

NO_BUCKET = -1


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

    The batch has `partition_index`, `key`, `head`, `value_length` and `digest` (see `row_frames.heads`).
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


def _incomplete(batch: Any) -> NDArray[np.bool_]:  # noqa: ANN401 - pyarrow ships no types
    missing = np.zeros(batch.num_rows, dtype=np.bool_)
    for name in ("partition_index", "key", "head"):
        column = batch.column(name)
        if column.null_count:
            missing |= np.asarray(column.is_null())
    return missing
