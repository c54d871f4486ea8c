"""`capture` from and into real file systems: HDFS with two name nodes, with Kerberos, of many pages, and its image."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.hdfs_files import make_files
from jobs.cli.launch.jars import jars_for, spark_of
from jobs.cli.launch.submit import CLASS_PATH, QUICK_START
from pipelines.capture.sources.hadoop_files import HadoopLister
from pipelines.capture.sources.wal_tree import WalTree
from pipelines.common.errors import UsageError
from pipelines.files.hadoop_jvm import HadoopJvm
from tests.labs.cluster.classpath import HBASE_CLIENT, PYSPARK_JARS, resolve
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.places import PROJECT
from tests.labs.real_captures import HADOOP_FILES, HBASE_STATE, Lab, read_back
from tests.labs.spark.local_session import archive_options

pytestmark = pytest.mark.realhbase


def test_a_snapshot_on_hdfs_appears_whole_and_is_never_replaced(lab: Lab, hdfs_cluster: HdfsCluster) -> None:
    out = f"{hdfs_cluster.uri}/snapshots/one"
    assert lab.run(out)["snapshot"] == out
    files = hdfs_cluster.file_system()
    names = {str(status.getPath().getName()) for status in files.listStatus(hdfs_cluster.path("/snapshots"))}
    assert names == {"one"}
    inside = {str(status.getPath().getName()) for status in files.listStatus(hdfs_cluster.path("/snapshots/one"))}
    assert inside == {"snapshot.json", "files", "queues-1.jsonl", "queues-2.jsonl", "extras"}  # its peer is serial
    with pytest.raises(UsageError, match="exists already"):
        lab.run(out)


@pytest.fixture(scope="module")
def wals_on_ha(ha_hdfs: HdfsCluster, lab: Lab) -> HdfsCluster:
    """25 archived files, one of which is still seen below WALs/ as well; the first name node is active."""
    ha_hdfs.fail_over(0)
    # of a server that is online: a WAL root without any would be another cluster's
    ha_hdfs.create_file(f"/hbase/WALs/{lab.cluster.online_servers()[0]}/h1%2C16020%2C5.7", b"live")
    for index in range(25):
        ha_hdfs.create_file(f"/hbase/oldWALs/h1%2C16020%2C5.{index}", b"x" * index)
    return ha_hdfs


def test_an_ha_nameservice_is_captured_after_a_failover(lab: Lab, wals_on_ha: HdfsCluster) -> None:
    properties = wals_on_ha.client_properties
    files = {"source": "hadoop", "properties": properties}
    before = lab.take(f"{wals_on_ha.uri}/hbase", files=files)
    wals_on_ha.fail_over(1)
    try:
        after = lab.take(f"{wals_on_ha.uri}/hbase", files=files)
        # a standby refuses, and the library turns to the other name node
        urls = [wals_on_ha.webhdfs(0), wals_on_ha.webhdfs(1)]
        web = lab.take(f"{wals_on_ha.uri}/hbase", files={"source": "webhdfs", "urls": urls, "user": "reader"})
    finally:
        wals_on_ha.fail_over(0)
    assert before.names == sorted((f"oldWALs/h1%2C16020%2C5.{index}", index) for index in range(25))
    assert before.files == after.files == web.files


@pytest.mark.slow("an HDFS saves its image, from which a capture is made")
@pytest.mark.promise("sources-agree")
def test_an_fsimage_shows_the_same_files(lab: Lab, wals_on_ha: HdfsCluster, tmp_path: Path) -> None:
    wals_on_ha.safe_mode(True)
    try:
        wals_on_ha.file_system().saveNamespace()
    finally:
        wals_on_ha.safe_mode(False)
    images = [path for path in wals_on_ha.work.rglob("fsimage_*") if re.fullmatch(r"fsimage_\d+", path.name)]
    image = max(images, key=lambda path: path.name)
    text = tmp_path / "image.tsv"
    jvm = wals_on_ha.jvm
    arguments = ["-p", "Delimited", "-i", str(image), "-o", str(text)]
    array = jvm.gateway.new_array(jvm.view.java.lang.String, len(arguments))
    for index, argument in enumerate(arguments):
        array[index] = argument
    assert jvm.view.org.apache.hadoop.hdfs.tools.offlineImageViewer.OfflineImageViewerPB.run(array) == 0
    zone = str(jvm.view.java.util.TimeZone.getDefault().getID())
    exact = lab.take(f"{wals_on_ha.uri}/hbase", files={"source": "hadoop", "properties": wals_on_ha.client_properties})
    settings = {"source": "fsimage", "path": str(text), "time_zone": zone, "transaction_time": "2026-01-01T00:00:00Z"}
    # the directories below WALs/ are read live, from the HBase cluster's own file system
    image_rows = lab.take(f"{lab.cluster.wal_root.rpartition('/')[0]}/hbase", files=settings)
    archived = [name for name in image_rows.names if name[0].startswith("oldWALs/")]
    assert len(archived) == 25
    assert archived == [name for name in exact.names if name[0].startswith("oldWALs/")]
    times = {path: time for path, _, time in exact.files}
    minutes = {path: time for path, _, time in image_rows.files}
    assert all(0 <= (minutes[path] - times[path]).total_seconds() < 60 for path, _ in archived)
    assert image_rows.snapshot.files_step.started_at == image_rows.snapshot.files_step.finished_at


@pytest.mark.long
def test_kerberos_by_the_command_line(lab: Lab, kerberos_hdfs: HdfsCluster, tmp_path: Path) -> None:
    kerberos = kerberos_hdfs.kerberos
    assert kerberos is not None
    server = lab.cluster.online_servers()[0]
    kerberos_hdfs.create_file(f"/guarded/WALs/{server}/h1%2C16020%2C5.8", b"live")
    kerberos_hdfs.create_file("/guarded/oldWALs/h1%2C16020%2C5.7", b"old")
    conf = kerberos_hdfs.write_conf(tmp_path / "hadoop-conf")
    config = tmp_path / "walsafe.yaml"
    chosen = {"files": HADOOP_FILES, "queues": HBASE_STATE, "state": HBASE_STATE}
    document = json.loads(lab.config(f"{kerberos_hdfs.uri}/guarded", **chosen))
    config.write_text(json.dumps({**document, "snapshots": f"file:{tmp_path}/snapshots"}))
    submit = shutil.which("spark-submit", path=str(Path(sys.executable).parent))
    assert submit is not None
    delta = jars_for(PROJECT / "jars.lock", PROJECT / ".jars", spark_of(PYSPARK_JARS) or "")
    options = [
        *("--master", "local[1]", "--driver-memory", "700m", "--jars", ",".join(map(str, resolve(HBASE_CLIENT)))),
        *("--conf", f"spark.driver.extraJavaOptions=-Djava.security.krb5.conf={kerberos.krb5_conf}"),
        *("--conf", f"spark.driver.defaultJavaOptions={QUICK_START} {archive_options(delta)}"),
        *("--conf", f"{CLASS_PATH}={os.pathsep.join(map(str, delta))}"),
        *("--conf", "spark.sql.extensions=", "--conf", "spark.ui.enabled=false"),
    ]
    job = [str(PROJECT / "jobs" / "main.py"), "capture", "--config", str(config)]
    environment = {**os.environ, "HADOOP_CONF_DIR": str(conf), "PYSPARK_PYTHON": sys.executable}
    stranger = subprocess.run([submit, *options, *job], env=environment, capture_output=True, text=True, check=False)
    assert stranger.returncode == 2, stranger.stderr[-3000:]
    assert "AccessControlException" in stranger.stderr
    keys = ["--principal", kerberos.principal, "--keytab", str(kerberos.keytab)]
    done = subprocess.run([submit, *options, *keys, *job], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (snapshot,) = tmp_path.glob("snapshots/lab/20*Z")
    taken = read_back(snapshot)
    assert taken.names == [(f"WALs/{server}/h1%2C16020%2C5.8", 4), ("oldWALs/h1%2C16020%2C5.7", 3)]


@pytest.mark.long
def test_a_directory_of_many_pages_is_listed_whole(lab: Lab, hdfs_cluster: HdfsCluster) -> None:
    hdfs_cluster.create_file("/many/oldWALs/{path=x; isDirectory=true; modification_time=1;", b"odd")
    root, spark = f"{hdfs_cluster.uri}/many", lab.context.spark
    # more than the 1,000 of one answer of the name node
    assert make_files(spark, root, (f"oldWALs/h1%2C16020%2C5.{index:04}" for index in range(1_100))) == 1_100
    lister = HadoopLister(HadoopJvm.of(spark), root, page=500)
    batches = list(WalTree(lister, root).files())
    lister.close()
    assert [len(batch) for batch in batches] == [1_000, 101]
    assert len({path for batch in batches for path in batch.paths}) == 1_101
