"""`--master yarn`, where the driver runs here and where it runs on the cluster."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.inspected_wals import Inspected
from tests.labs.spark.same_night import MANY_SMALL_TASKS, Night, assert_same, reconcile
from tests.labs.spark.submitter import Submitter
from tests.labs.spark.yarn import YarnCluster

pytestmark = [pytest.mark.realhbase, pytest.mark.long]

SPARK_JARS = Path(pyspark.__file__).parent / "jars"
# All nodes are this machine, so they take Spark from here; a real cluster names spark.yarn.archive once.
SMALL = (
    f"--conf 'spark.yarn.jars=local:{SPARK_JARS}/*' --conf spark.driver.memory=1g --conf spark.executor.memory=1g "
    "--conf spark.executor.instances=1 --conf spark.yarn.maxAppAttempts=1 "
    "--conf spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1 "
    f"--conf spark.yarn.appMasterEnv.PYSPARK_PYTHON={sys.executable}"
)


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
    environment = {
        "HADOOP_CONF_DIR": str(conf_dir),
        "SPARK_SUBMIT_ARGS": f"--master yarn --deploy-mode cluster {SMALL}",
    }
    done = submit("probe", "exit", "--code", "5", "--config", str(config), "--output", "json", env=environment)
    assert done.returncode == 5, done.stderr + yarn.logs()
    document = json.loads(done.stdout)
    assert (document["job"], document["exit_code"], document["config"]) == ("probe", 5, "release:\n")
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


@pytest.mark.deep
def test_no_result_is_unavailable(submit: Submitter, yarn: YarnCluster, conf_dir: Path) -> None:
    arguments = f"--master yarn --deploy-mode cluster {SMALL}".replace(sys.executable, "/no/such/python")
    done = submit("probe", "exit", env={"HADOOP_CONF_DIR": str(conf_dir), "SPARK_SUBMIT_ARGS": arguments})
    assert done.returncode == 4, done.stderr + yarn.logs()
    assert "the driver left no result" in done.stderr


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
