"""Captures and decisions on a real HBase 3, compared with its own cleaner.

One HBase is driven through the life of a cluster. At each stage it is captured by two sets of sources, which must
agree, and HBase's own ReplicationLogCleaner is asked in that same cluster about every captured file. At the end all
captures are reconciled, and compared with its answers file by file.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.capture.wiring import capture_sources
from jobs.cli.config import Config, parse_config
from jobs.cli.context import JobContext
from jobs.reconcile.wiring import Places, run_reconcile
from pipelines.capture.capture import Patience, Sources, Subject, capture
from pipelines.capture.ports import QueueSource
from pipelines.common.errors import RefusedError, UnavailableError
from pipelines.common.outcome import Outcome
from pipelines.hbase.replication_queues import Cell
from pipelines.snapshot.model import Snapshot, parse_snapshot
from pipelines.snapshot.target import LocalTarget
from pipelines.snapshot.writer import SnapshotWriter
from tests.labs.cluster.hbase import CrashStage, HBaseCluster, WalFile
from tests.labs.cluster.hbase_data import ATTEMPTS, PATIENCE_SECONDS
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.oracle import Oracle
from tests.labs.cluster.thrift import ThriftGateway

pytestmark = pytest.mark.realhbase
logger = logging.getLogger(__name__)

TABLE = "story"
ONE, TWO = "one", "two"
# else TOO_YOUNG would hide every other answer
NO_TTL = dict.fromkeys(
    (
        "hbase.master.logcleaner.ttl",
        "hbase.master.procedurewalcleaner.ttl",
        "hbase.master.local.store.walcleaner.ttl",
    ),
    "0",
)
OTHER_CLEANERS = {"TOO_YOUNG", "FUTURE_TIMESTAMP", "INVALID_NAME", "BACKUP", "FOREIGN_CLEANER"}
"""Reasons for which other parts of HBase's chain, or nobody, would answer; ReplicationLogCleaner does not look."""
SAFER = {"CLUSTER_MOVED", "LEFTOVER_WAL_DIR"}
"""Reasons for which walsafe holds on purpose what HBase's cleaner would delete."""
STAGES = (
    "rolled",
    "disabled",
    "crash-start",
    "claimed",
    "crash-missing-queues",
    "crash-claim",
    "claimed-again",
    "removed",
    "quiet",
    "no-peers",
    "multiwal",
)
HEALTHY = ("rolled", "disabled", "claimed", "claimed-again", "removed", "quiet", "multiwal")
"""Stages in which nothing is wrong, however much is held."""


@dataclass
class Stage:
    """What one stage looked like: to walsafe, and to HBase itself."""

    name: str
    snapshot: Path
    taken: Snapshot
    files: dict[str, int]
    rows: set[str]
    oracle: dict[str, str]
    victim: str | None = None


def read_back(directory: Path) -> tuple[Snapshot, dict[str, int], list[str]]:
    """A snapshot, its files, and the lines of both queue passes."""
    snapshot = parse_snapshot(json.loads((directory / "snapshot.json").read_text()))
    rows = pq.read_table(directory / "files").to_pylist()
    lines = [line for index in (1, 2) for line in (directory / f"queues-{index}.jsonl").read_text().splitlines()]
    return snapshot, {row["path"]: row["length"] for row in rows}, lines


