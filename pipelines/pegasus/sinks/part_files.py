"""Writes the files of new partitions: SST files that Pegasus's RocksDB 8.5 can read, or Parquet."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.common.errors import UnavailableError
from pipelines.pegasus.domain.offline.model import PartFile
from pipelines.pegasus.transforms.row_tally import ROW_SCHEMA

FORMAT_VERSION = 5
"""Format version of the SST footer; rocksdict's default is 6, which RocksDB 8.5.3 cannot read."""


class RowFileWriter(Protocol):
    """Writes one file."""

    def put(self, rows: Sequence[tuple[bytes, bytes]]) -> int:
        """Appends rows, whose keys must be above all keys appended before; returns the bytes of keys and values."""
        ...

    def close(self) -> None:
        """Finishes the file."""
        ...


def sst_writer(path: Path) -> Any:  # noqa: ANN401 - a library without types
    """Returns rocksdict's writer for an SST that Pegasus can load, compressed like Pegasus's default (LZ4)."""
    import rocksdict  # noqa: PLC0415 - an optional extra

    table = rocksdict.BlockBasedOptions()
    table.set_format_version(FORMAT_VERSION)
    options = rocksdict.Options(raw_mode=True)
    options.set_block_based_table_factory(table)
    options.set_compression_type(rocksdict.DBCompressionType.lz4())
    writer = rocksdict.SstFileWriter(options=options)
    writer.open(str(path))
    return writer


class SstWriter:
    """Writes an SST file; every method raises UnavailableError if the file cannot be written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._errors():
            self._writer = sst_writer(path)

    def put(self, rows: Sequence[tuple[bytes, bytes]]) -> int:
        """See `RowFileWriter.put`."""
        writer, size = self._writer, 0
        with self._errors():
            for key, value in rows:
                writer[key] = value
                size += len(key) + len(value)  # here, where the row is in the processor's caches
        return size

    def close(self) -> None:
        """See `RowFileWriter.close`."""
        with self._errors():
            self._writer.finish()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - rocksdict raises bare exceptions
            raise UnavailableError(
                f"{self._path} cannot be written ({error}); start the job again, and it continues"
            ) from None


class ParquetWriter:
    """Writes a Parquet file with the columns partition_index, key and value, which split-verify reads."""

    def __init__(self, path: Path, partition: int) -> None:
        self._partition = partition
        self._writer = pq.ParquetWriter(str(path), ROW_SCHEMA, write_page_checksum=True)

    def put(self, rows: Sequence[tuple[bytes, bytes]]) -> int:
        """See `RowFileWriter.put`."""
        keys, values = zip(*rows, strict=True)
        indexes = pa.array([self._partition] * len(rows), pa.int32())
        arrays = [indexes, pa.array(keys, pa.binary()), pa.array(values, pa.binary())]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=ROW_SCHEMA))
        return sum(map(len, keys)) + sum(map(len, values))

    def close(self) -> None:
        """See `RowFileWriter.close`."""
        self._writer.close()


class PartitionFiles:
    """Writes the rows of one task to files below `folder`, by new partition.

    The file names begin with `name`, which no other task of the table has.
    """

    def __init__(self, folder: Path, parent: int, file_bytes: int, *, parquet: bool, name: str | None = None) -> None:
        self._folder, self._parent, self._name = folder, parent, name or str(parent)
        self._limit, self._parquet = file_bytes, parquet
        self._open: dict[int, tuple[RowFileWriter, Path, list[int]]] = {}
        self._numbers: dict[int, int] = {}
        self._done: list[PartFile] = []

    def put(self, partition: int, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Appends rows to the current file of a new partition."""
        if partition not in self._open:
            self._open[partition] = self._begin(partition)
        writer, _, sizes = self._open[partition]
        sizes[0] += len(rows)
        sizes[1] += writer.put(rows)
        if sizes[1] >= self._limit:
            self._end(partition)

    def close(self) -> tuple[PartFile, ...]:
        """Finishes all files, and returns those of each partition in the order of their keys."""
        for partition in sorted(self._open):
            self._end(partition)
        return tuple(sorted(self._done, key=lambda file: file.partition))

    def _begin(self, partition: int) -> tuple[RowFileWriter, Path, list[int]]:
        number = self._numbers[partition] = self._numbers.get(partition, -1) + 1
        folder = self._folder / str(partition)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self._name}-{number}.{'parquet' if self._parquet else 'sst'}"
        writer: RowFileWriter = ParquetWriter(path, partition) if self._parquet else SstWriter(path)
        return writer, path, [0, 0]

    def _end(self, partition: int) -> None:
        writer, path, (rows, raw) = self._open.pop(partition)
        writer.close()
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False))
        self._done.append(
            PartFile(partition, self._parent, path.name, rows, path.stat().st_size, digest.hexdigest(), raw)
        )
