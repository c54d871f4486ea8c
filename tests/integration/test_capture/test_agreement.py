"""`capture` from a real HBase and HDFS: what it has, and the same answer from every source."""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.capture.sources.hbase_client import HBaseClient
from pipelines.capture.sources.hbase_client_scan import HBaseClientQueues
from pipelines.capture.sources.saved_scans import parse_cell
from pipelines.common.errors import UsageError
from pipelines.common.forms import read_value
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.snapshot.barriers import serial_gaps
from pipelines.snapshot.extras_lines import REGION
from pipelines.snapshot.model import Backup
from pipelines.snapshot.other_families import OtherFamilyCells
from tests.labs.cluster.hbase_data import ROWS
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.thrift import ThriftGateway
from tests.labs.export_script import classes_of_hbase_3, run_export
from tests.labs.real_captures import Lab, Taken

pytestmark = pytest.mark.realhbase


EXPORTED = {"source": "export"}


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


def test_a_serial_peer_has_the_barriers_of_regions_captured(plain: Taken) -> None:
    """Every region of a replicated table wrote one when it opened, and the peer has pushed what was before."""
    assert plain.snapshot.extras == ("barriers", "space")
    lines = (plain.directory / "extras" / "barriers.jsonl").read_text().splitlines()
    regions = [read_value(REGION, line, "barriers.jsonl") for line in lines]
    own = [region for region in regions if region.table == "capture"]
    assert len(own) == 3
    assert all(region.barriers and len(region.region) == 32 for region in own)
    notes = OtherFamilyCells()
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


def test_a_queue_table_of_another_name_is_read_where_hbase_checks_no_rights(lab: Lab) -> None:
    named = {"hbase.replication.queue.table.name": "capture"}
    client = HBaseClient(HadoopJvm.of(lab.context.spark), str(lab.site), named, 300_000, "HBase")
    assert len(list(HBaseClientQueues(client).cells("queues-1"))) == len(ROWS)
    client.close()


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


@pytest.mark.slow("the export script starts the shells of HBase and Hadoop, a JVM each")
@pytest.mark.promise("sources-agree")
def test_the_export_script_agrees(lab: Lab, hdfs_cluster: HdfsCluster, tmp_path: Path) -> None:
    outs = (tmp_path / "export" / str(number) for number in range(5))
    (tmp_path / "export").mkdir()
    out = tmp_path

    def exported() -> Taken:
        nonlocal out
        out = next(outs)
        arguments, conf = [lab.cluster.wal_root, str(out)], hdfs_cluster.write_conf(tmp_path / "hadoop-conf")
        done = run_export(tmp_path, arguments, [lab.site.parent, *classes_of_hbase_3()], conf)
        assert done.returncode == 0, done.stderr[-3000:]
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
    with pytest.raises(UsageError, match="never in the capture order"):
        lab.take(queues=EXPORTED, state=EXPORTED, export={"path": str(out)})
