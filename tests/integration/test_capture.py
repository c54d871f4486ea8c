"""`capture` from a real HBase and HDFS: every source, the same answer; and the states that must be caught."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.cli.config import parse_config
from jobs.cli.context import JobContext
from pipelines.capture.sources.exported_cells import parse_cell
from pipelines.capture.sources.hadoop_files import HadoopLister
from pipelines.capture.sources.replication_znodes import ReplicationZnodes
from pipelines.capture.sources.wal_tree import WalTree
from pipelines.common.errors import RefusedError, UnavailableError, UsageError
from pipelines.common.json_form import Form
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.snapshot.barriers import parse_barriers, serial_gaps
from pipelines.snapshot.beside_queues import CellsBeside
from pipelines.snapshot.capture_order import order_fault
from pipelines.snapshot.model import Backup, Snapshot, parse_snapshot
from tests.labs.cluster.classpath import HBASE_CLIENT, HDFS, PYSPARK_JARS, Artifact, Classpath, resolve
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.thrift import ThriftGateway
from tests.labs.places import PROJECT

pytestmark = pytest.mark.realhbase

JRUBY = Classpath("jruby", (Artifact("org.jruby:jruby-complete:9.4.8.0"),))
HBASE_STATE = {"source": "hbase"}
HADOOP_FILES = {"source": "hadoop"}
EXPORTED = {"source": "export"}


@dataclass(frozen=True)
class Taken:
    """A snapshot, read back."""

    snapshot: Snapshot
    files: list[tuple[str, int, Any]]
    queues: tuple[list[str], list[str]]

    @property
    def names(self) -> list[tuple[str, int]]:
        return [(path, length) for path, length, _ in self.files]


def read_back(directory: Path) -> Taken:
    snapshot = parse_snapshot(json.loads((directory / "snapshot.json").read_text()))
    assert order_fault(snapshot.steps) is None
    rows = pq.read_table(directory / "files").to_pylist()
    files = sorted((row["path"], row["length"], row["modification_time"]) for row in rows)
    first, second = ((directory / f"queues-{index}.jsonl").read_text().splitlines() for index in (1, 2))
    return Taken(snapshot, files, (first, second))


@pytest.fixture(scope="module")
def client_jars(spark: SparkSession) -> SparkSession:
    """The session with HBase's client, as `--jars` would have put it there."""
    jvm = spark.sparkContext._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for jar in resolve(HBASE_CLIENT):
        loader.addURL(jvm.java.net.URL(jar.as_uri()))
    return spark


class Lab:
    """Captures with one line each."""

    def __init__(self, cluster: HBaseCluster, spark: SparkSession, work: Path) -> None:
        self.cluster = cluster
        self.work = work
        self.site = cluster.write_conf(work / "conf") / "hbase-site.xml"
        self.context = JobContext("capture", spark=spark)
        self._count = 0

    def config(self, root: str | None = None, **sections: object) -> str:
        capture = {
            "hbase": {"site": str(self.site), "timeout": "5m"},
            "step_attempts": 1,
            "quiet_attempts": 1,
            **sections,
        }
        return json.dumps({"cluster": "lab", "wal_root": root or self.cluster.wal_root, "capture": capture})

    def take(self, root: str | None = None, **sections: object) -> Taken:
        self._count += 1
        out = self.work / f"snapshot-{self._count}"
        self.run(str(out), root, **sections)
        return read_back(out)

    def run(self, out: str, root: str | None = None, **sections: object) -> Mapping[str, object]:
        chosen = {"files": HADOOP_FILES, "queues": HBASE_STATE, "state": HBASE_STATE, **sections}
        config = parse_config(self.config(root, **chosen), "test.yaml")
        assert config.cluster is not None
        assert config.wal_root is not None
        assert config.capture is not None
        return capture_cluster(config.cluster, config.wal_root, config.capture, out, self.context).result


@pytest.fixture(scope="module")
def lab(
    hbase_cluster: HBaseCluster,
    peer_cluster: HBaseCluster,
    client_jars: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Lab]:
    for cluster in (hbase_cluster, peer_cluster):
        cluster.create_table("capture")
    hbase_cluster.add_peer("capture", peer_cluster.cluster_key, serial=True)
    hbase_cluster.archive_wals("capture")
    hbase_cluster.wait_replicated("capture", peer_cluster, 26)
    hbase_cluster.disable_peer("capture")  # nothing moves from here on
    yield Lab(hbase_cluster, client_jars, tmp_path_factory.mktemp("capture"))
    hbase_cluster.remove_peer("capture")


