"""Queues in ZooKeeper on the real thing: an HBase 2.6.4, captured through kazoo, judged by its own cleaner.

The cluster is driven through a short life. At each stage it is captured, and its ReplicationLogCleaner is asked about
every captured file; at the end all captures are reconciled, and compared with its answers file by file.
"""

import json
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.config import Config, parse_config
from jobs.context import JobContext
from jobs.wiring import Places, run_reconcile
from pipelines.domain.errors import UnavailableError, UsageError
from pipelines.domain.snapshot import Snapshot, parse_snapshot
from pipelines.domain.zookeeper.tree import ReplicationTree, ZkQueue, parse_tree
from pipelines.sources.snapshot_dir import _znode
from pipelines.sources.zookeeper_client import ZooKeeperClient
from pipelines.sources.zookeeper_queues import ZooKeeperQueues
from pipelines.use_cases.outcome import Outcome
from tests.cluster.hbase import HBaseCluster, wait_until
from tests.cluster.oracle import Oracle

pytestmark = pytest.mark.realhbase

TABLE = "story"
ONE, TWO = "one", "two"
NO_TTL = {"hbase.master.logcleaner.ttl": "0"}
OTHER_CLEANERS = {"TOO_YOUNG", "FUTURE_TIMESTAMP", "INVALID_NAME", "BACKUP", "FOREIGN_CLEANER"}
STAGES = ("rolled", "disabled", "claimed", "claimed-again", "quiet")


@dataclass
class Stage:
    """What one stage looked like: to walsafe, and to HBase itself."""

    snapshot: Path
    taken: Snapshot
    trees: tuple[ReplicationTree, ...]
    oracle: dict[str, str]
    victim: str | None = None


@dataclass
class Story:
    """The cluster, and what has been seen of it."""

    cluster: HBaseCluster
    spark: SparkSession
    work: Path
    stages: dict[str, Stage] = field(default_factory=dict)

    @property
    def quorum(self) -> str:
        return f"127.0.0.1:{self.cluster.harness.property('hbase.zookeeper.property.clientPort')}"

    def config(self, name: str, **changes: object) -> Config:
        site = self.cluster.write_conf(self.work / "conf", NO_TTL) / "hbase-site.xml"
        queues = {"source": "zookeeper", "quorum": self.quorum, "parent": f"/{self.cluster.name}", "timeout": "10s"}
        section = {
            "files": {"source": "hadoop"},
            "queues": {**queues, **changes},
            "state": {"source": "zookeeper"},
            "hbase": {"site": str(site)},
            "step_attempts": 1,
            "pause": "1s",
        }
        document = {"cluster": name, "wal_root": self.cluster.wal_root, "capture": section}
        return parse_config(json.dumps(document), "test.yaml")

    def capture(self, name: str, out: Path, **changes: object) -> Outcome:
        section = self.config(name, **changes).capture
        assert section is not None
        context = JobContext("capture", spark=self.spark)
        return capture_cluster(name, self.cluster.wal_root, section, f"file:{out}", context)

    def see(self, name: str, victim: str | None = None) -> Stage:
        """Captures, with HBase asked before and after until nothing moves meanwhile."""
        judge = Oracle(self.cluster)
        for attempt in range(8):
            out = self.work / f"attempt-{attempt}" / name
            out.parent.mkdir(exist_ok=True)
            known = self.cluster.old_wals()
            before = judge.verdicts(known)
            outcome = self.capture(name, out)
            paths = {row["path"] for row in pq.read_table(out / "files").to_pylist()}
            archived = sorted(path for path in paths if path.startswith("oldWALs/"))
            same = archived == [file.path for file in known] and judge.verdicts(known) == before
            if same and outcome.result["quiet"]:
                taken = parse_snapshot(json.loads((out / "snapshot.json").read_text()))
                trees = tuple(tree(out / f"queues-{index}.jsonl") for index in (1, 2))
                answers = dict(zip(archived, before, strict=True))
                self.stages[name] = Stage(out, taken, trees, answers, victim)
                return self.stages[name]
            time.sleep(1)
        raise AssertionError(f"stage {name} never rested")

    def kill(self, server: str) -> None:
        """Kills a server that has archived WALs, and waits for the claim of its queues."""
        self.cluster.kill_server(server)
        wait_until(lambda: server not in self.owners(), f"the queues of {server} are claimed")

    def owners(self) -> set[str]:
        found = self.queues.znodes("queues-1")
        return {str(queue.owner) for queue in parse_tree(found).queues}

    @cached_property
    def client(self) -> ZooKeeperClient:
        return ZooKeeperClient(self.quorum, 10_000)

    @cached_property
    def queues(self) -> ZooKeeperQueues:
        return ZooKeeperQueues(self.client, f"/{self.cluster.name}")

    def wait_shipped(self) -> None:
        """Until an archived WAL of a server is in no queue any more; an idle source is late with its last one."""
        judge, rounds = Oracle(self.cluster), 0

        def shipped() -> bool:
            nonlocal rounds
            rounds += 1
            if rounds % 20 == 0:
                self.cluster.archive_wals(TABLE)
            wals = [file for file in self.cluster.old_wals() if not file.path.endswith((".meta", "$"))]
            return "DELETE" in judge.verdicts(wals)

        wait_until(shipped, "a WAL is shipped")


