"""The job `dump-queues`: its answer of both storages, its tables, what it refuses."""

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.demo.cluster.snapshots import SAFE_FLAGS
from pipelines.common.instants import parse_instant
from pipelines.hbase.peer_rules import PeerRule
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell
from pipelines.snapshot.model import MasterFlags
from schemas.registry import DUMP_TABLES
from tests.labs.documented_commands import blocks
from tests.labs.job_answer import job_answer
from tests.labs.measured_jobs import own_metrics
from tests.labs.places import DOCS
from tests.labs.small_cluster import (
    D1,
    H1,
    H2,
    NOW,
    Desk,
    edited,
    group,
    replaced_content,
    row,
    small,
    wal,
    with_cells,
    with_snapshot,
)
from tests.spark.test_reconcile_zookeeper import QUEUES, directory

PAGE = DOCS / "dump-queues.md"
PEERS = (
    Peer("1", "ENABLED", "zk1,zk2,zk3:2181:/hbase", replicate_all=True, rule=PeerRule()),
    Peer("2", "DISABLED", "backup1:2181:/hbase", replicate_all=False, rule=PeerRule(tables={"t": (), "ns:u": ("f",)})),
)
REF = Cell(b"1", b"hfileref", b"0123456789abcdef0123456789abcdef", b"")


