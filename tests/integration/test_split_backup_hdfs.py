"""split-run and split-export read a cold backup and replicas on a real HDFS as they read them on a local disk."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.cli.entry import main
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.pegasus.replicas import app_info
from tests.labs.pegasus.split_tables import APP, OLD, Table, reopened

pytestmark = [pytest.mark.realhbase, pytest.mark.long]
BACKUPS = "/pegasus/backup/daily"


def left_over() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("walsafe-copy-*"))


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
    assert (code, "backup_metadata is missing" in result["error"]["message"]) == (2, True), result
    files.rename(away, metadata)
    files.delete(hdfs_cluster.path(f"{there}/meta/app_backup_status"), False)
    code, result = table.run(*options, out="other")
    assert (code, f"{hdfs_cluster.uri}{there}: no meta/app_backup_status" in result["error"]["message"]) == (2, True)
    code, result = table.run("--backup", f"{hdfs_cluster.uri}/pegasus/nothing", out="other")
    assert (code, "nothing: no such directory; give that of a backup id" in result["error"]["message"]) == (2, True), (
        result
    )


@pytest.mark.deep
@pytest.mark.promise("split-offline")
def test_replicas_on_hdfs(spark: SparkSession, tmp_path: Path, hdfs_cluster: HdfsCluster) -> None:
    table = Table(spark, tmp_path)
    for partition in range(OLD):
        replica = table.reps / f"{APP}.{partition}.pegasus"
        (replica / ".app-info").write_bytes(app_info(APP, "temp", OLD, created_with=2))
        (replica / ".init-info").write_text(json.dumps({"init_durable_decree": 1, "init_offset_in_private_log": 0}))
        (replica / "data" / "checkpoint.9").mkdir()
        (replica / "data" / "checkpoint.9" / "big.sst").write_bytes(b"a task does not need it")
    shutil.copytree(table.reps / f"{APP}.1.pegasus", table.reps / f"{APP}.1.pegasus.gar")
    there = "/pegasus/replicas/n1/replica/reps"
    files = hdfs_cluster.file_system()
    files.copyFromLocalFile(hdfs_cluster.path(f"file://{table.reps}"), hdfs_cluster.path(there))
    before = left_over()
    code, whole = table.run(out="local")
    assert code == 0, whole
    options = ("--replicas", f"{hdfs_cluster.uri}/pegasus/replicas")
    code, result = table.run(*options)
    assert code == 0, result
    assert reopened(table, 16) == reopened(table, 16, "local") == table.live
    numbers = ("rows", "read", "logged", "stale", "malformed", "empty")
    assert {name: result[name] for name in numbers} == {name: whole[name] for name in numbers}
    assert [one["code"] for one in result["findings"]] == [one["code"] for one in whole["findings"]]
    (node,) = {log["node"] for part in result["parts"] for log in part["logs"]}
    assert node == f"{hdfs_cluster.uri}{there}", "the place of the replica, not of its copy"
    assert table.run(*options)[1]["resumed"] == OLD, "it is there already"
    code, exported = table.export(*options)
    assert (code, exported["rows"]) == (0, table.export(out="local-export")[1]["rows"])
    assert left_over() == before, "the copies are removed"

    place = f"{there}/{APP}.2.pegasus/plog/log.1.0"
    data = (table.reps / f"{APP}.2.pegasus" / "plog" / "log.1.0").read_bytes()
    hdfs_cluster.create_file(place, data[:70] + bytes([data[70] ^ 1]) + data[71:])
    code, result = table.run(*options)
    assert (code, "was made of other inputs" in result["error"]["message"]) == (2, True), "the log has changed"
    code, result = table.run(*options, out="other")
    assert (code, f"{hdfs_cluster.uri}{place} is broken" in result["error"]["message"]) == (3, True), result
    hdfs_cluster.create_file(place, data)
    code, result = table.run(*options, out="other")
    assert (code, result["resumed"]) == (0, OLD // 2), "partitions 1 and 3 do not need partition 2"
    assert reopened(table, 16, "other") == table.live

    files.delete(hdfs_cluster.path(f"{there}/{APP}.2.pegasus/plog"), True)
    code, result = table.export(*options, out="without-a-log")
    assert (code, [one["code"] for one in result["findings"] if one["severity"] == "error"]) == (3, ["SPLIT_L6"])


@pytest.mark.promise("split-loss-is-found")
def test_an_export_on_hdfs_is_compared_with_its_manifest(
    spark: SparkSession, tmp_path: Path, hdfs_cluster: HdfsCluster
) -> None:
    table = Table(spark, tmp_path)
    assert table.export()[0] == 0
    there, files = "/pegasus/export/temp", hdfs_cluster.file_system()
    files.copyFromLocalFile(hdfs_cluster.path(f"file://{table.output('export')}"), hdfs_cluster.path(there))

    def stale() -> tuple[int, str]:
        options = ["split-stale", "--table", "temp", "--rows", f"{hdfs_cluster.uri}{there}", "--partitions", str(OLD)]
        options += ["--created-with", "2", "--validate-env", "true", "--result", f"{tmp_path}/stale.json"]
        code = main(options, context=JobContext("split-stale", spark=spark))
        return code, str(json.loads((tmp_path / "stale.json").read_text()).get("error"))

    assert stale()[0] == 0
    (name,) = (path.name for path in (table.output("export") / "2").iterdir())
    data = (table.output("export") / "2" / name).read_bytes()
    hdfs_cluster.create_file(f"{there}/2/{name}", data[:-1])
    code, said = stale()
    assert (code, f"{hdfs_cluster.uri}{there}/2/{name} has {len(data) - 1} bytes" in said) == (3, True), said
    files.delete(hdfs_cluster.path(f"{there}/2"), True)
    code, said = stale()
    assert (code, f"{there}/2/{name} is missing" in said, "ROWS_INCOMPLETE" in said) == (3, True, True), said


def test_inputs_on_a_file_system_that_does_not_answer(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    for option in ("--backup", "--replicas"):
        code, result = table.run(option, "hdfs://localhost:9/pegasus/backup")
        assert (code, "hdfs://localhost:9/pegasus/backup" in result["error"]["message"]) == (4, True), result
