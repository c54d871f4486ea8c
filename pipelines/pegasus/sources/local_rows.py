"""Reads rows of Pegasus tables from local or mounted Parquet files in Spark's Python workers, without the JVM.

Rows need not be converted from Spark's form into Arrow and sent to Python, which takes longer than to examine them.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TypeAlias
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from pipelines.pegasus.transforms.row_digests import row_digests
from pipelines.pegasus.transforms.row_tally import ROW_SCHEMA, Batches
from pipelines.pegasus.transforms.value_columns import HEAD_BYTES

Chosen: TypeAlias = Callable[[Any], Any]
_BINARY = (pa.binary(), pa.large_binary())
_BATCH_BYTES = 8 << 20
_FEWEST, _MOST = 256, 1 << 16
_TASKS_A_CORE = 4


def local_paths(uris: Sequence[str]) -> list[str] | None:
    """Returns the paths of `file:` URIs; None = a URI has another file system."""
    parsed = [urlparse(uri) for uri in uris]
    return [unquote(one.path) for one in parsed] if all(one.scheme == "file" for one in parsed) else None


class LocalHeads:
    """The heads of rows in local Parquet files, with the columns of `row_frames.row_heads`.

    Row groups that by their statistics have no row of the partitions `places` are not read; None = all are read. Of
    what is read, only the rows that `chosen` says of their keys are given; None = all are.
    """

    def __init__(
        self,
        spark: SparkSession,
        paths: Sequence[str],
        places: Collection[int] | None = None,
        chosen: Chosen | None = None,
    ) -> None:
        self._spark, self._paths, self._places, self._chosen = spark, paths, places, chosen

    def mapInArrow(self, function: Callable[[Batches], Batches], schema: StructType) -> DataFrame:  # noqa: N802 - Spark's name
        """Applies a function to the batches of a task, as `DataFrame.mapInArrow` does.

        A file that cannot be read is an error with the words `corrupted file: <path>`.
        """
        tasks = [(path, group) for path in self._paths for group in _row_groups(path, self._places)]
        count = min(len(tasks), _TASKS_A_CORE * self._spark.sparkContext.defaultParallelism) or 1
        frame = self._spark.createDataFrame(tasks, "path string, row_group int").repartition(count)
        chosen = self._chosen
        return frame.mapInArrow(lambda batches: function(_heads(batches, chosen)), schema)


def _row_groups(path: str, places: Collection[int] | None) -> Iterator[int]:
    """Yields the row groups of a file that may have rows of these partitions."""
    about = _opened(path).metadata
    names = about.schema.names
    if places is None or "partition_index" not in names:
        yield from range(about.num_row_groups)
        return
    column = names.index("partition_index")
    for group in range(about.num_row_groups):
        said = about.row_group(group).column(column).statistics
        if said is None or not said.has_min_max or any(said.min <= place <= said.max for place in places):
            yield group


def _heads(batches: Batches, chosen: Chosen | None) -> Batches:
    for batch in batches:
        for task in batch.to_pylist():
            yield from _group_heads(task["path"], task["row_group"], chosen)


def rows_per_batch(group: Any, size: int, most: int) -> int:  # noqa: ANN401 - pyarrow ships no types
    """Returns as many rows of a row group as have `size` bytes on average: at least one, at most `most`."""
    rows: int = group.num_rows * size // max(group.total_byte_size, 1)
    return min(max(rows, 1), most)


def _group_heads(path: str, row_group: int, chosen: Chosen | None) -> Batches:
    file = _opened(path)
    size = max(rows_per_batch(file.metadata.row_group(row_group), _BATCH_BYTES, _MOST), _FEWEST)
    try:
        for batch in file.iter_batches(size, [row_group], ROW_SCHEMA.names):
            index, key, value = (batch.column(name) for name in ROW_SCHEMA.names)
            key, value = (one if one.type in _BINARY else one.cast(pa.binary()) for one in (key, value))
            if chosen is not None:
                which = pa.array(chosen(key))
                index, key, value = (one.filter(which) for one in (index, key, value))
            yield pa.RecordBatch.from_arrays(
                [
                    index.cast(pa.int32()),
                    key,
                    pc.binary_slice(value, 0, HEAD_BYTES),
                    pc.binary_length(value).cast(pa.int64()),
                    pa.array(row_digests(key, value).view("int64")),
                ],
                names=["partition_index", "key", "head", "value_length", "digest"],
            )
    except (pa.ArrowException, OSError, KeyError) as error:
        raise OSError(f"corrupted file: {path}: {error}") from error


def _opened(path: str) -> Any:  # noqa: ANN401 - pyarrow ships no types
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise OSError(f"corrupted file: {path}: {error}") from error
