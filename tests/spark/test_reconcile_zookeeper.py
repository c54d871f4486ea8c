"""reconcile on queues in ZooKeeper: the small cluster, a night later, and beside one whose queues are in a table."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.demo.cluster.on_disk import write_snapshot
from pipelines.decide.rule import name_table, zookeeper_queue_storage
from pipelines.decide.rule.cleaner_rule import HBaseVerdict
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.decision_table import DecisionTable
from pipelines.decide.rule.verdict import ArchivedFile, Decision, Reason, deletable
from pipelines.hbase.peers import Peer
from pipelines.hbase.server_names import ServerName
from tests.labs.small_cluster import D1, H1, H2, Desk, group, small, timestamp, wal, with_files, with_snapshot
from tests.labs.small_zookeeper import zookeeper_directory
from tests.strategies.zookeeper import Queues

pytestmark = pytest.mark.slow("nights of a fleet are decided once, and every test reads them")

P7 = bytes.fromhex("504255460807")
QUEUES: Queues = {
    (str(H1), "1"): {wal(H1, 4): P7, wal(H1, 600): b""},
    (str(H1), "2"): {wal(H1, number): b"" for number in (2, 3, 4, 600)},
    (str(H1), f"1-{D1}"): {wal(D1, 2): (7).to_bytes(8, "big"), wal(D1, 3): b""},
    (str(H2), "1"): {wal(H2, 600): b""},
    (str(H2), "2"): {wal(H2, 2): b"bad", wal(H2, 600): b""},
    (str(H2), "9"): {wal(H1, 1): b""},
}


OTHER: Queues = {("else.example.org,16020,1789000000000", "1"): {"x.1": b""}}


def directory(root: Path, cluster: str, first: Queues, second: Queues, after: int = 7) -> Path:
    """A snapshot of the small cluster, with a file of a name as old documents have it."""
    short = ArchivedFile("oldWALs/1.1.1.1,60020.1265", 1024, timestamp(1))
    zookeeper_directory(root / cluster, with_files(small(cluster), short), first, second, after)
    return root / cluster


MUTANTS = ("mutant-merge", "mutant-rule", "mutant-cleaner")


@contextmanager
def mutants() -> Iterator[None]:
    """Either rule, or the merge of both readings, goes wrong, each for the cluster that is named after it."""
    table, ours, theirs = name_table.name_table, name_table.decide_by_name, name_table.hbase_2_verdict

    def merge(view: ClusterView, first_bucket: int) -> DecisionTable:
        blind = replace(view, queued=replace(view.queued, queues_of={}))
        return table(blind if view.cluster == "mutant-merge" else view, first_bucket)

    def rule(view: ClusterView, name: str, modified: int) -> Decision:
        return deletable(Reason.NOT_QUEUED) if view.cluster == "mutant-rule" else ours(view, name, modified)

    def cleaner_rule(name: str, modified: int, view: ClusterView) -> HBaseVerdict:
        return HBaseVerdict.KEEP if view.cluster == "mutant-cleaner" else theirs(name, modified, view)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zookeeper_queue_storage, "name_table", merge)
        patch.setattr(name_table, "decide_by_name", rule)
        patch.setattr(name_table, "hbase_2_verdict", cleaner_rule)
        yield


@pytest.fixture(scope="module")
def desk(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """One run over a fleet: queues that rest, that moved, of no peer, mutants, and a cluster with the table."""
    desk = Desk(spark, tmp_path_factory.mktemp("zookeeper"))
    fleet = desk.root / "fleet"
    fleet.mkdir()
    directory(fleet, "rests", QUEUES, QUEUES)
    directory(fleet, "moves", QUEUES, QUEUES, after=8)
    directory(fleet, "wrong", {(str(H1), "9"): {}}, {})
    directory(fleet, "other-files", OTHER, OTHER)
    hyphen = {(owner, queue.replace("2", "1-x", 1)): wals for (owner, queue), wals in QUEUES.items()}
    two = (Peer("1", "ENABLED"), Peer("1-x", "ENABLED"))
    zookeeper_directory(fleet / "hyphen", with_snapshot(small("hyphen"), peers=two), hyphen, hyphen)
    write_snapshot(small("table"), fleet / "table")
    for cluster in MUTANTS:
        directory(fleet, cluster, QUEUES, QUEUES)
    with mutants():
        assert desk.reconcile(fleet=fleet).exit_code == 5
    return desk


def verdicts(desk: Desk, cluster: str) -> Mapping[str, tuple[object, ...]]:
    return {
        row["path"].removeprefix("oldWALs/"): (row["verdict"], row["reason"], row["hbase_verdict"])
        for row in desk.rows("wal_verdicts", f"cluster = '{cluster}'")
    }


@pytest.mark.promise("jobs-know-queues-in-zookeeper", "zookeeper-rule-by-name")
def test_what_is_in_no_queue_may_go(desk: Desk) -> None:
    found = verdicts(desk, "rests")
    pending, free = ("HELD", "PENDING", "KEEP"), ("DELETABLE", "NOT_QUEUED", "DELETE")
    meta = next(name for name in found if name.endswith(".meta"))
    assert found == {
        **{wal(H1, number): pending for number in (1, 2, 3, 4)},
        **{wal(H2, number): (free, pending)[number - 1] for number in (1, 2)},
        **{wal(D1, number): (free, pending, pending)[number - 1] for number in (1, 2, 3)},
        meta: free,
        "1.1.1.1,60020.1265": free,
    }
    (run,) = [row for row in desk.run_rows("rests") if row["status"] == "DONE"]
    lines = desk.lines("rests", run["run_id"])
    assert sorted(line.rpartition("/")[2] for line in lines) == sorted(n for n, one in found.items() if one == free)


@pytest.mark.promise("checked-against-hbase", "gate-refuses-on-one-failure", "mutants-make-the-gate-fire")
@pytest.mark.parametrize("cluster", MUTANTS)
def test_a_mutant_of_either_rule_is_refused(desk: Desk, cluster: str) -> None:
    (run,) = [row for row in desk.run_rows(cluster) if row["status"] == "REFUSED"]
    assert "deletable_within_hbase_delete: expected that HBase's own ReplicationLogCleaner would" in run["reason"]
    assert desk.list_files(cluster) == {}
    failed = desk.rows("quality_results", f"cluster = '{cluster}' AND NOT success")
    (proof,) = [one for one in failed if one["expectation"] == "deletable_within_hbase_delete"]
    found = {name for name, one in verdicts(desk, "rests").items() if (one[1] == "PENDING") != (cluster == MUTANTS[2])}
    assert {path.removeprefix("oldWALs/") for path in proof["examples"]} == found


@pytest.mark.promise("one-cluster-only", "peer-id-with-a-hyphen-is-refused")
@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        ("other-files", "the listing has files below WALs/h1.example.org"),
        ("hyphen", "peer id '1-x' has a '-', which HBase forbids"),
    ],
)
def test_a_snapshot_of_two_clusters_or_of_an_impossible_peer_is_refused(desk: Desk, cluster: str, words: str) -> None:
    """The snapshot says nothing of servers, as another program's need not."""
    assert {one[:2] for one in verdicts(desk, cluster).values()} == {("HELD", "SNAPSHOT_UNTRUSTED")}
    (run,) = [row for row in desk.run_rows(cluster) if row["status"] == "REFUSED"]
    assert words in run["reason"]
    assert desk.list_files(cluster) == {}


