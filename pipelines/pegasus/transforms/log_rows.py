"""Decodes private logs into rows on the executors.

Each log is one task and is decoded in batches, so that memory use does not grow with the log.
"""

import hashlib
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

from pipelines.common.errors import MalformedError
from pipelines.pegasus.domain.audit_log.files import LogFile
from pipelines.pegasus.domain.audit_log.log_tally import LogTally
from pipelines.pegasus.domain.keys import key_hash
from pipelines.pegasus.domain.private_log.blocks import Read
from pipelines.pegasus.domain.private_log.mutations import Mutation
from pipelines.pegasus.domain.private_log.names import Gpid
from pipelines.pegasus.domain.private_log.reader import PrivateLogReader
from pipelines.pegasus.domain.private_log.requests import Replay, decode_request
from pipelines.pegasus.transforms.log_checksum import crc32c

BATCH = 8192
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
_NUMBERS = {"start_offset", "length", "min_decree", "max_decree", "min_ballot", "max_ballot", "max_decree_before"}
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
    rows: list[dict[str, Any]] = []
    undecoded = 0
    try:
        with opener(task["uri"]) as read:
            reader = PrivateLogReader(read, crc32c, tally.file.start_offset)
            for mutation in reader:
                tally.add(mutation)
                row, unknown = _row(tally.file, mutation)
                undecoded += unknown
                rows.append({"mutation": row})
                if len(rows) == BATCH:
                    yield _batch(rows)
                    rows = []
            tally.end(reader, undecoded)
    except OSError as error:
        tally.unreadable(str(error))
    rows.append({"file": asdict(tally.file)})
    yield _batch(rows)


def _row(log: LogFile, mutation: Mutation) -> tuple[dict[str, Any], int]:
    """Returns the row of a mutation, and how many of its requests cannot be replayed from the log alone."""
    digest = hashlib.blake2b(digest_size=8)
    hashes, empty, undecoded = set(), True, 0
    for update in mutation.updates:
        request = decode_request(update)
        digest.update(update.code.encode() + b"\0" + len(update.data).to_bytes(4, "big") + update.data)
        empty = empty and request.replay is Replay.EMPTY
        undecoded += request.replay in {Replay.NEEDS_BASE, Replay.UNKNOWN}
        if request.key is not None:
            hashes.add(_signed_hash(request.key))
    row = {
        "node": log.node, "app_id": log.app_id, "partition": log.partition, "log": log.log,
        "log_offset": mutation.log_offset, "decree": mutation.decree, "ballot": mutation.ballot,
        "committed": mutation.committed, "timestamp_us": mutation.timestamp_us,
        "codes": [update.code for update in mutation.updates], "hashes": sorted(hashes),
        "digest": digest.hexdigest(), "empty": empty,
    }  # fmt: skip
    return row, undecoded


def _signed_hash(key: bytes) -> int:
    try:
        unsigned = key_hash(key)
    except MalformedError:  # its hash key alone is too long: no partition owns such a key
        return 0
    return unsigned - (1 << 64) if unsigned >> 63 else unsigned


def _batch(rows: list[dict[str, Any]]) -> Any:  # noqa: ANN401 - pyarrow ships no types
    schema = to_arrow_schema(DECODED)
    columns = [pa.array([row.get(field.name) for row in rows], type=field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
