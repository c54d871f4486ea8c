"""Java's classes in Spark's JVM: which path a name means, compiled classes, and a Curator without an answer."""

import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from pipelines.capture.sources.replication_znodes import ReplicationZnodes
from pipelines.capture.sources.zookeeper_java import JAVA_CLASS, JAVA_SOURCE
from pipelines.common.conditions import Condition
from pipelines.common.errors import UnavailableError, UsageError
from pipelines.files.file_reader import HadoopFileReader
from pipelines.files.hadoop_jvm import HadoopJvm, java_errors
from pipelines.hbase.peers import Peer

SOURCE = """
package walsafe.test;

public class Doubler {
    public int doubled(int number) {
        return 2 * number;
    }
}
"""


LOGS_IN = """
package walsafe.test;

public class LogsIn {
    public void ask() throws java.io.IOException {
        throw new java.io.IOException("relogin is in progress");
    }
}
"""


def test_a_path_gets_the_scheme_of_the_default_file_system(spark: SparkSession) -> None:
    assert HadoopJvm.of(spark).qualified("/a b/c%2Cd") == "file:/a b/c%2Cd"


def operations(spark: SparkSession) -> list[Callable[[str], object]]:
    reader = HadoopFileReader(spark)
    return [HadoopJvm.of(spark).qualified, reader.entries, reader.read, reader.sha256, reader.qualified]


@pytest.mark.parametrize("path", ["", "a:b:c", "nosuch://host/path"])
def test_a_path_that_no_file_system_takes_is_the_users_mistake(spark: SparkSession, path: str) -> None:
    for operation in operations(spark):
        with pytest.raises(UsageError, match="check the name"):
            operation(path)


def test_a_name_service_that_nobody_knows_asks_for_hadoops_configuration(spark: SparkSession) -> None:
    for operation in operations(spark):
        with pytest.raises(UsageError, match=r"UnknownHostException.*HADOOP_CONF_DIR"):
            operation("hdfs://no-such-service/hbase")


def test_a_jvm_that_has_ended_is_told_from_a_file_system_without_an_answer() -> None:
    """Night tries a job again, but not in an application without a JVM."""

    def ended(_uri: str) -> None:
        raise Py4JNetworkError("Answer from Java side is empty")

    fs = SimpleNamespace(Path=ended)
    view = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(hadoop=SimpleNamespace(fs=fs))))
    context = SimpleNamespace(_jvm=view, _gateway=None, _jsc=SimpleNamespace(hadoopConfiguration=lambda: None))
    for operation in operations(cast("SparkSession", SimpleNamespace(sparkContext=context))):
        with pytest.raises(UnavailableError) as raised:
            operation("hdfs://ns1/x")
        assert raised.value.condition is Condition.SPARK_ENDED


def test_the_client_with_kerberos_takes_more_than_a_mebibyte_of_names(spark: SparkSession) -> None:
    hadoop = HadoopJvm.of(spark)
    client, system = hadoop.compiled(JAVA_CLASS, JAVA_SOURCE), hadoop.view.java.lang.System
    assert client.config(1).getProperty("jute.maxbuffer") == str(64 << 20)
    system.setProperty("jute.maxbuffer", str(1 << 30))
    try:
        assert client.config(1).getProperty("jute.maxbuffer") == str(1 << 30)
    finally:
        system.clearProperty("jute.maxbuffer")


def test_a_client_that_logs_in_again_is_tried_again(spark: SparkSession) -> None:
    hadoop = HadoopJvm.of(spark)
    failing = hadoop.compiled("walsafe.test.LogsIn", LOGS_IN)
    with pytest.raises(UnavailableError, match=r"relogin is in progress; try again.*run kinit"), java_errors("HBase"):
        failing.ask()


def test_a_class_is_compiled_once(spark: SparkSession) -> None:
    first = HadoopJvm.of(spark).compiled("walsafe.test.Doubler", SOURCE)
    assert first.doubled(21) == 42
    assert HadoopJvm.of(spark).compiled("walsafe.test.Doubler", SOURCE) is first


def test_a_zookeeper_that_does_not_answer_is_tried_again(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    """Every job refuses a snapshot that does not know of leftovers, so a hiccup must not make one."""
    znodes = ReplicationZnodes(HadoopJvm.of(spark), "127.0.0.1:1", "/hbase", "replication", 300)
    with pytest.raises(UnavailableError, match=r"ZooKeeper 127\.0\.0\.1:1 did not answer within 300 ms; try again"):
        znodes.queue_data()
    peers = (Peer("1", "ENABLED"),)
    with caplog.at_level(logging.WARNING):
        assert znodes.synchronous(peers) == peers
    assert "The synchronous replication of peers is unknown: ZooKeeper 127.0.0.1:1 did not answer" in caplog.text
