"""Decodes private logs into rows on the executors.

Each log is one task and is decoded in batches, so that memory use does not grow with the log.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, fields
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from pipelines.pegasus.domain.private_log.blocks import Read
from pipelines.pegasus.domain.private_log.log_file import LogFile, LogTally
from pipelines.pegasus.domain.private_log.names import Gpid
from pipelines.pegasus.domain.private_log.reader import PrivateLogReader
from pipelines.pegasus.transforms.log_columns import MutationColumns

BATCH = 8192
"""Mutations in one batch, unless their requests reach `BATCH_BYTES` before."""
BATCH_BYTES = 16 << 20
Opener: TypeAlias = Callable[[str], AbstractContextManager[Read]]
"""Opens a URI for reading; raises OSError."""
TASK = StructType(
    [
        StructField("uri", StringType()),
        StructField("node", StringType()),
        StructField("app_id", IntegerType()),
        StructField("partition", IntegerType()),
        StructField("log", StringType()),
    ]
)
_NUMBERS = {
    "start_offset",
    "length",
    "min_decree",
    "max_decree",
    "min_ballot",
    "max_ballot",
    "max_decree_before",
    "valid_offset",
}
_TEXTS = {"node", "log", "ending", "problem", "verdict", "reason"}
FILE = StructType(
    [
        StructField(
            field.name,
            StringType() if field.name in _TEXTS else LongType() if field.name in _NUMBERS else IntegerType(),
        )
        for field in fields(LogFile)
    ]
)
MUTATION = StructType(
    [
        StructField("node", StringType()),
        StructField("app_id", IntegerType()),
        StructField("partition", IntegerType()),
        StructField("log", StringType()),
        StructField("log_offset", LongType()),
        StructField("decree", LongType()),
        StructField("ballot", LongType()),
        StructField("committed", LongType()),
        StructField("timestamp_us", LongType()),
        StructField("codes", ArrayType(StringType())),
        StructField("hashes", ArrayType(LongType())),
        StructField("digest", StringType()),
        StructField("empty", BooleanType()),
    ]
)
DECODED = StructType([StructField("file", FILE), StructField("mutation", MUTATION)])
"""One of the two is NULL. The row of the file comes after those of its mutations."""
_ARROW = to_arrow_schema(DECODED)


def log_decoder(opener: Opener) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Returns the function for `mapInArrow` that decodes the logs of `TASK` rows to rows of `DECODED`.

    Args:
        opener: opens the URI of a log for reading.
    """

    def decode_logs(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for task in batch.to_pylist():
                yield from log_batches(task, opener)

    return decode_logs


def log_batches(task: dict[str, Any], opener: Opener) -> Iterator[Any]:
    """Decodes one log and yields its rows in batches. Invalid contents and file system errors never raise an error."""
    tally = LogTally(task["node"], Gpid(task["app_id"], task["partition"]), task["log"])
    undecoded = 0
    try:
        with opener(task["uri"]) as read:
            reader = PrivateLogReader(read, tally.file.start_offset)
            for found in _groups(reader):
                arrays = found.arrays(tally)
                undecoded += found.undecoded
                yield _batch(mutations=pa.StructArray.from_arrays(arrays, fields=list(_ARROW.field("mutation").type)))
            tally.end(reader, undecoded)
    except OSError as error:
        tally.unreadable(str(error))
    yield _batch(files=pa.array([asdict(tally.file)], _ARROW.field("file").type))


def _groups(reader: PrivateLogReader) -> Iterator[MutationColumns]:
    found = MutationColumns()
    for body, span in reader.spans():
        found.add(body, span)
        if found.count == BATCH or found.size > BATCH_BYTES:
            yield found
            found = MutationColumns()
    if found.count:
        yield found


def _batch(mutations: Any = None, files: Any = None) -> Any:  # noqa: ANN401 - pyarrow ships no types
    """Returns a batch of `DECODED` with one of the two columns; the other is NULL."""
    size = len(mutations if files is None else files)
    columns = [pa.nulls(size, field.type) if column is None else column
               for field, column in zip(_ARROW, (files, mutations), strict=True)]  # fmt: skip
    return pa.RecordBatch.from_arrays(columns, schema=_ARROW)
