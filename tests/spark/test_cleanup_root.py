"""clean and purge know where HBase has its own directory, and keep out of it; restore takes files out of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext, SystemClock
from jobs.cli.entry import main
from pipelines.capture.sources.hbase_site import hbase_root
from pipelines.capture.sources.offline_state import OfflineCluster
from pipelines.capture.sources.zookeeper_queues import ZooKeeperQueues
from pipelines.capture.sources.zookeeper_state import ZooKeeperState
from pipelines.common.errors import UsageError
from pipelines.files.hadoop_jvm import HadoopJvm
from tests.labs.cleanup.on_disk import Lab, NightOver


def site(path: Path, **properties: str) -> Path:
    body = "".join(
        f"<property><name>{name.replace('_', '.')}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    path.write_text(f"<configuration>{body}</configuration>")
    return path


def test_the_root_is_read_from_what_the_configuration_names(spark: SparkSession, tmp_path: Path) -> None:
    hadoop = HadoopJvm.of(spark)
    silent = site(tmp_path / "silent.xml", hbase_wal_dir="hdfs://ns1/wals")
    says = site(tmp_path / "says.xml", hbase_rootdir=" hdfs://ns1/hbase ", fs_defaultFS="hdfs://ns1")
    refers = site(tmp_path / "refers.xml", hbase_rootdir="${fs.defaultFS}/hbase", fs_defaultFS="hdfs://ns2")
    lost = site(tmp_path / "lost.xml", hbase_rootdir="${of.nobody}/hbase")
    given = {"hbase.rootdir": "hdfs://ns3/hbase"}
    assert hbase_root(hadoop, str(says), {}) == "hdfs://ns1/hbase"
    assert hbase_root(hadoop, f"file:{says}", {}) == "hdfs://ns1/hbase"
    assert hbase_root(hadoop, str(refers), {}) == "hdfs://ns2/hbase"
    assert hbase_root(hadoop, str(silent), given) == "hdfs://ns3/hbase"
    assert hbase_root(hadoop, str(says), given) == "hdfs://ns3/hbase", "properties lie on top"
    for nothing in (str(silent), str(lost), None):
        assert hbase_root(hadoop, nothing, {}) is None
    with pytest.raises(UsageError, match=r"no such file: .*none.xml \(capture.hbase.site\)"):
        hbase_root(hadoop, str(tmp_path / "none.xml"), {})


@pytest.mark.parametrize(
    ("value", "expected"),
    [("${fs.defaultFS}/hbase", "file:/two/hbase"), ("file:/one/hbase/", "file:/one/hbase"), ("${of.nobody}/x", None)],
)
def test_an_offline_capture_resolves_the_root_too(
    spark: SparkSession, tmp_path: Path, value: str, expected: str | None
) -> None:
    hadoop = HadoopJvm.of(spark)
    where = site(tmp_path / "hbase-site.xml", hbase_rootdir=value, fs_defaultFS="file:///two")
    client: Any = None  # ZooKeeper is not asked
    queues = ZooKeeperQueues(client, "/hbase", "replication")
    cluster = OfflineCluster(ZooKeeperState(queues, hadoop, str(where), {}), queues, hadoop, "file:/wals")
    if expected is None:
        with pytest.raises(UsageError, match=r"has hbase.rootdir, or it contains `\$\{`"):
            cluster.root()
    else:
        assert cluster.root() == expected


@pytest.fixture
def on_class_path(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """A directory on the class path."""
    view: Any = HadoopJvm.of(spark).view
    thread = view.java.lang.Thread.currentThread()
    before = thread.getContextClassLoader()
    urls = HadoopJvm.of(spark).gateway.new_array(view.java.net.URL, 1)
    urls[0] = view.java.io.File(str(tmp_path)).toURI().toURL()
    thread.setContextClassLoader(view.java.net.URLClassLoader(urls, before))
    yield tmp_path
    thread.setContextClassLoader(before)


def test_the_root_is_read_from_the_class_path(spark: SparkSession, on_class_path: Path) -> None:
    site(on_class_path / "hbase-site.xml", hbase_rootdir="hdfs://ns1/there")
    assert hbase_root(HadoopJvm.of(spark), None, {}) == "hdfs://ns1/there"


def refused(spark: SparkSession, folder: Path, job: str, live: str, named: Path) -> str:
    """Returns the message of a job on a cluster of which nothing is there."""
    config = folder / "prod.yaml"
    document = {
        "cluster": "prod",
        "wal_root": f"file://{folder}/wals",
        "capture": {
            "files": {"source": "hadoop"},
            "queues": {"source": "zookeeper", "quorum": "127.0.0.1:1"},
            "state": {"source": live},
            "hbase": {"site": str(named)},
        },
        "clean": {"quarantine": f"file://{folder}/quarantine"},
    }
    config.write_text(json.dumps(document))
    answer = folder / f"{job}.json"
    words = ["--cluster", "prod", "--run-id", "n", "--lake", f"file:{folder}/lake", "--config", str(config)]
    words += ["--lists", f"file:{folder}/lists"] if job == "clean" else []
    context = JobContext(job, SystemClock(), spark)
    assert main([job, *words, "--result", str(answer)], context=context) == 2
    return str(json.loads(answer.read_text())["error"]["message"])


@pytest.mark.promise("quarantine-is-out-of-hbases-reach")
@pytest.mark.parametrize("live", ["hbase", "zookeeper"])
def test_a_root_that_nobody_tells_stops_all_but_restore(spark: SparkSession, tmp_path: Path, live: str) -> None:
    """Nothing is asked before that: neither HBase nor ZooKeeper is there."""
    silent = site(tmp_path / "hbase-site.xml", hbase_wal_dir="hdfs://ns1/wals")
    for job in ("clean", "purge"):
        message = refused(spark, tmp_path, job, live, silent)
        for word in (str(silent), "hbase.rootdir is not known", "capture.hbase.site", "capture.hbase.properties"):
            assert word in message
    assert "lake/runs: there is no such table" in refused(spark, tmp_path, "restore", live, silent)


def test_only_clean_and_purge_need_what_asks_hbase(spark: SparkSession, tmp_path: Path) -> None:
    """Neither HBase's client nor the lake is there; restore does not even miss the site."""
    there = site(tmp_path / "hbase-site.xml", hbase_rootdir="hdfs://ns1/hbase")
    for job in ("clean", "purge"):
        assert "ConnectionFactory is not on Spark's class path" in refused(spark, tmp_path, job, "hbase", there)
    nowhere = tmp_path / "none.xml"
    assert "lake/runs: there is no such table" in refused(spark, tmp_path, "restore", "hbase", nowhere)


