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
REMOVING = {
    "delete", "deleteOnExit", "fullyDelete", "moveToTrash", "remove", "removedirs", "rmdir", "rmtree", "truncate",
    "unlink",
}  # fmt: skip
RENAMING = {"move", "moveFromLocalFile", "rename", "renames"}
OPERATIONS = {"CREATE", "DELETE", "RENAME", "TRUNCATE"}
"""Of WebHDFS, and methods of HTTP."""
# where files are given their names: below the lake, the lists, the snapshot in the making, or a folder of this process
RENAMERS = {"pipelines.reconcile.list_writer", "pipelines.files.text_files", "pipelines.files.saved_text"}
CREATORS = {
    ("pipelines.files.text_files", "self._files(target).create"),  # below a temporary name beside its place
    ("pipelines.capture.sources.hbase_client", "hadoop.view.org.apache.hadoop.hbase.HBaseConfiguration.create"),
    ("pipelines.lake.driver_commits", "DeltaTable.create"),
}
# the word that HBase's cleaner says of a file; in hfile_table, the method that makes an HBaseConfiguration
WORDS = {
    ("pipelines.decide.rule.cleaner_rule", "DELETE"),
    ("pipelines.decide.spark.summary", "DELETE"),
    ("pipelines.decide.spark.verdicts", "DELETE"),
    ("pipelines.reconcile.explain.text", "DELETE"),
    ("pipelines.reconcile.rows", "DELETE"),
    ("pipelines.capture.sources.hfile_table", "create"),
}


def reachable(entry: str) -> set[str]:
    """Every module of the project that an import of the entry loads."""
    graph = grimp.build_graph("schemas", "pipelines", "jobs")
    return {entry} | graph.find_upstream_modules(entry)


def source(module: str) -> ast.Module:
    path = PROJECT / Path(*module.split("."))
    file = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
    # a folder with nothing but Python's caches, as an older checkout leaves, is a package without code
    return ast.parse(file.read_text() if file.exists() else "")


def uses(code: ast.AST) -> Iterator[tuple[str, str]]:
    """What a module takes of something, called or not: of what, and which. A replaced file is a renamed one."""
    for node in ast.walk(code):
        match node:
            case ast.Call(func=ast.Attribute(value, "replace"), args=[_], keywords=[]):  # of a text it takes two
                yield ast.unparse(value), "rename"
            case ast.Attribute(ast.Name("os") as value, "replace"):
                yield value.id, "rename"
            case ast.Attribute(value, name):
                yield ast.unparse(value), name
            case ast.ImportFrom(module, names):
                yield from ((module or "", one.name) for one in names)


def words(code: ast.AST) -> set[str]:
    """The texts of a module that are no more than one of the operations, or the name of a method that removes."""
    texts = {node.value for node in ast.walk(code) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if text.upper() in OPERATIONS or text in REMOVING | RENAMING}


@pytest.mark.promise("deciding-deletes-nothing", "reconcile-cannot-delete", "only-the-clean-up-can-move")
@pytest.mark.parametrize("entry", ENTRIES)
def test_nothing_that_is_imported_can_remove_a_file(entry: str) -> None:
    modules = reachable(entry)
    assert entry in modules
    assert len(modules) > 5
    found = {(module, f"{on}.{name}") for module in modules for on, name in uses(source(module)) if name in REMOVING}
    assert found == set()
    assert {(module, word) for module in modules for word in words(source(module))} <= WORDS


@pytest.mark.promise("reconcile-cannot-delete", "only-the-clean-up-can-move")
@pytest.mark.parametrize("entry", ENTRIES)
def test_only_named_sinks_rename_or_create(entry: str) -> None:
    used = [(module, on, name) for module in reachable(entry) for on, name in uses(source(module))]
    assert {module for module, _, name in used if name in RENAMING} <= RENAMERS
    assert {(module, f"{on}.{name}") for module, on, name in used if name == "create"} <= CREATORS


@pytest.mark.parametrize(
    "line",
    [
        "shutil.rmtree(p)",
        "from shutil import rmtree as gone",
        "from os import unlink",
        "map(fs.delete, paths)",
        "os.replace(a, b)",
        "swap = os.replace",
        "Path(a).replace(b)",
        "fs.create(p, True)",
        "_Request('DELETE').to_method('RENAME')",
        "getattr(fs, 'delete')(p)",
    ],
)
def test_the_check_sees_every_way_to_say_it(line: str) -> None:
    code = ast.parse(line)
    assert words(code) or {name for _, name in uses(code)} & {*REMOVING, *RENAMING, "create"}


def test_the_check_sees_a_module_that_removes() -> None:
    assert ("shutil", "rmtree") in set(uses(source("pipelines.snapshot.target")))
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
    places = OutputPlaces(f"file:{tmp_path}/lake", f"{home}/lists")
    outcome = run_reconcile(JobContext("reconcile", spark=auditor), config, places, [f"{home}/snapshot"])
    assert outcome.exit_code in (0, 5), outcome.text
    (cluster,) = outcome.result["clusters"]  # type: ignore[misc]
    assert cluster["status"] == "DONE"
    assert cluster["deletable_files"] > 0
    manifest = hdfs_cluster.path(f"{cluster['list_uri']}/manifest.json")
    assert files.getFileStatus(manifest).getOwner() == AUDITOR
    assert before <= {(file.path, file.length) for file in hbase_cluster.old_wals()}
