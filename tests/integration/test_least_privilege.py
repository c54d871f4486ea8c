"""capture and reconcile need no right to write below wal_root, and reconcile could not use one."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grimp
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.cli.config.configuration import parse_config
from jobs.cli.context import JobContext
from jobs.reconcile.wiring import OutputPlaces, run_reconcile
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.places import PROJECT

AUDITOR = "auditor"
ENTRIES = (
    "pipelines.reconcile.reconcile",
    "jobs.reconcile.wiring",
    "pipelines.capture.capture",
    "jobs.capture.wiring",
    "pipelines.reconcile.explain.explain",
    "jobs.explain",
)
REMOVING = {"delete", "deleteOnExit", "rmtree", "unlink", "remove", "rmdir", "moveToTrash", "truncate"}
RENAMING = {"rename", "move", "moveFromLocalFile"}
# where files are given their names: below the lake, the lists, or the snapshot in the making
RENAMERS = {"pipelines.reconcile.list_writer", "pipelines.files.text_files"}


def reachable(entry: str) -> set[str]:
    """Every module of the project that an import of the entry loads."""
    graph = grimp.build_graph("schemas", "pipelines", "jobs")
    return {entry} | graph.find_upstream_modules(entry)


def source(module: str) -> ast.Module:
    path = PROJECT / Path(*module.split("."))
    file = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
    return ast.parse(file.read_text())


def calls(module: str) -> Iterator[tuple[str, str]]:
    """What methods are called in a module: on what, and which."""
    for node in ast.walk(source(module)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield ast.unparse(node.func.value), node.func.attr


@pytest.mark.promise("deciding-deletes-nothing", "reconcile-cannot-delete", "only-the-clean-up-can-move")
@pytest.mark.parametrize("entry", ENTRIES)
def test_nothing_that_is_imported_can_remove_a_file(entry: str) -> None:
    modules = reachable(entry)
    assert entry in modules
    assert len(modules) > 5
    found = {(module, f"{on}.{method}") for module in modules for on, method in calls(module) if method in REMOVING}
    assert found == set()


@pytest.mark.promise("reconcile-cannot-delete", "only-the-clean-up-can-move")
@pytest.mark.parametrize("entry", ENTRIES)
def test_only_named_sinks_rename(entry: str) -> None:
    found = {module for module in reachable(entry) for _, method in calls(module) if method in RENAMING}
    assert found <= RENAMERS


def test_the_check_sees_a_module_that_removes() -> None:
    assert ("shutil", "rmtree") in set(calls("pipelines.snapshot.target"))
    assert "pipelines.lake.delta_tables" in reachable("jobs.reconcile.wiring")
    assert {"pipelines.capture.sources.hadoop_files", "pipelines.capture.sources.hbase_admin"} <= reachable(
        "jobs.capture.wiring"
    )


@pytest.fixture
def auditor(hbase_spark: SparkSession) -> Iterator[SparkSession]:
    """The session, its JVM logged in as an ordinary user of HDFS."""
    jvm: Any = hbase_spark.sparkContext._jvm
    information = jvm.org.apache.hadoop.security.UserGroupInformation
    before = information.getLoginUser()
    information.setLoginUser(information.createRemoteUser(AUDITOR))
    try:
        yield hbase_spark
    finally:
        information.setLoginUser(before)


@pytest.mark.long
@pytest.mark.promise("deciding-deletes-nothing", "no-right-to-write-is-needed", "reconcile-cannot-delete")
@pytest.mark.realhbase
def test_a_user_who_may_only_read_captures_and_reconciles(
    hbase_cluster: HBaseCluster, hdfs_cluster: HdfsCluster, auditor: SparkSession, tmp_path: Path
) -> None:
    hbase_cluster.create_table("privilege")
    hbase_cluster.archive_wals("privilege")
    own = hdfs_cluster.path("/walsafe")
    files = hdfs_cluster.file_system()
    files.mkdirs(own)
    files.setOwner(own, AUDITOR, AUDITOR)
    before = {(file.path, file.length) for file in hbase_cluster.old_wals()}
    first = min(path for path, _ in before)
    context: Any = auditor.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(f"{hbase_cluster.wal_root}/{first}")
    theirs = path.getFileSystem(context._jsc.hadoopConfiguration())
    for attempt in (lambda: theirs.delete(path, False), lambda: theirs.rename(path, path.suffix(".gone"))):
        with pytest.raises(Py4JJavaError, match=f"Permission denied: user={AUDITOR}"):
            attempt()

    site = hbase_cluster.write_conf(tmp_path / "conf", {"hbase.master.logcleaner.ttl": "0"}) / "hbase-site.xml"
    section = {
        "files": {"source": "hadoop"},
        "queues": {"source": "hbase"},
        "state": {"source": "hbase"},
        "hbase": {"site": str(site), "timeout": "5m"},
    }
    document = {"cluster": "lab", "wal_root": hbase_cluster.wal_root, "capture": section}
    config = parse_config(json.dumps(document), "test.yaml")
    assert config.capture is not None
    home = f"{hdfs_cluster.uri}/walsafe"
    captured = capture_cluster(
        "lab", hbase_cluster.wal_root, config.capture, f"{home}/snapshot", JobContext("c", spark=auditor)
    )
    assert captured.exit_code == 0
    places = OutputPlaces(f"{home}/lake", f"{home}/lists")
    outcome = run_reconcile(JobContext("reconcile", spark=auditor), config, places, [f"{home}/snapshot"])
    assert outcome.exit_code in (0, 5), outcome.text
    (cluster,) = outcome.result["clusters"]  # type: ignore[misc]
    assert cluster["status"] == "DONE"
    assert cluster["deletable_files"] > 0
    manifest = hdfs_cluster.path(f"{cluster['list_uri']}/manifest.json")
    assert files.getFileStatus(manifest).getOwner() == AUDITOR
    assert before <= {(file.path, file.length) for file in hbase_cluster.old_wals()}