@dataclass
class Story:
    """The cluster, and what has been seen of it."""

    cluster: HBaseCluster
    peer: HBaseCluster
    spark: SparkSession
    work: Path
    sources: tuple[Mapping[str, object], ...]
    stages: dict[str, Stage] = field(default_factory=dict)
    captures: int = 0

    def config(self, name: str, chosen: Mapping[str, object]) -> Config:
        site = self.cluster.write_conf(self.work / self.cluster.name, NO_TTL) / "hbase-site.xml"
        section = {
            "state": {"source": "hbase"},
            "hbase": {"site": str(site), "timeout": "5m"},
            "quiet_attempts": 3,
            "pause": "1s",
            **chosen,
        }
        document = {"cluster": name, "wal_root": self.cluster.wal_root, "capture": section}
        return parse_config(json.dumps(document), "test.yaml")

    def capture(self, name: str, chosen: Mapping[str, object], out: Path) -> Path:
        config = self.config(name, chosen)
        assert config.capture is not None
        context = JobContext("capture", spark=self.spark)
        assert capture_cluster(name, self.cluster.wal_root, config.capture, f"file:{out}", context).exit_code == 0
        return out

    def see(self, name: str, victim: str | None = None) -> Stage:
        """Captures by every set of sources until they agree, with HBase asked before and after: nothing moved."""
        judge = Oracle(self.cluster)
        for attempt in range(ATTEMPTS):
            self.captures += 1
            places = [self.work / f"{self.captures}-{index}" / name for index in range(len(self.sources))]
            for place in places:
                place.parent.mkdir()
            first = self.capture(name, self.sources[0], places[0])
            taken, files, lines = read_back(first)
            archived = sorted(path for path in files if path.startswith("oldWALs/"))
            before = judge.verdicts(archived)
            others = [read_back(self.capture(name, c, p)) for c, p in zip(self.sources[1:], places[1:], strict=True)]
            moved = [
                what
                for what, differs in (
                    ("files", any(set(other[1]) != set(files) for other in others)),
                    ("archived bytes", any(other[1][path] != files[path] for other in others for path in archived
                                           if path in other[1])),
                    ("cells", any(other[2] != lines for other in others)),
                    ("membership", any(
                        (other[0].membership, other[0].membership_2, other[0].peers, other[0].flags)
                        != (taken.membership, taken.membership_2, taken.peers, taken.flags)
                        for other in others
                    )),
                    ("answers", judge.verdicts(archived) != before),
                )
                if differs
            ]  # fmt: skip
            if not moved:
                rows = {str(json.loads(line)["row"]) for line in lines}
                stage = Stage(name, first, taken, files, rows, dict(zip(archived, before, strict=True)), victim)
                self.stages[name] = stage
                return stage
            logger.warning("stage %s, attempt %d: %s moved", name, attempt + 1, moved)
            time.sleep(1)
        raise AssertionError(f"stage {name}: the sources never agreed; last difference in {moved}")

    def victim(self) -> str:
        """A server with archived WALs of its own."""
        server = self.cluster.start_server()
        self.cluster.move_region(TABLE, server)
        self.cluster.archive_wals(TABLE)
        return server

    def hold(self, server: str, stage: CrashStage) -> None:
        self.cluster.put(TABLE, value=stage)
        self.cluster.kill_and_hold(server, stage)

    def owner_of(self, source: str) -> str:
        """Who has claimed a dead server's queue for the first peer; each peer's queue is claimed on its own."""
        rows = (cell.row.decode() for cell in self.cluster.queue_cells() if cell.family == b"queue")
        ours = (row for row in rows if row.startswith(f"{ONE}-") and row.endswith(f"/{source}"))
        owners = {row.removeprefix(f"{ONE}-").partition("/")[0] for row in ours}
        assert len(owners) == 1, f"peer {ONE}'s queue of {source} belongs to {owners}"
        return owners.pop()


@pytest.fixture(scope="module")
def clusters(hbase_cluster: HBaseCluster, peer_cluster: HBaseCluster) -> tuple[HBaseCluster, HBaseCluster]:
    """Source and peer, without what other tests left."""
    for peer_id in hbase_cluster.peers():
        hbase_cluster.remove_peer(peer_id)
    for cluster in (hbase_cluster, peer_cluster):
        cluster.create_table(TABLE)
    return hbase_cluster, peer_cluster


