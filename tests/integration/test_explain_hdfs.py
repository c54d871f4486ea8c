"""`explain` answers about a lake on HDFS without a JVM: a plain one, an HA nameservice, and one with Kerberos."""

import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.run_summary import RunKey
from schemas.registry import DECISION_TABLES
from schemas.runs import RUNS
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.places import PROJECT

pytestmark = [pytest.mark.realhbase, pytest.mark.long]

NIGHT = int(datetime(2026, 11, 21, 2, tzinfo=UTC).timestamp()) * 1000
KEY = RunKey.of("prod-a", "night-1", NIGHT)
LAUNCH = "import sys; from jobs.cli.launch.launcher import main; sys.exit(main(sys.argv[1:]))"
QUESTION = "h1%2C16020%2C5.7"


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of one file, which is too young."""
    folder = tmp_path_factory.mktemp("explained") / "lake"
    tables = DeltaTables(spark, f"file:{folder}")
    tables.ensure(DECISION_TABLES)
    identity = {"cluster": KEY.cluster, "run_id": KEY.run_id, "run_date": KEY.run_date}
    run = {"status": "DONE", "mode": "NIGHTLY", "at": NIGHT + 1, "files_started_at": NIGHT}
    file = {"path": f"oldWALs/{QUESTION}", "verdict": "HELD", "reason": "TOO_YOUNG", "length": 7, "blocking": []}
    tables.append_rows(WAL_VERDICTS, [identity | file])
    tables.append_rows(RUNS, [identity | run])
    return folder


@pytest.fixture
def no_java(tmp_path: Path) -> Path:
    """A folder for PATH whose java starts nothing."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "java").write_text("#!/bin/sh\necho no JVM here >&2\nexit 1\n")
    (folder / "java").chmod(0o755)
    return folder


def put(hdfs: HdfsCluster, lake: Path) -> None:
    if not hdfs.file_system().exists(hdfs.path("/explained/lake")):
        hdfs.file_system().mkdirs(hdfs.path("/explained"))
        hdfs.file_system().copyFromLocalFile(hdfs.path(f"file://{lake}"), hdfs.path("/explained/lake"))


def ask(lake: str, no_java: Path, *question: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept: Mapping[str, str] = {
        name: value
        for name, value in os.environ.items()
        if name not in {"JAVA_HOME", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_HOME", "SPARK_CONF_DIR"}
    }
    environment = {**kept, "PATH": f"{no_java}:/usr/bin:/bin", **environment}
    command = [sys.executable, "-c", LAUNCH, "explain", "--lake", lake, *(question or (QUESTION,))]
    return subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)


def assert_answered(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr
    assert "HELD TOO_YOUNG" in done.stdout
    assert done.stderr == ""


@pytest.mark.promise("explain-without-a-jvm")
def test_a_plain_hdfs_by_its_uri(hdfs_cluster: HdfsCluster, lake: Path, no_java: Path) -> None:
    put(hdfs_cluster, lake)
    assert_answered(ask(f"{hdfs_cluster.uri}/explained/lake", no_java))


@pytest.mark.promise("explain-without-a-jvm")
def test_an_ha_nameservice_by_hadoop_conf_dir_and_after_a_failover(
    ha_hdfs: HdfsCluster, lake: Path, no_java: Path, tmp_path: Path
) -> None:
    ha_hdfs.fail_over(0)
    put(ha_hdfs, lake)
    conf = str(ha_hdfs.write_conf(tmp_path / "conf"))
    for name in (f"{ha_hdfs.uri}/explained/lake", "/explained/lake"):
        assert_answered(ask(name, no_java, HADOOP_CONF_DIR=conf))
    state = ask("/explained/lake", no_java, "--cluster", "prod-a", HADOOP_CONF_DIR=conf)
    assert (state.returncode, state.stderr) == (0, "")
    assert "No forecast of a full disk: 1 night is too few" in state.stdout
    since = ask("/explained/lake", no_java, "--since", "2026-11-21", HADOOP_CONF_DIR=conf)
    assert since.returncode == 2
    assert "no two DONE runs" in since.stderr
    ha_hdfs.fail_over(1)
    try:
        assert_answered(ask("/explained/lake", no_java, HADOOP_CONF_DIR=conf))
    finally:
        ha_hdfs.fail_over(0)


@pytest.mark.promise("explain-without-a-jvm")
def test_an_ha_nameservice_by_sparks_settings(ha_hdfs: HdfsCluster, lake: Path, no_java: Path) -> None:
    ha_hdfs.fail_over(0)
    put(ha_hdfs, lake)
    settings = " ".join(f"--conf spark.hadoop.{name}={value}" for name, value in ha_hdfs.client_properties.items())
    assert_answered(ask("/explained/lake", no_java, SPARK_SUBMIT_ARGS=settings))


@pytest.mark.promise("explain-without-a-jvm")
def test_kerberos_by_a_ticket_and_by_spark_without_one(
    kerberos_hdfs: HdfsCluster, lake: Path, no_java: Path, tmp_path: Path
) -> None:
    put(kerberos_hdfs, lake)
    kerberos = kerberos_hdfs.kerberos
    assert kerberos is not None
    name = f"{kerberos_hdfs.uri}/explained/lake"
    secured = {
        "HADOOP_CONF_DIR": str(kerberos_hdfs.write_conf(tmp_path / "conf")),
        "KRB5_CONFIG": str(kerberos.krb5_conf),
        "KRB5CCNAME": f"FILE:{tmp_path}/tickets",
    }
    stranger = ask(name, no_java, **secured)
    assert "deltalake cannot read it" in stranger.stderr
    assert "GSSAPI" in stranger.stderr
    assert "does not say its version" in stranger.stderr, "Spark is to be started, which may log in by itself"
    assert_answered(ask(name, no_java, **secured, KRB5_CLIENT_KTNAME=str(kerberos.keytab)))
    assert_answered(ask(name, no_java, **secured))  # the first left its ticket