@pytest.fixture(scope="module")
def plain(lab: Lab) -> Taken:
    return lab.take()


def test_what_is_captured_is_what_hbase_has(lab: Lab, plain: Taken) -> None:
    snapshot, cluster = plain.snapshot, lab.cluster
    archived = {(file.path, file.length, file.modification_time) for file in cluster.old_wals()}
    captured = {(path, length, int(time.timestamp() * 1000)) for path, length, time in plain.files}
    assert archived
    assert archived == {row for row in captured if row[0].startswith("oldWALs/")}
    assert {file.path for file in cluster.files("WALs")} == {
        path for path, _ in plain.names if not path.startswith("oldWALs/")
    }
    assert snapshot.membership is not None
    assert snapshot.membership_2 is not None
    assert {str(server) for server in snapshot.membership.online} == set(cluster.online_servers())
    assert {str(server) for server in snapshot.membership.crashing} == set(cluster.crashing())
    assert set(cluster.live_servers()) <= {str(entry.server) for entry in snapshot.membership.wal_directories}
    assert snapshot.membership.active_master == snapshot.membership_2.active_master == cluster.active_master()
    assert {peer.peer_id: peer.state for peer in snapshot.peers} == cluster.peers()
    assert snapshot.cluster_id == cluster.cluster_id
    assert snapshot.retention.wal_ttl_ms == 86_400_000
    assert snapshot.flags is not None
    assert snapshot.flags == snapshot.flags_2
    assert (snapshot.flags.queue_table_exists, snapshot.flags.zk_queue_data) == (True, False)
    assert (snapshot.flags.add_peer_running, snapshot.flags.migration_pending) == (False, False)
    assert len(plain.queues[0]) == len(cluster.queue_cells())
    assert plain.queues[0] == plain.queues[1]


def test_a_serial_peer_has_the_barriers_of_regions_captured(lab: Lab, plain: Taken) -> None:
    """Every region of a replicated table wrote one when it opened, and the peer has pushed what was before."""
    assert plain.snapshot.extras == ("barriers",)
    lines = (lab.work / "snapshot-1" / "extras" / "barriers.jsonl").read_text().splitlines()
    regions = [parse_barriers(Form(json.loads(line), "barriers.jsonl")) for line in lines]
    own = [region for region in regions if region.table == "capture"]
    assert len(own) == 3
    assert all(region.barriers and len(region.region) == 32 for region in own)
    notes = CellsBeside()
    deque(notes.watched(parse_cell(line, "queues-2.jsonl") for line in plain.queues[1]), maxlen=0)
    assert {("capture", region.region) for region in own} <= set(notes.pushed)
    assert serial_gaps("capture", own, notes.pushed) == [], "all was shipped"


def beside(lab: Lab, take: Callable[[], Taken]) -> tuple[Taken, Taken]:
    """The plain capture and another one, between two plain ones that are equal: HBase rolls a WAL when it likes."""
    for _ in range(5):
        before, other, after = lab.take(), take(), lab.take()
        if (before.files, before.queues) == (after.files, after.queues):
            return before, other
    raise AssertionError("the cluster never stood still")


@pytest.mark.promise("sources-agree")
def test_webhdfs_and_thrift_agree(lab: Lab, hdfs_cluster: HdfsCluster, thrift_gateway: ThriftGateway) -> None:
    plain, other = beside(
        lab,
        lambda: lab.take(
            files={"source": "webhdfs", "urls": [hdfs_cluster.webhdfs()], "user": "reader"},
            queues={"source": "thrift", "host": thrift_gateway.host, "port": thrift_gateway.port},
        ),
    )
    assert other.files == plain.files
    assert other.queues == plain.queues
    assert other.snapshot.membership == plain.snapshot.membership


