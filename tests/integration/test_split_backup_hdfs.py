"""split-run and split-export read a cold backup on a real HDFS as they read one on a local disk."""

import tempfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.pegasus.split_tables import APP, Table, reopened

pytestmark = [pytest.mark.realhbase, pytest.mark.long]
BACKUPS = "/pegasus/backup/daily"


def left_over() -> set[Path]:
    return {path for path in Path(tempfile.gettempdir()).glob("walsafe-*") if "backup" in path.name}


@pytest.mark.promise("split-offline")
def test_a_cold_backup_on_hdfs(spark: SparkSession, tmp_path: Path, hdfs_cluster: HdfsCluster) -> None:
    table = Table(spark, tmp_path)
    local = table.backup()
    files = hdfs_cluster.file_system()
    files.copyFromLocalFile(hdfs_cluster.path(f"file://{local.parent}"), hdfs_cluster.path(f"{BACKUPS}/1700000000000"))
    before = left_over()
    code, whole = table.run("--backup", str(local.parent), out="local")
    assert code == 0, whole
    options = ("--backup", f"{hdfs_cluster.uri}{BACKUPS}")
    code, result = table.run(*options)
    assert code == 0, result
    assert reopened(table, 16) == reopened(table, 16, "local")
    assert {name: result[name] for name in ("rows", "read", "stale")} == {
        name: whole[name] for name in ("rows", "read", "stale")
    }
    assert table.run(*options)[1]["resumed"] == table.old, "it is there already"
    code, exported = table.export(*options)
    assert (code, exported["rows"]) == (0, result["read"])

    there = f"{BACKUPS}/1700000000000/temp_{APP}"
    sst = next(local.glob("2/chkpt*/*.sst"))
    place = f"{there}/{sst.relative_to(local)}"
    data = sst.read_bytes()
    hdfs_cluster.create_file(place, data[:-1] + bytes([data[-1] ^ 1]))
    code, result = table.run(*options, out="damaged")
    said = f"{hdfs_cluster.uri}{place}: it has {len(data)} bytes and MD5"  # the name of the file, not of its copy
    assert (code, said in result["error"]["message"]) == (3, True), result
    hdfs_cluster.create_file(place, data)
    assert left_over() == before, "the copies are removed"

    metadata = hdfs_cluster.path(f"{place.rpartition('/')[0]}/backup_metadata")
    away = hdfs_cluster.path(f"{there}/away")
    files.rename(metadata, away)
    code, result = table.run(*options, out="other")
    assert (code, "no backup_metadata" in result["error"]["message"]) == (2, True), result
    files.rename(away, metadata)
    files.delete(hdfs_cluster.path(f"{there}/meta/app_backup_status"), False)
    code, result = table.run(*options, out="other")
    assert (code, f"{hdfs_cluster.uri}{there}: no meta/app_backup_status" in result["error"]["message"]) == (2, True)
    code, result = table.run("--backup", f"{hdfs_cluster.uri}/pegasus/nothing", out="other")
    assert (code, "0 directories end in _2" in result["error"]["message"]) == (2, True), result


def test_a_backup_on_a_file_system_that_does_not_answer(spark: SparkSession, tmp_path: Path) -> None:
    code, result = Table(spark, tmp_path).run("--backup", "hdfs://localhost:9/pegasus/backup")
    assert (code, "hdfs://localhost:9/pegasus/backup" in result["error"]["message"]) == (4, True), result
