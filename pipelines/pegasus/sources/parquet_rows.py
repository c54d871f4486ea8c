"""Reads the rows of one old partition from Parquet in key order; a temporary RocksDB sorts them in bounded memory."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from pipelines.common.errors import UsageError
from pipelines.files.file_reader import no_directory
from pipelines.pegasus.domain.offline.merge import BATCH_BYTES
from pipelines.pegasus.domain.offline.model import MANIFEST
from pipelines.pegasus.sources.local_rows import rows_per_batch
from pipelines.pegasus.sources.replica_db import ReplicaDb, rocksdict_module
from pipelines.pegasus.sources.written_rows import WrittenRows, check_written_rows, files_below, is_read
from pipelines.pegasus.transforms.row_tally import ROW_SCHEMA

_BATCH = 10_000


def check_rows(directory: str, count: int, data_version: int | None = None) -> int:
    """Checks the files and columns of a directory of Parquet files, and the partition of every row.

    Args:
        directory: the Parquet files.
        count: the number of partitions of the table.
        data_version: the `pegasus_data_version` of the values, if the user gives it.

    Returns:
        The `pegasus_data_version` of the values.

    Raises:
        UsageError: a column is missing, unknown or of another type, a row has no partition or one outside `count`, a
            file is damaged, the data version is unknown, or it or `count` is another than the manifest's.
        RefusedError: the files are not those of their manifest.
    """
    written = check_written_rows(directory, WrittenRows(data_version, count))
    version = written if data_version is None else data_version
    _check_columns(directory, count)
    if version is None:
        raise UsageError(
            f"{directory}: no {MANIFEST} says which data version these rows have: give --data-version, the "
            "pegasus_data_version of the table (1 unless the table is very old; a wrong one damages every value)"
        )
    return version


def _check_columns(directory: str, count: int) -> None:
    rows = _dataset(directory)
    for fragment in rows.get_fragments():
        with _damage_named(fragment.path):
            schema = fragment.physical_schema
        _check_schema(schema, fragment.path)
    for batch in _batches(rows, ["partition_index"], _BATCH):
        column = batch.column(0)
        if column.null_count:
            raise UsageError(f"{directory}: a row has no partition_index")
        if len(column):
            ends = pc.min_max(column).as_py()
            if ends["min"] < 0 or ends["max"] >= count:
                wrong = ends["min"] if ends["min"] < 0 else ends["max"]
                raise UsageError(
                    f"{directory}: a row belongs to partition {wrong}, but the table has {count} partitions"
                )


def _check_schema(schema: pa.Schema, file: str) -> None:
    """Compares with `ROW_SCHEMA`; a wider integer type and large_binary are accepted."""
    unknown = sorted(set(schema.names) - set(ROW_SCHEMA.names))
    if unknown:
        raise UsageError(f"{file}: unknown column {unknown[0]!r}; the columns are {', '.join(ROW_SCHEMA.names)}")
    for name, kind in zip(ROW_SCHEMA.names, ROW_SCHEMA.types, strict=True):
        found = schema.field(name).type if name in schema.names else None
        wanted = pa.types.is_integer if kind == pa.int32() else lambda one: one in (pa.binary(), pa.large_binary())
        if found is None or not wanted(found):
            raise UsageError(f"{file}: column {name!r} must be {kind}, found {found or 'no such column'}")


@contextmanager
def opened_rows(directory: str, partition: int, data_version: int = 1) -> Iterator[ReplicaDb]:
    """Opens the rows of one partition in key order.

    Args:
        directory: the Parquet files.
        partition: the index of the partition.
        data_version: the `pegasus_data_version` of the values.

    Raises:
        UsageError: there is no Parquet file, a file is damaged, a row has no key or value, a key occurs twice, or
            rocksdict is not installed.
    """
    rocksdict = rocksdict_module()
    mine = ds.field("partition_index") == partition
    with tempfile.TemporaryDirectory(prefix="walsafe-rows-") as scratch:
        options = rocksdict.Options(raw_mode=True)
        options.create_if_missing(True)
        database = rocksdict.Rdict(scratch, options=options)
        try:
            put = 0
            for batch in _batches(_dataset(directory), ["key", "value"], only=mine):
                if batch.column(0).null_count or batch.column(1).null_count:
                    raise UsageError(f"{directory}: a row of partition {partition} has no key or no value")
                writes = rocksdict.WriteBatch(raw_mode=True)
                for key, value in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                    writes.put(key, value)
                database.write(writes)
                put += batch.num_rows
            kept = sum(1 for _ in database.items())
            if kept != put:
                raise UsageError(f"{directory}: {put - kept} keys of partition {partition} occur more than once")
            yield ReplicaDb(data_version, 0, database, directory, scratch)
        finally:
            database.close()


def _batches(
    rows: ds.Dataset, columns: list[str], size: int | None = None, only: ds.Expression | None = None
) -> Iterator[pa.RecordBatch]:
    """Yields batches of `size` rows; None = as many as have `BATCH_BYTES`, for columns that include the values."""
    for fragment in rows.get_fragments():
        with _damage_named(fragment.path):
            groups = (fragment.metadata.row_group(group) for group in range(fragment.metadata.num_row_groups))
            most = size or min((rows_per_batch(group, BATCH_BYTES, _BATCH) for group in groups), default=_BATCH)
            yield from fragment.to_batches(schema=rows.schema, columns=columns, filter=only, batch_size=most)


@contextmanager
def _damage_named(path: str) -> Iterator[None]:
    """Adds the file's name to the library's errors."""
    try:
        yield
    except (OSError, pa.ArrowInvalid) as error:
        raise UsageError(f"{path} is not a whole Parquet file ({error}); export it again") from None


def _dataset(directory: str) -> ds.Dataset:
    found = [path for path in files_below(directory) if path.name.endswith(".parquet")]
    files = [str(path) for path in found if is_read(str(path.relative_to(directory)))]
    if not Path(directory).is_dir():
        raise no_directory(directory, "a directory of Parquet files (docs/split-rows.md)")
    if not files:
        raise UsageError(f"{directory} contains no Parquet files (their names must end in .parquet)")
    checked = ds.ParquetFileFormat(
        default_fragment_scan_options=ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    )
    try:
        return ds.dataset(files, format=checked)
    except (OSError, pa.ArrowInvalid) as error:
        raise UsageError(f"{directory} contains no Parquet files ({error})") from None