@pytest.mark.slow("HBase's own shell starts each time that an operator runs the script")
@pytest.mark.promise("sources-agree")
def test_the_export_script_agrees(lab: Lab, hdfs_cluster: HdfsCluster, tmp_path: Path) -> None:
    outs = (tmp_path / "export" / str(number) for number in range(5))
    (tmp_path / "export").mkdir()
    out = tmp_path

    def exported() -> Taken:
        nonlocal out
        out = next(outs)
        run_export(lab, hdfs_cluster, tmp_path, out)
        return lab.take(files={"source": "ls"}, queues=EXPORTED, state=EXPORTED, export={"path": str(out)})

    plain, other = beside(lab, exported)
    assert other.names == plain.names
    for (_, _, exact), (_, _, minute) in zip(plain.files, other.files, strict=True):
        assert 0 <= (minute - exact).total_seconds() < 60
    assert other.queues == plain.queues
    first, second = plain.snapshot.membership, other.snapshot.membership
    assert first is not None
    assert second is not None
    assert (first.online, first.crashing, first.active_master) == (second.online, second.crashing, second.active_master)
    assert [(entry.server, entry.entries) for entry in first.wal_directories] == [
        (entry.server, entry.entries) for entry in second.wal_directories
    ]
    assert plain.snapshot.contents["extras/barriers.jsonl"] == other.snapshot.contents["extras/barriers.jsonl"]
    # HBase 2's client does not know it, and the script asks nobody else; HBase 3's own shell does
    assert {peer.sync_replication_state for peer in plain.snapshot.peers} == {"NONE"}
    assert other.snapshot.peers == tuple(replace(peer, sync_replication_state=None) for peer in plain.snapshot.peers)
    same = ("cluster_id", "hbase_version", "flags", "flags_2", "retention", "log_cleaner_plugins", "backup")
    assert {name: getattr(other.snapshot, name) for name in same} == {
        name: getattr(plain.snapshot, name) for name in same
    }
    assert plain.snapshot.backup == Backup(enabled=False), "the file is silent, and there is no backup:system"
    hadoop = HadoopJvm.of(lab.context.spark)
    remote = f"{hdfs_cluster.uri}/exports/one"
    target = hadoop.path(remote)
    target.getFileSystem(hadoop.conf).copyFromLocalFile(False, hadoop.path(out.as_uri()), target)
    fetched = lab.take(files={"source": "ls"}, queues=EXPORTED, state=EXPORTED, export={"path": remote})
    assert fetched == other
    with pytest.raises(RefusedError, match="not the capture order"):
        lab.take(queues=EXPORTED, state=EXPORTED, export={"path": str(out)})


