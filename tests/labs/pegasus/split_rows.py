"""Makes rows of Pegasus tables for tests, distributed as in a table and written as Parquet."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.pegasus.domain.keys import encode_key, key_hash
from pipelines.pegasus.domain.partitions import partition_index
from pipelines.pegasus.domain.values import EPOCH_S, StoredValue, Timetag, encode_value

AT_S = 1_790_000_000
AT = "2026-09-21T14:13:20Z"
SCHEMA = pa.schema([("partition_index", pa.int32()), ("key", pa.binary()), ("value", pa.binary())])


class Row(NamedTuple):
    """A row of an export."""

    index: int
    key: bytes
    value: bytes


def value_of(data: str, *, at_us: int = 1_700_000_000_000_000, expires_in: int | None = None) -> bytes:
    """Returns a value of version 1 that expires `expires_in` seconds after `AT`; None = never."""
    expire_ts = 0 if expires_in is None else AT_S + expires_in - EPOCH_S
    return encode_value(StoredValue(1, expire_ts, Timetag(at_us, 1, deleted=False), data.encode()))


def row_of(count: int, name: str, value: bytes) -> Row:
    """Returns a row in the partition in which a table of `count` partitions stores it."""
    key = encode_key(name.encode(), b"sort")
    return Row(partition_index(key_hash(key), count), key, value)


def table_of(count: int, rows: int = 400) -> list[Row]:
    """Returns the rows of a table: rows that never expire, and an empty write in each partition."""
    made = [row_of(count, f"user{number}", value_of(f"value {number}")) for number in range(rows)]
    return [*made, *(Row(index, b"", b"") for index in range(count))]


def split(rows: Iterable[Row], count: int, factor: int = 2, *, copies: bool = True) -> list[Row]:
    """Returns the rows after a split.

    With copies, each parent and child have all rows of both, as before compaction.
    """
    whole = count * factor
    return [
        row._replace(index=child)
        for row in rows
        for child in range(row.index, whole, count)
        if row.key == b"" or copies or partition_index(key_hash(row.key), whole) == child
    ]


def written(rows: Iterable[Row], directory: Path, files: int = 2) -> str:
    """Writes the rows to a few Parquet files, and returns the directory's URI."""
    directory.mkdir(parents=True)
    all_rows = list(rows)
    for number in range(files):
        part = all_rows[number::files]
        columns = [[row[place] for row in part] for place in range(3)]
        pq.write_table(pa.table(columns, SCHEMA), directory / f"part-{number:05}.parquet")
    return f"file:{directory}"
