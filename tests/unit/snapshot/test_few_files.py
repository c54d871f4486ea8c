"""What is read without Spark: exactly what walsafe writes, on the local disk, and few."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.common.spark import few_rows
from pipelines.snapshot.few_files import few_files
from pipelines.snapshot.model import SnapshotFile
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from pipelines.snapshot.writer import FILES_SCHEMA
from tests.labs.small_cluster import small

PART = "files/part-00000.parquet"


def opened(folder: Path, tables: Mapping[str, pa.Table]) -> OpenedSnapshot:
    (folder / "files").mkdir()
    for name, rows in tables.items():
        pq.write_table(rows, folder / name)
    contents = {name: SnapshotFile(rows.num_rows, "0" * 64) for name, rows in tables.items()}
    return OpenedSnapshot(f"file://{folder}", snapshot=replace(small("prod").snapshot, contents=contents))


def rows(*paths: str) -> pa.Table:
    return pa.Table.from_arrays(
        [pa.array(paths), pa.array(range(len(paths))), pa.array([7] * len(paths), FILES_SCHEMA.field(2).type)],
        schema=FILES_SCHEMA,
    )


def test_every_part_is_read(tmp_path: Path) -> None:
    read = few_files(
        opened(tmp_path, {PART: rows("oldWALs/a", "oldWALs/b"), "files/part-00001.parquet": rows("WALs/c")})
    )
    assert read is not None
    assert [part.column("path").to_pylist() for part in read.values()] == [["oldWALs/a", "oldWALs/b"], ["WALs/c"]]
    assert read[PART].column("modification_time").cast(pa.int64()).to_pylist() == [7_000, 7_000]


def test_many_rows_are_left_to_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = opened(tmp_path, {PART: rows("a", "b", "c")})
    monkeypatch.setattr(few_rows, "FEW", 3)
    assert few_files(snapshot) is not None
    monkeypatch.setattr(few_rows, "FEW", 2)
    assert few_files(snapshot) is None
    lying = replace(snapshot.known, contents={PART: SnapshotFile(1, "0" * 64)})
    assert few_files(replace(snapshot, snapshot=lying)) is None


def test_another_file_system_is_left_to_spark(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, {PART: rows("a")})
    assert few_files(replace(snapshot, uri=snapshot.uri.replace("file://", "hdfs://ns1"))) is None


@pytest.mark.parametrize(
    "odd",
    [
        rows("a").drop_columns(["length"]),
        rows("a").append_column("more", pa.array([1])),
        rows("a").set_column(1, "length", pa.array([1], pa.int32())),
        rows("a").set_column(2, "modification_time", pa.array([1])),
        rows("a").set_column(2, "modification_time", pa.array([1], pa.timestamp("ms"))),
        rows("a").select(["length", "path", "modification_time"]),
    ],
)
def test_another_form_is_left_to_spark(tmp_path: Path, odd: pa.Table) -> None:
    assert few_files(opened(tmp_path, {PART: odd})) is None


@pytest.mark.parametrize("name", ["_part.parquet", ".part.parquet", "part-00000.parquet._COPYING_"])
def test_what_spark_passes_over_is_left_to_spark(tmp_path: Path, name: str) -> None:
    assert few_files(opened(tmp_path, {PART: rows("a"), f"files/{name}": rows("b")})) is None


def test_a_path_that_is_not_utf8_is_left_to_spark(tmp_path: Path) -> None:
    odd = rows("a").set_column(0, "path", pa.array([b"oldWALs/\xff"]).view(pa.string()))
    assert few_files(opened(tmp_path, {PART: odd})) is None


@pytest.mark.parametrize("content", [b"", b"PAR1 but no Parquet PAR1"])
def test_what_is_no_parquet_is_left_to_spark(tmp_path: Path, content: bytes) -> None:
    snapshot = opened(tmp_path, {PART: rows("a")})
    (tmp_path / PART).write_bytes(content)
    assert few_files(snapshot) is None
    (tmp_path / PART).unlink()
    assert few_files(snapshot) is None
