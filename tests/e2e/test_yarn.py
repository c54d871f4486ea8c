"""`--master yarn`, where the driver runs here and where it runs on the cluster."""

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.labs.cluster.classpath import HADOOP_3_4, resolve, uncompressed
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.debian import java_8
from tests.labs.inspected_wals import Inspected
from tests.labs.spark.same_night import MANY_SMALL_TASKS, Night, assert_same, reconcile
from tests.labs.spark.submitter import Submitter
from tests.labs.spark.yarn import SIZES, SMALL, YarnCluster, copy_java, pack_environment, zip_spark_jars

pytestmark = [pytest.mark.realhbase, pytest.mark.long]

# large packages of the tests alone
UNUSED = ("*/_polars_runtime*", "*/playwright/*", "*/kubernetes_validate/*", "*/_duckdb*")


@pytest.fixture(scope="module")
def yarn(hdfs_cluster: HdfsCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[YarnCluster]:
    cluster = YarnCluster(tmp_path_factory.mktemp("yarn"), dict(hdfs_cluster.client_properties))
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def conf_dir(yarn: YarnCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return yarn.write_conf(tmp_path_factory.mktemp("yarn-conf"))


def test_driver_on_the_cluster(
    submit: Submitter, yarn: YarnCluster, hdfs_cluster: HdfsCluster, conf_dir: Path, tmp_path: Path
) -> None:
    config = tmp_path / "prod.yaml"
    config.write_text("release:\n")
    (tmp_path / "spark-defaults.conf").write_text("spark.submit.deployMode cluster\n")
    environment = {
        "HADOOP_CONF_DIR": str(conf_dir),
        "SPARK_CONF_DIR": str(tmp_path),
        "SPARK_SUBMIT_ARGS": f"--master yarn {SMALL}",
    }
    result = tmp_path / "result.json"
    options = ("--config", str(config), "--output", "json", "--result", str(result))
    done = submit("probe", "exit", "--code", "5", *options, env=environment)
    assert done.returncode == 5, done.stderr + yarn.logs()
    document = json.loads(done.stdout)
    assert (document["job"], document["exit_code"], document["config"]) == ("probe", 5, "release:\n")
    assert json.loads(result.read_text(encoding="utf-8")) == document
    assert "/container_" in document["module"]
    files = hdfs_cluster.file_system().listStatus(hdfs_cluster.path("/tmp"))  # noqa: S108 - of HDFS
    assert [str(status.getPath()) for status in files if "walsafe" in str(status.getPath())] == []  # read and removed


@pytest.mark.deep
def test_result_where_the_user_wants_it(
    submit: Submitter, yarn: YarnCluster, hdfs_cluster: HdfsCluster, conf_dir: Path
) -> None:
    table, result = f"{hdfs_cluster.uri}/lake/t", f"{hdfs_cluster.uri}/results/night.json"
    environment = {
        "HADOOP_CONF_DIR": str(conf_dir),
        "SPARK_SUBMIT_ARGS": f"--master yarn {SMALL} --conf spark.driver.host=127.0.0.1",
    }
    done = submit("probe", "delta", "--path", table, "--result", result, env=environment)
    assert (done.returncode, done.stdout) == (0, "10 rows\n"), done.stderr + yarn.logs()
    assert hdfs_cluster.file_system().exists(hdfs_cluster.path("/results/night.json"))
    names = [
        status.getPath().getName() for status in hdfs_cluster.file_system().listStatus(hdfs_cluster.path("/results"))
    ]
    assert names == ["night.json"]


@pytest.mark.deep
def test_executors_read_wals(
    submit: Submitter,
    yarn: YarnCluster,
    hdfs_cluster: HdfsCluster,
    conf_dir: Path,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    inspected = Inspected(spark, tmp_path, f"{hdfs_cluster.uri}/inspected")
    local = hdfs_cluster.path(f"file://{inspected.hbase}")
    hdfs_cluster.file_system().copyFromLocalFile(local, hdfs_cluster.path("/inspected"))
    environment = {
        "HADOOP_CONF_DIR": str(conf_dir),
        "SPARK_SUBMIT_ARGS": f"--master yarn {SMALL} --conf spark.driver.host=127.0.0.1",
    }
    done = submit("inspect-wals", "--snapshot", f"file:{inspected.snapshot}", "--output", "json", env=environment)
    assert done.returncode == 5, done.stderr + yarn.logs()
    assert json.loads(done.stdout)["endings"] == {"CLOSED": 5, "NO_HEADER": 1, "OPEN": 2}


def test_no_result_is_unavailable(submit: Submitter, yarn: YarnCluster, conf_dir: Path) -> None:
    arguments = f"--master yarn --deploy-mode cluster {SMALL}".replace(sys.executable, "/no/such/python")
    done = submit("probe", "exit", env={"HADOOP_CONF_DIR": str(conf_dir), "SPARK_SUBMIT_ARGS": arguments})
    assert done.returncode == 4, done.stderr + yarn.logs()
    assert "the driver's result cannot be read" in done.stderr


@pytest.mark.promise("same-list-wherever-spark-runs")
@pytest.mark.deep
@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_the_same_night(
    submit: Submitter, yarn: YarnCluster, conf_dir: Path, snapshots: Path, here: Night, tmp_path: Path, mode: str
) -> None:
    spark = f"--master yarn --deploy-mode {mode} {SMALL} --conf spark.executor.instances=2 {MANY_SMALL_TASKS}"
    if mode == "client":
        spark += " --conf spark.driver.host=127.0.0.1"
    there = reconcile(submit, snapshots, tmp_path, spark, env={"HADOOP_CONF_DIR": str(conf_dir)})
    assert len({task["Task Info"]["Executor ID"] for task in there.tasks}) == 2, yarn.logs()
    assert_same(here, there)


@dataclass(frozen=True)
class Elsewhere:
    """A YARN and an HDFS that have neither our Java nor our Spark nor our packages.

    Attributes:
        yarn: the YARN.
        hdfs: the HDFS.
        java: a folder with our Java, on every node.
        conf_dir: of a client.
    """

    yarn: YarnCluster
    hdfs: HdfsCluster
    java: Path
    conf_dir: Path

    def settings(self, java: str | Path) -> str:
        """Returns the options of spark-submit for containers with our Spark and this Java."""
        homes = " ".join(f"--conf spark.{of}.JAVA_HOME={java}" for of in ("yarn.appMasterEnv", "executorEnv"))
        return f"--master yarn --conf spark.yarn.archive={self.hdfs.uri}/apps/spark-jars.zip {homes} {SIZES}"

    def shipped(self) -> str:
        """Returns the options for a driver on the cluster, to which everything comes as an archive."""
        archives = ("walsafe-env.tar.gz#environment", "java.tar.gz#java")
        shipped = ",".join(f"{self.hdfs.uri}/apps/{archive}" for archive in archives)
        python = "--conf spark.yarn.appMasterEnv.PYSPARK_PYTHON=./environment/bin/python"
        return f"{self.settings('./java')} --deploy-mode cluster --archives {shipped} {python}"


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Elsewhere]:
    """Hadoop 3.4 on Java 8. Its nodes see of this machine: files of tests, our Python, a copy of our Java."""
    work = tmp_path_factory.mktemp("elsewhere")
    java = copy_java(work / "our-java")
    packed = [Path(shutil.make_archive(str(work / "java"), "gztar", java)), pack_environment(work, *UNUSED)]
    jars = {jar.parent for jar in uncompressed(resolve(HADOOP_3_4))}
    # there, the nodes would see our Java instead of theirs
    assert sys.base_prefix != "/usr", "this test needs a Python that is installed elsewhere than in /usr"
    seen = [tmp_path_factory.getbasetemp(), Path(sys.base_prefix), *sorted(jars)]
    places = [work / name for name in ("hdfs", "yarn")]
    for place in places:
        place.mkdir()
    java_of = [java_8(place, seen) for place in places]
    hdfs = HdfsCluster(places[0], hadoop=HADOOP_3_4, java_8=java_of[0])
    try:
        for archive in (*packed, zip_spark_jars(work)):
            hdfs.file_system().copyFromLocalFile(hdfs.path(f"file://{archive}"), hdfs.path(f"/apps/{archive.name}"))
        yarn = YarnCluster(places[1], hdfs.client_properties, hadoop=HADOOP_3_4, java_8=java_of[1])
        try:
            java_of_the_nodes = yarn.jvm.view.java.lang.System.getProperty("java.version")
            assert java_of_the_nodes.startswith("1.8."), java_of_the_nodes
            yield Elsewhere(yarn, hdfs, java, yarn.write_conf(work / "conf"))
        finally:
            yarn.close()
    finally:
        hdfs.close()


@pytest.mark.promise("own-spark-on-another-hadoop")
@pytest.mark.deep
@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_our_spark_and_java_on_a_cluster_of_others(
    submit: Submitter, elsewhere: Elsewhere, snapshots: Path, here: Night, tmp_path: Path, mode: str
) -> None:
    spark = f"{elsewhere.settings(elsewhere.java)} --conf spark.driver.host=127.0.0.1"
    if mode == "cluster":
        spark = elsewhere.shipped()
    environment = {"HADOOP_CONF_DIR": str(elsewhere.conf_dir)}
    there = reconcile(submit, snapshots, tmp_path, f"{spark} {MANY_SMALL_TASKS}", env=environment)
    assert there.java.startswith(("17.", "21.", "25.")), "of the driver, which in cluster mode is a container"
    assert_same(here, there)


@pytest.mark.promise("own-spark-on-another-hadoop")
@pytest.mark.deep
def test_executors_with_a_packed_environment_read_wals(
    submit: Submitter, elsewhere: Elsewhere, spark: SparkSession, tmp_path: Path
) -> None:
    inspected, hdfs = Inspected(spark, tmp_path, f"{elsewhere.hdfs.uri}/inspected"), elsewhere.hdfs
    hdfs.file_system().copyFromLocalFile(hdfs.path(f"file://{inspected.hbase}"), hdfs.path("/inspected"))
    environment = {"HADOOP_CONF_DIR": str(elsewhere.conf_dir), "SPARK_SUBMIT_ARGS": elsewhere.shipped()}
    done = submit("inspect-wals", "--snapshot", f"file:{inspected.snapshot}", "--output", "json", env=environment)
    assert done.returncode == 5, done.stderr + elsewhere.yarn.logs()
    assert json.loads(done.stdout)["endings"] == {"CLOSED": 5, "NO_HEADER": 1, "OPEN": 2}
