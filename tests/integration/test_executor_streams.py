"""A task reads and copies files of a real HDFS with Hadoop's own client."""

from pathlib import Path

import py4j.java_gateway
import py4j.protocol
import pytest
from pyspark.sql import SparkSession

from pipelines.files.executor_streams import NotThereError, copy_directory, open_file
from pipelines.files.hadoop_jvm import HadoopJvm, hadoop_configuration
from tests.labs.cluster.hdfs import HdfsCluster

pytestmark = [pytest.mark.realhbase, pytest.mark.long]
FOLDER = "/streams/a [b]*"
FILES = {"one": b"1" * 3_000_000, "two{2}": b"", ".three": b"3"}


def test_files_are_read_and_copied(
    spark: SparkSession, tmp_path: Path, hdfs_cluster: HdfsCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = hadoop_configuration(HadoopJvm.of(spark))
    # on the driver, PySpark asks Spark's JVM about the exceptions of every JVM
    monkeypatch.setattr(py4j.java_gateway, "get_return_value", py4j.protocol.get_return_value)
    for name, content in FILES.items():
        hdfs_cluster.create_file(f"{FOLDER}/{name}", content)
    with open_file(f"{hdfs_cluster.uri}{FOLDER}/one", conf) as read:
        assert b"".join(iter(lambda: read(1 << 16), b"")) == FILES["one"]
    with (
        pytest.raises(NotThereError, match="does not exist"),
        open_file(f"{hdfs_cluster.uri}{FOLDER}/no", conf) as read,
    ):
        read(1)
    copy_directory(f"{hdfs_cluster.uri}{FOLDER}", str(tmp_path / "copy"), conf)
    assert {path.name: path.read_bytes() for path in (tmp_path / "copy").iterdir()} == FILES
    with pytest.raises(NotThereError, match="does not exist"):
        copy_directory(f"{hdfs_cluster.uri}/streams/nothing", str(tmp_path / "other"), conf)