def test_holders_have_the_files_own_name_and_position(desk: Desk) -> None:
    rows = {row["path"]: row for row in desk.rows("wal_verdicts", "cluster = 'rests'")}

    def holders(server: ServerName, number: int) -> list[tuple[object, ...]]:
        row = rows[f"oldWALs/{wal(server, number)}"]
        assert {one["wal"] for one in row["blocking"]} == {wal(server, number)}
        return [(one["peer_id"], one["owner"], one["source"], one["offset"]) for one in row["blocking"]]

    assert holders(H1, 4) == [("1", str(H1), str(H1), 7), ("2", str(H1), str(H1), 0)]
    assert holders(D1, 2) == [("1", str(H1), str(D1), 7)]
    assert holders(H2, 2) == [("2", str(H2), str(H2), None)]
    assert holders(H1, 1) == [("9", str(H2), str(H2), 0)]
    assert rows[f"oldWALs/{wal(D1, 1)}"]["server"] == str(D1)


def test_the_small_tables_follow(desk: Desk) -> None:
    offsets = {
        (row["peer_id"], row["source"], row["wal_group"]): row
        for row in desk.rows("queue_offsets", "cluster = 'rests'")
    }
    first = offsets["2", str(H1), group(H1)]
    assert (first["wal"], first["offset"], first["pending_files"], first["pending_bytes"]) == (wal(H1, 2), 0, 3, 14)
    assert first["live_pending_files"] == 1
    pins = {row["peer_id"]: row for row in desk.rows("pinned_bytes", "cluster = 'rests' AND level = 'peer'")}
    assert (pins["1"]["exclusive_bytes"], pins["1"]["joint_bytes"], pins["1"]["freed_bytes"]) == (384, 8, 384)
    assert pins["9"]["exclusive_bytes"] == 1
    codes = {(row["code"], row["subject"]) for row in desk.rows("findings", "cluster = 'rests'")}
    assert codes == {("ORPHAN_QUEUE", f"9-{H2}")}


def test_while_queues_move_only_what_is_seen_is_said(desk: Desk) -> None:
    found = verdicts(desk, "moves")
    still = {name: one for name, one in verdicts(desk, "rests").items() if one[1] == "PENDING"}
    assert {name: one for name, one in found.items() if one[1] == "PENDING"} == still
    assert {one for name, one in found.items() if name not in still} == {("HELD", "CLUSTER_MOVED", "DELETE")}
    assert {row["freed_bytes"] for row in desk.rows("pinned_bytes", "cluster = 'moves'")} == {0}


def test_peers_without_any_queue_are_refused_and_the_table_is_not_disturbed(desk: Desk) -> None:
    refused = desk.run_rows("wrong")[-1]
    assert refused["status"] == "REFUSED"
    assert "no queue of any of these" in refused["reason"]
    assert {one[:2] for one in verdicts(desk, "wrong").values()} == {("HELD", "SNAPSHOT_UNTRUSTED")}
    assert {one[1] for one in verdicts(desk, "table").values()} == {"REPLICATED", "PENDING", "META_WAL"}
