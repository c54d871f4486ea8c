"""Provides a WAL root for tests of listings, and its files."""

from collections.abc import Iterator

from pipelines.files.file_batch import FileBatch
from pipelines.hbase.server_names import ServerName

ROOT = "hdfs://ns1/hbase"
H1 = ServerName("h1", 16020, 5)


def rows_of(batches: Iterator[FileBatch]) -> list[tuple[str, int, int]]:
    return [row for batch in batches for row in zip(batch.paths, batch.lengths, batch.modification_times, strict=True)]
