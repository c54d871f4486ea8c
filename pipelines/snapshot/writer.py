"""Writes a snapshot directory, format 1, completely or not at all."""

import hashlib
import itertools
import json
import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.common.errors import UnavailableError
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.zookeeper.tree import Znode
from pipelines.snapshot.model import Snapshot, SnapshotFile
from pipelines.snapshot.queue_lines import cell_document, znode_document
from pipelines.snapshot.snapshot_json import SNAPSHOT_JSON, snapshot_document
from pipelines.snapshot.target import SnapshotTarget

logger = logging.getLogger(__name__)

FILES_SCHEMA = pa.schema(
    [("path", pa.string()), ("length", pa.int64()), ("modification_time", pa.timestamp("ms", tz="UTC"))]
)
ROWS_PER_GROUP = 100_000
GROUPS_PER_PART = 10


class SnapshotWriter:
    """Writes one snapshot; if the `with` block ends before `finish`, everything is removed.

    ```python
    with SnapshotWriter(LocalTarget(Path("snapshot"))) as writer:
        writer.files(batches)
        writer.cells("queues-1.jsonl", cells)
        writer.cells("queues-2.jsonl", cells)
        writer.finish(snapshot)
    ```

    Memory does not grow with the listing: the writer writes rows as they arrive, in row groups.

    Args:
        target: the directory to write (`LocalTarget`, `HadoopTarget`).
        rows_per_group: number of rows kept in memory at a time.
        groups_per_part: number of row groups in one file below `files/`.
    """

    def __init__(
        self, target: SnapshotTarget, *, rows_per_group: int = ROWS_PER_GROUP, groups_per_part: int = GROUPS_PER_PART
    ) -> None:
        self._target = target
        self._rows_per_group = rows_per_group
        self._groups_per_part = groups_per_part
        self._staging = tempfile.TemporaryDirectory(prefix="walsafe-snapshot-")
        self._contents: dict[str, SnapshotFile] = {}
        self._parts = 0
        self._published = False

    def __enter__(self) -> "SnapshotWriter":
        try:
            self._target.begin()
        except BaseException:
            self._staging.cleanup()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._published:
            self._target.discard()
        self._staging.cleanup()

    def files(self, batches: Iterable[FileBatch]) -> int:
        """Writes a listing; further calls add files. A listing without files becomes one part without rows.

        If a call fails, the parts that it wrote are removed, so the caller may retry.

        Returns:
            Number of files written by this call.

        Raises:
            UnavailableError: the local disk or the file system could not store the parts.
        """
        groups = _regrouped(batches, self._rows_per_group)
        written: list[str] = []
        try:
            first: pa.Table | None = next(groups, FILES_SCHEMA.empty_table())
            while first is not None:
                part = itertools.chain([first], itertools.islice(groups, self._groups_per_part - 1))
                name = f"files/part-{self._parts + len(written):05d}.parquet"
                self._file(name, partial(_write_parquet, part))
                written.append(name)
                first = next(groups, None)
        except BaseException:
            for name in written:
                self._target.remove(name)
                del self._contents[name]
            raise
        self._parts += len(written)
        return sum(self._contents[name].rows for name in written)

    def cells(self, name: str, cells: Iterable[Cell]) -> int:
        """Writes one pass over `hbase:replication`, in scan order; a second call with the same name replaces the pass.

        Args:
            name: `queues-1.jsonl` or `queues-2.jsonl`.
            cells: cells of all families.

        Returns:
            Number of cells written.
        """
        return self.documents(name, map(cell_document, cells))

    def znodes(self, name: str, znodes: Iterable[Znode]) -> int:
        """Writes one reading of the queues in ZooKeeper, in the order read; otherwise like `cells`.

        Returns:
            Number of znodes written.
        """
        return self.documents(name, map(znode_document, znodes))

    def documents(self, name: str, documents: Iterable[Any]) -> int:
        """Writes one JSON document per line, for example an extra, and returns the number of lines."""

        def write(out: BinaryIO) -> int:
            rows = 0
            for document in documents:
                line = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
                out.write(line.encode("utf-8") + b"\n")
                rows += 1
            return rows

        return self._file(name, write)

    def finish(self, snapshot: Snapshot) -> str:
        """Writes snapshot.json and gives the directory its final name.

        Args:
            snapshot: all values except `contents`, which this method fills in.

        Returns:
            Full URI of the snapshot.

        Raises:
            UsageError: another process created the directory in the meantime.
            UnavailableError: the file system could not store the snapshot.
        """
        document = snapshot_document(replace(snapshot, contents=dict(self._contents)))
        text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        local = Path(self._staging.name) / SNAPSHOT_JSON
        with _disk_errors():
            local.write_text(text, encoding="utf-8")
        self._target.put(local, SNAPSHOT_JSON)
        uri = self._target.publish()
        self._published = True
        logger.info("Snapshot written: %s", uri)
        return uri

    def _file(self, name: str, write: Callable[[BinaryIO], int]) -> int:
        local = Path(self._staging.name) / name.replace("/", "-")
        with _disk_errors():
            with local.open("wb") as out:
                rows = write(out)
            with local.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
        self._target.put(local, name)
        self._contents[name] = SnapshotFile(rows, digest)
        return rows


def _write_parquet(tables: Iterable[pa.Table], out: BinaryIO) -> int:
    rows = 0
    # Nearly all values differ, so a dictionary would make files larger and reading slower. But a path begins like the
    # previous one, and an instant is close to the previous one.
    encoding = {"path": "DELTA_BYTE_ARRAY", "modification_time": "DELTA_BINARY_PACKED"}
    with pq.ParquetWriter(
        out, FILES_SCHEMA, compression="zstd", use_dictionary=False, column_encoding=encoding
    ) as parquet:
        for table in tables:
            parquet.write_table(table)
            rows += table.num_rows
    return rows


def _regrouped(batches: Iterable[FileBatch], rows: int) -> Iterator[pa.Table]:
    """Yields tables of exactly `rows` rows, the last one with fewer; small row groups would slow down every reader."""
    held: list[pa.Table] = []
    count = 0
    for batch in batches:
        table = _table(batch)
        while count + table.num_rows >= rows:
            cut = rows - count
            yield pa.concat_tables([*held, table.slice(0, cut)]).combine_chunks()
            held, count, table = [], 0, table.slice(cut)
        if table.num_rows:
            held.append(table)
            count += table.num_rows
    if held:
        yield pa.concat_tables(held).combine_chunks()


def _table(batch: FileBatch) -> pa.Table:
    columns = (batch.paths, batch.lengths, batch.modification_times)
    return pa.Table.from_arrays(
        [pa.array(values, type=field.type) for values, field in zip(columns, FILES_SCHEMA, strict=True)],
        schema=FILES_SCHEMA,
    )


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Turns errors of the local staging file into UnavailableError; the target and the source report their own."""
    try:
        yield
    except OSError as error:
        raise UnavailableError(
            f"cannot write the snapshot's files below {tempfile.gettempdir()}: {error}; free some space or set TMPDIR"
        ) from error