@pytest.fixture(scope="module")
def story(
    clusters: tuple[HBaseCluster, HBaseCluster],
    multiwal_cluster: HBaseCluster,
    hdfs_cluster: HdfsCluster,
    thrift_gateway: ThriftGateway,
    hbase_spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Story:
    cluster, peer = clusters
    hadoop = {"files": {"source": "hadoop"}, "queues": {"source": "hbase"}}
    webhdfs = {
        "files": {"source": "webhdfs", "urls": [hdfs_cluster.webhdfs()], "user": "reader"},
        "queues": {"source": "thrift", "host": thrift_gateway.host, "port": thrift_gateway.port},
    }
    work = tmp_path_factory.mktemp("story")
    story = Story(cluster, peer, hbase_spark, work, (hadoop, webhdfs))
    tell(story)
    # Thrift's gateway knows the first cluster alone
    multi = Story(multiwal_cluster, peer, hbase_spark, work, (hadoop, {**webhdfs, "queues": {"source": "hbase"}}))
    multi.captures = 1_000
    multiwal_cluster.create_table("groups", splits=("e", "i", "m", "q", "u"))
    peer.create_table("groups")
    multiwal_cluster.add_peer(ONE, peer.cluster_key)
    multiwal_cluster.archive_wals("groups")
    multiwal_cluster.wait_replicated("groups", peer, 26)
    story.stages["multiwal"] = multi.see("multiwal")
    multiwal_cluster.remove_peer(ONE)
    return story


def tell(story: Story) -> None:
    """The life of the source cluster, stage by stage."""
    cluster, peer = story.cluster, story.peer
    cluster.add_peer(ONE, peer.cluster_key)
    cluster.archive_wals(TABLE)
    cluster.wait_replicated(TABLE, peer, 26)
    story.see("rolled")

    cluster.add_peer(TWO, peer.cluster_key, enabled=False)
    cluster.archive_wals(TABLE)
    story.see("disabled")

    cluster.disable_peer(ONE)  # else a claimed queue is shipped and gone before anybody looks
    first = story.victim()
    story.hold(first, "start")
    story.see("crash-start", first)
    cluster.release(first)
    story.see("claimed", first)

    second = story.victim()
    story.hold(second, "missing-queues")
    story.see("crash-missing-queues", second)
    cluster.release(second)

    claimer = story.owner_of(first)
    story.hold(claimer, "claim")
    story.see("crash-claim", claimer)
    cluster.release(claimer)
    cluster.start_server()  # a master that starts waits for as many servers as the cluster had
    assert story.owner_of(first) != claimer
    story.see("claimed-again", first)

    cluster.remove_peer(TWO)
    story.see("removed")
    cluster.enable_peer(ONE)
    cluster.archive_wals(TABLE)
    wait_until_shipped(cluster)
    story.see("quiet")
    cluster.remove_peer(ONE)
    story.see("no-peers")


def wait_until_shipped(cluster: HBaseCluster) -> None:
    """Until every claimed queue is gone, and HBase keeps no archived WAL but those of its own replication table."""
    # an offset is written when something is shipped: a server without a region owes its last one for ever
    for index, server in enumerate(cluster.online_servers()):
        cluster.move_region(TABLE, server, index)
    judge, started = Oracle(cluster), time.monotonic()
    for tried in range(1, 1_000):
        claimed = {cell.row.decode() for cell in cluster.queue_cells() if b"/" in cell.row}
        archived = [file.path for file in cluster.old_wals() if ".rep." not in file.path]
        answers = dict(zip(archived, judge.verdicts(archived), strict=True))
        kept = {path: answer for path, answer in answers.items() if answer != "DELETE"}
        if not claimed and not kept:
            return
        passed = time.monotonic() - started
        # one slow answer of a busy machine is no reason to give up
        assert passed < PATIENCE_SECONDS or tried < 20, (
            f"never shipped, asked {tried} times: {claimed}, {kept}; "
            f"online {cluster.online_servers()}, {cluster.queue_cells()}"
        )
        if passed > 5:
            cluster.archive_wals(TABLE)
            time.sleep(2)
        time.sleep(0.5)


@pytest.fixture(scope="module")
def outcome(story: Story) -> Outcome:
    """One reconcile over the captures of all stages, as a fleet."""
    fleet = story.work / "fleet"
    fleet.mkdir()
    for name, stage in story.stages.items():
        stage.snapshot.rename(fleet / name)
    # as it stands in the cluster's own hbase-site.xml
    config = parse_config("{cleaners: {interval: 24h}}", "test.yaml")
    places = Places(f"file:{story.work}/lake", f"file:{story.work}/lists")
    return run_reconcile(JobContext("reconcile", spark=story.spark), config, places, (), fleet=f"file:{fleet}")


@pytest.fixture(scope="module")
def verdicts(story: Story, outcome: Outcome) -> dict[str, dict[str, dict[str, Any]]]:
    """By stage and path, the rows of `wal_verdicts`."""
    assert outcome.exit_code == 0, outcome.text
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in story.spark.read.format("delta").load(f"file:{story.work}/lake/wal_verdicts").collect():
        found.setdefault(row["cluster"], {})[row["path"]] = row.asDict(recursive=True)
    return found


def findings(outcome: Outcome, stage: str) -> list[dict[str, Any]]:
    clusters: Any = outcome.result["clusters"]
    return next(one["findings"] for one in clusters if one["cluster"] == stage)


@pytest.mark.promise("list-is-safe", "real-cleaner-judges-real-clusters")
@pytest.mark.parametrize("name", STAGES)
def test_no_file_that_hbase_keeps_is_deletable(
    story: Story, verdicts: dict[str, dict[str, dict[str, Any]]], name: str
) -> None:
    oracle, ours = story.stages[name].oracle, verdicts[name]
    assert oracle
    assert set(ours) == set(oracle)
    differences = {
        path: (row["verdict"], row["reason"], oracle[path])
        for path, row in ours.items()
        if (row["verdict"] == "DELETABLE") is not (oracle[path] == "DELETE")
    }
    assert {path: one for path, one in differences.items() if one[1] not in OTHER_CLEANERS | SAFER} == {}
    assert {row["hbase_verdict"] == oracle[path] for path, row in ours.items()} == {True}, {
        path: (row["hbase_verdict"], oracle[path]) for path, row in ours.items() if row["hbase_verdict"] != oracle[path]
    }


@pytest.mark.promise("quiet-where-all-is-well")
@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_stage_raises_no_alarm(outcome: Outcome, name: str) -> None:
    assert [one["message"] for one in findings(outcome, name) if one["severity"] != "info"] == []


@pytest.mark.promise("checked-against-hbase")
@pytest.mark.parametrize("name", STAGES)
def test_every_listed_file_is_one_that_hbase_would_delete(story: Story, outcome: Outcome, name: str) -> None:
    assert outcome.exit_code == 0
    stage = story.stages[name]
    (folder,) = (story.work / "lists" / name).iterdir()
    manifest = json.loads((folder / "manifest.json").read_text())
    lines = [line for part in manifest["parts"] for line in (folder / part["name"]).read_text().splitlines()]
    paths = [line.removeprefix(f"{stage.taken.wal_root}/") for line in lines]
    assert {stage.oracle[path] for path in paths} <= {"DELETE"}
    assert manifest["files"] == len(paths)


def reasons(rows: Mapping[str, Mapping[str, Any]], server: str | None = None) -> set[str]:
    return {row["reason"] for row in rows.values() if server in (None, row["server"])}


def holders(rows: Mapping[str, Mapping[str, Any]], server: str) -> set[tuple[str, str | None]]:
    return {(one["peer_id"], one["owner"]) for r in rows.values() if r["server"] == server for one in r["blocking"]}


@pytest.mark.promise("disabled-peer-holds")
def test_a_disabled_peer_holds_by_name(verdicts: dict[str, dict[str, dict[str, Any]]]) -> None:
    pending = [row for row in verdicts["disabled"].values() if row["reason"] == "PENDING"]
    # an idle server may still owe its last offset for the enabled one
    assert [{one["peer_id"] for one in row["blocking"]} for row in pending].count({TWO}) > len(pending) / 2


@pytest.mark.promise("unfinished-crash-counts", "missing-row-proves-only-of-the-dead")
@pytest.mark.parametrize("name", ["crash-start", "crash-missing-queues", "crash-claim"])
def test_an_unfinished_crash_holds_everything_of_its_server(
    story: Story, verdicts: dict[str, dict[str, dict[str, Any]]], name: str
) -> None:
    stage = story.stages[name]
    assert stage.taken.membership is not None
    assert stage.victim in {str(server) for server in stage.taken.membership.crashing}
    rows = {path: row for path, row in verdicts[name].items() if row["server"] == stage.victim}
    assert rows
    held = {"QUEUE_MISSING", "PENDING", "REPLICATION_TABLE_WAL"}
    # what a server that has replicated already is done with stays free
    assert reasons(rows) <= (held if name != "crash-claim" else held | {"REPLICATED", "META_WAL"})
    assert reasons(rows) & held


def test_a_claimed_queue_is_followed_to_its_owner(story: Story, verdicts: dict[str, dict[str, dict[str, Any]]]) -> None:
    source = story.stages["claimed"].victim
    assert source is not None
    before, after = holders(verdicts["claimed"], source), holders(verdicts["claimed-again"], source)
    assert {peer for peer, _ in before} == {peer for peer, _ in after} == {ONE, TWO}
    assert source not in {owner for _, owner in before | after}
    (first,), (second,) = ({owner for peer, owner in found if peer == ONE} for found in (before, after))
    assert first == story.stages["crash-claim"].victim
    assert second != first


@pytest.mark.promise("real-cleaner-judges-real-clusters")
def test_once_all_is_shipped_whatever_hbase_deletes_is_deletable(
    story: Story, verdicts: dict[str, dict[str, dict[str, Any]]]
) -> None:
    oracle, ours = story.stages["quiet"].oracle, verdicts["quiet"]
    deleted = {path for path, verdict in oracle.items() if verdict == "DELETE"}
    assert len(deleted) > len(oracle) / 2
    assert {path for path, row in ours.items() if row["verdict"] == "DELETABLE"} == deleted
    assert {row["reason"] for path, row in ours.items() if path not in deleted} <= {"REPLICATION_TABLE_WAL"}


def test_without_peers_everything_is(verdicts: dict[str, dict[str, dict[str, Any]]]) -> None:
    assert {row["verdict"] for row in verdicts["no-peers"].values()} == {"DELETABLE"}
    assert "NO_PEERS" in reasons(verdicts["no-peers"])


@pytest.mark.promise("both-forms-of-oldwals")
def test_multiwal_groups_and_directories_of_servers(verdicts: dict[str, dict[str, dict[str, Any]]]) -> None:
    rows = verdicts["multiwal"]
    # a master that has run for a quarter of an hour archives a WAL of its own region too, which is in no group
    groups = {row["wal_group"].rpartition("regiongroup-")[2] for row in rows.values() if row["wal_group"]}
    assert groups >= {"0", "1"}
    assert all(path.split("/")[1] == row["server"] for path, row in rows.items() if row["server"])
    assert "REPLICATED" in reasons(rows)


# the master changes while it is read


@dataclass
class Interrupted:
    """A queue source during whose second pass something happens."""

    inner: QueueSource
    event: Callable[[], object]

    def stamp(self, step: str) -> None:
        assert self.inner.stamp(step) is None

    def cells(self, step: str) -> Iterator[Cell]:
        if step == "queues-2":
            self.event()
        return self.inner.cells(step)


@pytest.mark.promise("another-master-is-refused")
def test_a_master_that_changes_during_a_capture_refuses_it(story: Story, tmp_path: Path) -> None:
    config = story.config("story", story.sources[0])
    assert config.capture is not None
    subject = Subject("story", story.cluster.wal_root, "localhost")
    patience = Patience(1, 1, 100, lambda ms: time.sleep(ms / 1000))
    out = tmp_path / "snapshot"
    with (
        capture_sources("story", story.cluster.wal_root, config.capture, story.spark) as sources,
        SnapshotWriter(LocalTarget(out)) as writer,
    ):
        moved = Interrupted(sources.queues, story.cluster.fail_over_master)
        read = Sources(sources.files, sources.directories, moved, sources.state)
        clock = JobContext("capture").clock
        with pytest.raises((RefusedError, UnavailableError), match=r"active master (changed|that)|no active master"):
            capture(subject, read, writer, clock=clock, patience=patience)
    assert list(tmp_path.iterdir()) == []
    # and the next one works, on the new master
    snapshot, files, _ = read_back(story.capture("story", story.sources[0], tmp_path / "next"))
    assert snapshot.membership is not None
    assert snapshot.membership.active_master == story.cluster.active_master()
    archived = [WalFile(path, length, 0) for path, length in files.items() if path.startswith("oldWALs/")]
    assert set(Oracle(story.cluster).verdicts(archived)) == {"DELETE"}