@pytest.fixture(scope="module")
def desk(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = Desk(spark, tmp_path_factory.mktemp("dumped"))
    made = with_cells(small("small"), row(f"2-{D1}", group(D1), wal(D1, 3), 12), REF)
    desk.snapshot(with_snapshot(made, peers=PEERS))
    directory(desk.root / "snapshots", "zk", QUEUES, QUEUES)
    return desk


def dumped(desk: Desk, cluster: str, *options: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the result object."""
    context = JobContext("dump-queues", spark=desk.spark)
    return job_answer(context, desk.root, "--snapshot", f"file:{desk.root}/snapshots/{cluster}", *options)


@pytest.mark.promise("dump-queues-as-hbase-does")
@pytest.mark.parametrize(
    ("number", "options"), [(0, ()), (1, ("--distributed", "--hdfs"))], ids=["records", "queue by queue"]
)
def test_the_examples_of_the_page_are_answers(
    desk: Desk, capsys: pytest.CaptureFixture[str], number: int, options: tuple[str, ...]
) -> None:
    assert dumped(desk, "small", *options)[0] == 0
    examples = blocks(PAGE, "text")
    left = capsys.readouterr().out
    for part in examples[number].split("…\n")[1:]:
        assert part in left
        left = left.partition(part)[2]
    assert left == "", "the example goes to the end"


def test_the_result_has_everything_whatever_the_options(desk: Desk) -> None:
    code, result = dumped(desk, "small")
    assert (code, result["queue_storage"], result["missing_wals"]) == (0, "table", 0)
    assert parse_instant(result["files_started_at"]) == NOW
    assert own_metrics("dump-queues", code, result) == {
        "queues_pending_wals",
        "queues_pending_bytes",
        "queues_missing_wals",
    }
    queues = {one["queue_id"]: one for one in result["queues"]}
    # a power of two for each file: h1's fourth, second to fourth, the claimed queue's two; open files are empty
    sizes = {queue: one["pending_bytes"] for queue, one in queues.items()}
    assert sizes == {f"1-{H1}": 8, f"2-{H1}": 14, f"1-{H1}/{D1}": 384, f"1-{H2}": 0, f"2-{H2}": 32, f"2-{D1}": 256}
    claimed = queues[f"1-{H1}/{D1}"]
    assert (claimed["recovered"], claimed["source"], claimed["owner_online"]) == (True, str(D1), True)
    assert [(one["wal"], one["offset"], one["path"]) for one in claimed["wals"]] == [
        (wal(D1, 2), 7, f"oldWALs/{wal(D1, 2)}"),
        (wal(D1, 3), None, f"oldWALs/{wal(D1, 3)}"),
    ]
    assert (result["dead_region_servers"], result["deleted_queues"]) == ([str(D1)], [])
    assert result["hfile_refs"] == {"1": [REF.qualifier.decode()]}
    assert result["pending_wals"] == {"1": 2 + 2 + 1, "2": 4 + 2 + 1}
    assert dumped(desk, "small", "--distributed", "--hdfs")[1] == result


@pytest.mark.promise("jobs-know-queues-in-zookeeper")
def test_queues_in_zookeeper(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = dumped(desk, "zk", "--distributed", "--hdfs")
    text = capsys.readouterr().out
    assert (code, result["queue_storage"]) == (0, "zookeeper")
    assert f"    Queue znode: 1-{D1}\n    PeerID: 1\n    Recovered: true\n    Dead RegionServers: [{D1}]\n" in text
    assert f"    Replication position for {wal(D1, 2)}: 7\n" in text
    queues = {(one["owner"], one["queue_id"]): one for one in result["queues"]}
    assert queues[str(H1), "2"]["pending_bytes"] == 2 + 4 + 8
    assert queues[str(H2), "9"]["peer_exists"] is False
    assert result["deleted_queues"] == [f"{H2}/9"]
    assert result["dead_region_servers"] == [], "both have a directory below WALs"
    dumped(desk, "zk")
    text = capsys.readouterr().out
    assert f"/hbase/replication/rs/{H1}/1/{wal(H1, 4)}: 7\n" in text
    assert f"/hbase/replication/rs/{H2}/2/{wal(H2, 2)}: \n" in text, "nobody can read that position"


@pytest.mark.long
def test_tables_are_written_and_a_repeated_run_replaces_its_rows(desk: Desk) -> None:
    for _ in range(2):
        code, result = dumped(desk, "small", "--lake", f"file:{desk.lake}")
        assert (code, result["run_id"].endswith("-queues")) == (0, True)
    counts = {table.name: len(desk.rows(table.name)) for table in DUMP_TABLES}
    # of the two finished offsets each shows its WAL besides the pending ones
    assert counts == {"dumped_peers": 2, "dumped_queues": 6, "dumped_wals": 12 + 2, "dumped_hfile_refs": 1}
    (two,) = desk.rows("dumped_peers", "peer_id = '2'")
    assert (two["state"], two["table_cfs"], two["namespaces"]) == ("DISABLED", "{ns:u=[f], t=null}", None)
    (dead,) = desk.rows("dumped_queues", f"owner = '{D1}'")
    assert (dead["owner_online"], dead["pending_wals"], dead["pending_bytes"]) == (False, 1, 256)
    (finished,) = desk.rows("dumped_wals", f"queue_id = '1-{H2}' AND NOT pending")
    assert (finished["wal"], finished["offset"], finished["path"]) == (wal(H2, 2), -1, None)


def test_a_cluster_without_peers_and_queues(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    made = with_snapshot(small("bare"), peers=())
    desk.snapshot(replace(made, pass_1=(), pass_2=()))
    assert dumped(desk, "bare")[0] == 0
    assert capsys.readouterr().out == (
        "Dumping replication peers and configurations:\n\n"
        "Dumping replication info via replication table.\npeers: \nrs: \nhfile-refs: \n"
    )
    assert dumped(desk, "bare", "--distributed")[0] == 0
    assert capsys.readouterr().out == (
        "Dumping replication peers and configurations:\n\n\n    Total size of WALs on HDFS: 0\n"
    )


def test_what_cannot_be_dumped_is_said(desk: Desk) -> None:
    code, result = dumped(desk, "small", "--hdfs")
    assert (code, "give both" in result["error"]["message"]) == (2, True), result
    code, result = dumped(desk, "nowhere")
    assert (code, "no snapshot directory" in result["error"]["message"]) == (2, True), result
    pending = MasterFlags(SAFE_FLAGS.queue_table_exists, False, True, True)
    desk.snapshot(with_snapshot(small("migrating"), flags_2=pending))
    code, result = dumped(desk, "migrating")
    assert (code, "migration" in result["error"]["message"]) == (3, True), result
    bad = row("1-h1", "g", "w.1", 0)
    desk.snapshot(with_cells(small("bad"), bad))
    code, result = dumped(desk, "bad")
    assert (code, "'1-h1'" in result["error"]["message"]) == (3, True), result
    odd = Cell(b"1", b"hfileref", b"\xff", b"")
    desk.snapshot(with_cells(small("odd"), odd))
    code, result = dumped(desk, "odd")
    assert (code, "queues-2.jsonl: row b'1', family hfileref" in result["error"]["message"]) == (3, True), result
    desk.snapshot(small("torn"))
    replaced_content(desk.root / "snapshots" / "torn", "queues-2.jsonl", b"")
    code, result = dumped(desk, "torn")
    assert (code, "snapshot.json says 5" in result["error"]["message"]) == (3, True), result


def test_an_unquiet_capture_is_dumped_all_the_same(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot = desk.snapshot(small("unquiet"))
    edited(snapshot, lambda document: document["membership_2"]["online"].remove(str(H2)))
    code, result = dumped(desk, "unquiet")
    assert (code, result["dead_region_servers"]) == (0, [str(H2)])
    assert "Queues moved during the capture" in capsys.readouterr().err