def tree(path: Path) -> ReplicationTree:
    return parse_tree([_znode(line, path.name) for line in path.read_text().splitlines()])


@pytest.fixture(scope="module")
def story(hbase_2_cluster: HBaseCluster, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Story:
    cluster = hbase_2_cluster
    story = Story(cluster, spark, tmp_path_factory.mktemp("story2"))
    cluster.create_table(TABLE)
    cluster.add_peer(ONE, "nowhere:2181:/hbase")
    cluster.archive_wals(TABLE)
    story.wait_shipped()
    story.see("rolled")

    cluster.add_peer(TWO, "nowhere:2181:/hbase", enabled=False)
    cluster.archive_wals(TABLE)
    story.see("disabled")

    victim = cluster.start_server()
    cluster.move_region(TABLE, victim)
    cluster.archive_wals(TABLE)
    story.kill(victim)
    story.see("claimed", victim)

    cluster.start_server()
    (claimer,) = {str(queue.owner) for queue in queues_of(story.stages["claimed"], victim)}
    story.kill(claimer)
    story.see("claimed-again", victim)

    cluster.enable_peer(TWO)
    cluster.archive_wals(TABLE)
    story.wait_shipped()
    story.see("quiet")
    story.client.close()
    return story


def queues_of(stage: Stage, server: str) -> list[ZkQueue]:
    """The claimed queues of a dead server that wait for the disabled peer."""
    queues = (queue for queue in stage.trees[-1].queues if queue.queue.peer_id == TWO and queue.queue.recovered)
    return [queue for queue in queues if str(queue.source) == server]


@pytest.fixture(scope="module")
def outcome(story: Story) -> Outcome:
    fleet = story.work / "fleet"
    fleet.mkdir()
    for name, stage in story.stages.items():
        stage.snapshot.rename(fleet / name)
    places = Places(f"file:{story.work}/lake", f"file:{story.work}/lists")
    config = parse_config("{cleaners: {interval: 24h}}", "test.yaml")
    return run_reconcile(JobContext("reconcile", spark=story.spark), config, places, (), fleet=f"file:{fleet}")


@pytest.fixture(scope="module")
def verdicts(story: Story, outcome: Outcome) -> dict[str, dict[str, dict[str, Any]]]:
    assert outcome.exit_code == 0, outcome.text
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in story.spark.read.format("delta").load(f"file:{story.work}/lake/wal_verdicts").collect():
        found.setdefault(row["cluster"], {})[row["path"]] = row.asDict(recursive=True)
    return found


@pytest.mark.parametrize("name", STAGES)
def test_walsafe_and_hbases_own_cleaner_agree_file_by_file(
    story: Story, verdicts: dict[str, dict[str, dict[str, Any]]], name: str
) -> None:
    oracle, ours = story.stages[name].oracle, verdicts[name]
    assert oracle
    assert set(ours) == set(oracle)
    assert {path: row["hbase_verdict"] for path, row in ours.items()} == oracle
    wrong = {
        path: (row["verdict"], row["reason"], oracle[path])
        for path, row in ours.items()
        if (row["verdict"] == "DELETABLE") is not (oracle[path] == "DELETE") and row["reason"] not in OTHER_CLEANERS
    }
    assert wrong == {}


def reasons(rows: dict[str, dict[str, Any]]) -> set[str]:
    return {row["reason"] for row in rows.values()}


def test_each_stage_shows_what_it_is_there_for(story: Story, verdicts: dict[str, dict[str, dict[str, Any]]]) -> None:
    assert "NOT_QUEUED" in reasons(verdicts["rolled"]) & reasons(verdicts["quiet"])
    assert reasons(verdicts["disabled"]) >= {"NOT_QUEUED", "PENDING"}
    victim = story.stages["claimed"].victim
    for stage, hops in (("claimed", 1), ("claimed-again", 2)):
        (queue,) = queues_of(story.stages[stage], str(victim))
        assert len(queue.queue.dead_servers) == hops
        held = [row for row in verdicts[stage].values() if row["server"] == victim and row["reason"] == "PENDING"]
        holders = {(one["peer_id"], one["owner"], one["source"]) for row in held for one in row["blocking"]}
        assert (TWO, str(queue.owner), victim) in holders


def test_peers_and_the_clusters_id_come_from_zookeeper(story: Story) -> None:
    taken = story.stages["disabled"].taken
    assert {peer.peer_id: peer.state for peer in taken.peers} == {ONE: "ENABLED", TWO: "DISABLED"}
    assert {peer.endpoint for peer in taken.peers} == {"walsafe.cluster.NowhereEndpoint"}
    assert taken.cluster_id == story.cluster.cluster_id
    assert [step.step for step in taken.steps] == ["files", "peers", "queues-1", "queues-2"]


def test_a_wrong_address_is_named(story: Story, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"ZooKeeper 127\.0\.0\.1:1, connecting.*capture\.queues\.quorum"):
        story.capture("c", tmp_path / "out", quorum="127.0.0.1:1", timeout="1s")
    with pytest.raises(UsageError, match=r"has no /other/hbaseid.*capture\.queues\.parent"):
        story.capture("c", tmp_path / "out", parent="/other")
    assert list(tmp_path.iterdir()) == []