def rooted(lab: Lab, root: str | None, **clean: str) -> None:
    """From now on the configuration says where HBase's root is."""
    document = json.loads(lab.config.read_text())
    document["capture"].pop("hbase", None)
    if root is not None:
        document["capture"]["hbase"] = {"properties": {"hbase.rootdir": root}}
    document["clean"] |= clean
    lab.config.write_text(json.dumps(document))


@pytest.mark.long
@pytest.mark.promise("quarantine-is-out-of-hbases-reach")
def test_clean_and_purge_keep_out_of_the_root_and_restore_takes_files_out_of_it(night_over: NightOver) -> None:
    lab = night_over.lab(Lab)
    inside, beside = str(lab.root / "quarantine"), str(lab.root / "elsewhere")
    rooted(lab, f"file:{inside}/prod")
    for attempt in (lab.clean, lab.purge):
        with pytest.raises(
            UsageError, match=r"clean\.quarantine .* and hbase\.rootdir .* overlap: one contains the other"
        ):
            attempt(execute=True)
    rooted(lab, f"file:{beside}", archive=f"file:{beside}/archive")
    for attempt in (lab.clean, lab.purge):
        with pytest.raises(
            UsageError, match=r"clean\.archive .* and hbase\.rootdir .* overlap: one contains the other"
        ):
            attempt(execute=True)
    rooted(lab, f"file:{beside}", archive=f"file:{lab.root}/archive")
    assert lab.clean(execute=True).exit_code == 0
    rooted(lab, f"file:{inside}")
    done = lab.restore()
    assert (done.exit_code, done.result["done_files"]) == (0, 4)
    assert lab.resting() == {}