def run_export(lab: Lab, hdfs_cluster: HdfsCluster, work: Path, out: Path) -> None:
    """The script as shipped; `hdfs` and `hbase` are the real classes behind scripts of the usual names."""
    conf = hdfs_cluster.write_conf(work / "hadoop-conf")
    hadoop = resolve(HDFS)
    keeper = [*PYSPARK_JARS.glob("zookeeper*.jar"), *PYSPARK_JARS.glob("netty-*.jar")]
    # pyspark's Hadoop first: the shaded HBase client brings an older one
    hbase = [lab.site.parent, *(jar for jar in hadoop if "minicluster" not in jar.name), *keeper, *resolve(JRUBY)]
    commands = {
        "hdfs": ([conf, *hadoop], 'shift\nexec java -Xmx256m $HADOOP_CLIENT_OPTS org.apache.hadoop.fs.FsShell "$@"'),
        "hbase": ([*hbase, *resolve(HBASE_CLIENT)], 'exec java -Xmx512m $HBASE_SHELL_OPTS org.jruby.Main "$3"'),
    }
    for name, (classpath, command) in commands.items():
        script = work / name
        script.write_text(f"#!/bin/sh\nexport CLASSPATH='{os.pathsep.join(map(str, classpath))}'\n{command}\n")
        script.chmod(0o755)
    environment = {**os.environ, "HDFS": str(work / "hdfs"), "HBASE": str(work / "hbase")}
    script = PROJECT / "conf" / "export" / "walsafe-export.sh"
    done = subprocess.run(
        [str(script), lab.cluster.wal_root, str(out)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert [path.name for path in work.iterdir() if "making" in path.name] == []


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


@pytest.mark.promise("unfinished-crash-counts")
def test_a_held_crash_is_captured_as_crashing(lab: Lab) -> None:
    victim = lab.cluster.start_server()
    lab.cluster.kill_and_hold(victim)
    try:
        taken = lab.take()
    finally:
        lab.cluster.release(victim)
    for membership in (taken.snapshot.membership, taken.snapshot.membership_2):
        assert membership is not None
        assert victim in {str(server) for server in membership.crashing}
        assert victim not in {str(server) for server in membership.online}


@pytest.mark.promise("loading-master-is-no-answer")
def test_a_master_that_is_loading_is_no_answer(lab: Lab, tmp_path: Path) -> None:
    lab.cluster.fail_over_master("procedures")
    try:
        assert lab.cluster.procedures() == []  # it would answer, with nothing
        with pytest.raises(UnavailableError, match="no active master that is initialized"):
            lab.run(str(tmp_path / "s"), hbase={"site": str(lab.site), "timeout": "5s"})
    finally:
        lab.cluster.release_master()
    assert list(tmp_path.iterdir()) == []
    assert lab.take().snapshot.membership is not None


def test_leftovers_in_zookeeper_are_told_apart_from_not_knowing(lab: Lab) -> None:
    hadoop = HadoopJvm.of(lab.context.spark)
    conf = hadoop.view.org.apache.hadoop.conf.Configuration()
    conf.addResource(hadoop.path(lab.site.as_uri()))
    znodes = ReplicationZnodes.of(hadoop, conf, 10_000)
    assert znodes.queue_data() is False
    assert replace(znodes, root="/nowhere").queue_data() is None
    assert replace(znodes, quorum="localhost:1", timeout_ms=1_500).queue_data() is None
    curator = hadoop.view.org.apache.curator
    client = curator.framework.CuratorFrameworkFactory.newClient(znodes.quorum, curator.retry.RetryNTimes(1, 100))
    client.start()
    try:
        client.create().forPath("/upgraded")
        for node in ("hbaseid", "replication", "replication/hfile-refs"):
            client.create().forPath(f"/upgraded/{node}")
    finally:
        client.close()
    assert replace(znodes, root="/upgraded").queue_data() is True


def test_a_wrong_wal_root_is_named(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no directory oldWALs: check wal_root"):
        lab.run(str(tmp_path / "s"), f"{lab.cluster.wal_root}x")
    assert list(tmp_path.iterdir()) == []


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
    config.write_text(lab.config(f"{kerberos_hdfs.uri}/guarded", **chosen))
    submit = shutil.which("spark-submit", path=str(Path(sys.executable).parent))
    assert submit is not None
    options = [
        *("--master", "local[1]", "--driver-memory", "700m", "--jars", ",".join(map(str, resolve(HBASE_CLIENT)))),
        *("--conf", f"spark.driver.extraJavaOptions=-Djava.security.krb5.conf={kerberos.krb5_conf}"),
        *("--conf", "spark.sql.extensions=", "--conf", "spark.ui.enabled=false"),
    ]
    job = [str(PROJECT / "jobs" / "main.py"), "capture", "--config", str(config), "--out", f"file:{tmp_path}/snapshot"]
    environment = {**os.environ, "HADOOP_CONF_DIR": str(conf), "PYSPARK_PYTHON": sys.executable}
    stranger = subprocess.run([submit, *options, *job], env=environment, capture_output=True, text=True, check=False)
    assert stranger.returncode == 2, stranger.stderr[-3000:]
    assert "AccessControlException" in stranger.stderr
    keys = ["--principal", kerberos.principal, "--keytab", str(kerberos.keytab)]
    done = subprocess.run([submit, *options, *keys, *job], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    taken = read_back(tmp_path / "snapshot")
    assert taken.names == [(f"WALs/{server}/h1%2C16020%2C5.8", 4), ("oldWALs/h1%2C16020%2C5.7", 3)]


@pytest.mark.long
def test_a_directory_of_many_pages_is_listed_whole(lab: Lab, hdfs_cluster: HdfsCluster) -> None:
    hdfs_cluster.create_file("/many/oldWALs/{path=x; isDirectory=true; modification_time=1;", b"odd")
    for index in range(2_300):
        hdfs_cluster.create_file(f"/many/oldWALs/h1%2C16020%2C5.{index:04}")
    root = f"{hdfs_cluster.uri}/many"
    lister = HadoopLister(HadoopJvm.of(lab.context.spark), root, page=1_000)
    batches = list(WalTree(lister, root).files())
    lister.close()
    assert [len(batch) for batch in batches] == [1_000, 1_000, 301]
    assert len({path for batch in batches for path in batch.paths}) == 2_301
