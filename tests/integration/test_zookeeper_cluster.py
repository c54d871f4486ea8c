"""Queues in ZooKeeper on the real thing: HBase 2.6.4 and HBase 1, captured through kazoo, judged by their own cleaners.

The cluster is driven through a short life. At each stage it is captured, and its ReplicationLogCleaner is asked about
every captured file; at the end all captures are reconciled, and compared with its answers file by file.
"""

import json
import shutil
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from kazoo.client import KazooClient
from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.cli.config.capture_sources import HBaseStateSection
from jobs.cli.config.configuration import Config, parse_config
from jobs.cli.context import JobContext
from jobs.cli.entry import main
from pipelines.capture.sources.zookeeper_client import ZooKeeperClient
from pipelines.capture.sources.zookeeper_queues import ZooKeeperQueues
from pipelines.common.errors import UnavailableError, UsageError
from pipelines.common.forms import read_value
from pipelines.common.instants import format_instant
from pipelines.common.job_result import JobResult
from pipelines.decide.rule.cluster_view import DEFAULT_CLEANERS
from pipelines.hbase.zookeeper.tree import ReplicationTree, ZkQueue, parse_tree
from pipelines.snapshot.capture_order import ZOOKEEPER_CAPTURE_ORDER
from pipelines.snapshot.model import Snapshot
from pipelines.snapshot.queue_lines import ZNODE
from pipelines.snapshot.snapshot_json import parse_snapshot
from tests.labs.cluster.classpath import HBASE_2, hbase_1, resolve
from tests.labs.cluster.hbase import HBaseCluster, wait_until
from tests.labs.cluster.hbase_data import ATTEMPTS
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.oracle import Oracle, wait_shipped
from tests.labs.export_script import run_export
from tests.labs.judged_stages import Verdicts, reconciled, verdicts_of
from tests.labs.real_captures import Taken, read_back
from tests.labs.small_cluster import edited

pytestmark = [pytest.mark.realhbase, pytest.mark.long]

TABLE = "story"
ONE, TWO = "one", "two"
# other tests may have made backup:system in this cluster, so the file must say that backup is off
NO_TTL_NO_BACKUP = {"hbase.master.logcleaner.ttl": "0", "hbase.backup.enable": "false"}
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

    def document(self, name: str, **changes: object) -> dict[str, object]:
        """A configuration; `changes` are those of `capture.queues`."""
        site = self.cluster.write_conf(self.work / "conf", NO_TTL_NO_BACKUP) / "hbase-site.xml"
        queues = {
            "source": "zookeeper",
            "quorum": self.cluster.zookeeper_quorum,
            "parent": f"/{self.cluster.name}",
            "timeout": "5m",
        }
        section = {
            "files": {"source": "hadoop"},
            "queues": {**queues, **changes},
            "state": {"source": "zookeeper"},
            "hbase": {"site": str(site)},
            "step_attempts": 1,
            "pause": "1s",
        }
        return {"cluster": name, "wal_root": self.cluster.wal_root, "capture": section}

    def config(self, name: str, **changes: object) -> Config:
        return parse_config(json.dumps(self.document(name, **changes)), "test.yaml")

    def capture(self, name: str, out: Path, **changes: object) -> JobResult:
        section = self.config(name, **changes).capture
        assert section is not None
        context = JobContext("capture", spark=self.spark)
        return capture_cluster(name, self.cluster.wal_root, section, f"file:{out}", context)

    def see(self, name: str, victim: str | None = None) -> Stage:
        """Captures, with HBase asked before and after until nothing moves meanwhile."""
        judge = Oracle(self.cluster)
        for attempt in range(ATTEMPTS):
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
        return ZooKeeperClient(self.cluster.zookeeper_quorum, 300_000)

    @cached_property
    def queues(self) -> ZooKeeperQueues:
        return ZooKeeperQueues(self.client, f"/{self.cluster.name}")


def tree(path: Path) -> ReplicationTree:
    return parse_tree([read_value(ZNODE, line, path.name) for line in path.read_text().splitlines()])


@pytest.fixture(scope="module")
def story(zookeeper_cluster: HBaseCluster, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """A cluster with queues in ZooKeeper, captured after WALs were rolled, servers killed and queues claimed."""
    cluster = zookeeper_cluster
    story = Story(cluster, spark, tmp_path_factory.mktemp("story2"))
    cluster.create_table(TABLE)
    cluster.add_peer(ONE, "nowhere:2181:/hbase")
    cluster.archive_wals(TABLE)
    wait_shipped(cluster, TABLE)
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
    wait_shipped(cluster, TABLE)
    story.see("quiet")
    story.client.close()
    return story


def queues_of(stage: Stage, server: str) -> list[ZkQueue]:
    """The claimed queues of a dead server that wait for the disabled peer."""
    queues = (queue for queue in stage.trees[-1].queues if queue.queue.peer_id == TWO and queue.queue.recovered)
    return [queue for queue in queues if str(queue.source) == server]


@pytest.fixture(scope="module")
def outcome(story: Story) -> JobResult:
    return reconciled(story.spark, story.work, {name: stage.snapshot for name, stage in story.stages.items()})


@pytest.fixture(scope="module")
def verdicts(story: Story, outcome: JobResult) -> Verdicts:
    return verdicts_of(story.work, outcome)


@pytest.mark.promise("zookeeper-is-proven", "real-cleaner-judges-real-clusters")
@pytest.mark.parametrize("name", STAGES)
def test_walsafe_and_hbases_own_cleaner_agree_file_by_file(story: Story, verdicts: Verdicts, name: str) -> None:
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


def test_each_stage_shows_what_it_is_there_for(story: Story, verdicts: Verdicts) -> None:
    assert "NOT_QUEUED" in reasons(verdicts["rolled"]) & reasons(verdicts["quiet"])
    assert reasons(verdicts["disabled"]) >= {"NOT_QUEUED", "PENDING"}
    victim = story.stages["claimed"].victim
    for stage, hops in (("claimed", 1), ("claimed-again", 2)):
        (queue,) = queues_of(story.stages[stage], str(victim))
        assert len(queue.queue.dead_servers) == hops
        held = [row for row in verdicts[stage].values() if row["server"] == victim and row["reason"] == "PENDING"]
        holders = {(one["peer_id"], one["owner"], one["source"]) for row in held for one in row["blocking"]}
        assert (TWO, str(queue.owner), victim) in holders


def test_an_audit_says_who_claimed_what(story: Story, outcome: JobResult, tmp_path: Path) -> None:
    """The stages as successive snapshots of one cluster."""
    assert outcome.exit_code == 0
    names = ("disabled", "claimed", "claimed-again")
    for name in names:
        shutil.copytree(story.work / "fleet" / name, tmp_path / name)
        edited(tmp_path / name, lambda document: document.update(cluster="hbase2"))
    result = tmp_path / "result.json"
    places = [f"file:{tmp_path / name}" for name in names]
    arguments = ["audit-queues", "--snapshot", *places, "--result", str(result)]
    assert main(arguments, context=JobContext("audit-queues", spark=story.spark)) == 0
    found = json.loads(result.read_text())
    # HBase 1 deletes the empty znode of a server some seconds after it has claimed the queues
    assert set(found["classes"]) <= {"NORMAL", "RECOVERED", "FINISHED", "EMPTY_REPLICATOR"}
    victim = str(story.stages["claimed"].victim)
    (first,), (second,) = (queues_of(story.stages[name], victim) for name in names[1:])
    claims = [one for one in found["claims"] if (one["peer_id"], one["source"]) == (TWO, victim)]
    assert [(one["event"], one["from_owner"], one["to_owner"]) for one in claims] == [
        ("CLAIMED", victim, str(first.owner)),
        ("CLAIMED", str(first.owner), str(second.owner)),
    ]
    (row,) = [one for one in found["queues"] if (one["peer_id"], one["source"]) == (TWO, victim)]
    assert (row["queue_class"], row["hops"]) == ("RECOVERED", [victim, str(first.owner)])
    assert row["pending_bytes"] > 0


def test_what_a_queue_still_has_to_read_is_found_inside_of_its_wals(
    story: Story, outcome: JobResult, tmp_path: Path
) -> None:
    """Of the queue with most bytes; a server without a region of the table writes WALs without an entry."""
    assert outcome.exit_code == 0
    place, result = story.work / "fleet" / "claimed-again", tmp_path / "result.json"
    length = {row["path"].rpartition("/")[2]: row["length"] for row in pq.read_table(place / "files").to_pylist()}
    queues = (queue for queue in story.stages["claimed-again"].trees[-1].queues if queue.queue.peer_id == TWO)
    # A server writes its first WAL with its first region: perhaps when the files have been listed already.
    listed = [queue for queue in queues if length.keys() >= set(queue.wals)]
    queue = max(listed, key=lambda one: sum(length[wal] for wal in one.wals))
    name = f"{queue.owner}/{queue.queue.text}"
    arguments = ["inspect-wals", "--snapshot", f"file:{place}", "--queue", name, "--result", str(result)]
    assert main(arguments, context=JobContext("inspect-wals", spark=story.spark)) == 0
    found = json.loads(result.read_text())
    (row,) = found["queues"]
    assert (row["owner"], row["source"]) == (str(queue.owner), str(queue.source))
    assert (row["pending_files"], row["wal"], row["offset"]) == (len(queue.wals), min(queue.wals), 0)
    assert (row["offset_status"], row["unread_files"], row["rule_known"]) == ("OK", 0, False)
    (table,) = [one for one in found["tables"] if one["table"] == TABLE]
    assert row["pending_entries"] >= table["global_entries"] > 0
    assert row["wanted_entries"] == row["pending_entries"], "the endpoint of the peer may take every entry"


def test_peers_and_the_clusters_id_come_from_zookeeper(story: Story) -> None:
    taken = story.stages["disabled"].taken
    assert {peer.peer_id: peer.state for peer in taken.peers} == {ONE: "ENABLED", TWO: "DISABLED"}
    assert {peer.endpoint for peer in taken.peers} == {"walsafe.cluster.NowhereEndpoint"}
    assert taken.cluster_id == story.cluster.cluster_id
    assert taken.membership is not None
    owners = {str(queue.owner) for queue in story.stages["disabled"].trees[-1].queues}
    assert owners <= {str(server) for server in taken.membership.online}
    assert [step.step for step in taken.steps] == ["files", "online", "peers", "queues-1", "queues-2", "online-2"]


def test_hbases_own_admin_says_what_zookeeper_says(story: Story, hbase_spark: SparkSession, tmp_path: Path) -> None:
    """`state: hbase`, by HBase's client 2.6.4; the master of an HBase 1 cannot answer it."""
    section = story.config("admin", timeout="5m").capture
    assert section is not None
    section = section.model_copy(update={"state": HBaseStateSection(source="hbase")})
    version = story.cluster.version()
    if version.startswith("1."):
        context = JobContext("x", spark=hbase_spark)
        with pytest.raises(UsageError, match=rf"HBase {version} does not answer .*state: {{source: zookeeper"):
            capture_cluster("c", story.cluster.wal_root, section, f"file:{tmp_path}/refused", context)
        return
    taken = []
    for name, one in (("admin", section), ("znodes", story.config("znodes").capture)):
        assert one is not None
        capture_cluster("c", story.cluster.wal_root, one, f"file:{tmp_path}/{name}", JobContext("x", spark=hbase_spark))
        taken.append(parse_snapshot(json.loads((tmp_path / name / "snapshot.json").read_text())))
    admin, znodes = taken
    assert (admin.hbase_version, znodes.hbase_version) == (story.cluster.version(), None)
    assert sorted(peer.peer_id for peer in admin.peers) == [ONE, TWO]
    for name in ("peers", "cluster_id", "retention", "backup", "membership", "queue_storage"):
        assert getattr(admin, name) == getattr(znodes, name), name
    # HBase's client knows what stands for a property that is not set
    assert set(znodes.log_cleaner_plugins or ()) < set(admin.log_cleaner_plugins or ()) < DEFAULT_CLEANERS


def taken(story: Story, out: Path, **sections: object) -> Taken:
    """A capture with other sources than those of the story."""
    document = story.document("c")
    section = {**document["capture"], "quiet_attempts": 1, **sections}  # type: ignore[dict-item]
    config = parse_config(json.dumps({**document, "capture": section}), "test.yaml").capture
    assert config is not None
    context = JobContext("capture", spark=story.spark)
    capture_cluster("c", story.cluster.wal_root, config, f"file:{out}", context)
    return read_back(out, ZOOKEEPER_CAPTURE_ORDER)


@pytest.mark.promise("exported-znodes-agree")
def test_an_export_has_what_is_read_live(story: Story, hdfs_cluster: HdfsCluster, tmp_path: Path) -> None:
    """Between two captures that are equal: HBase rolls a WAL when it likes."""
    version = story.cluster.version()
    jars = resolve(hbase_1(version) if version.startswith("1.") else HBASE_2)
    hbase = [story.cluster.write_conf(tmp_path / "conf", NO_TTL_NO_BACKUP), *jars]
    hadoop_conf = hdfs_cluster.write_conf(tmp_path / "hadoop-conf")
    for attempt in range(ATTEMPTS):
        out = tmp_path / f"export-{attempt}"
        before = taken(story, tmp_path / f"before-{attempt}")
        arguments = [story.cluster.wal_root, str(out), "zookeeper"]
        done = run_export(tmp_path, arguments, hbase, hadoop_conf)
        assert done.returncode == 0, done.stderr[-3000:]
        exported = taken(
            story,
            tmp_path / f"exported-{attempt}",
            files={"source": "ls"},
            queues={"source": "export", "storage": "zookeeper"},
            state={"source": "export"},
            export={"path": str(out)},
        )
        after = taken(story, tmp_path / f"after-{attempt}")
        if (before.files, before.queues) == (after.files, after.queues):
            break
    else:
        raise AssertionError("the cluster never stood still")
    assert exported.queues == before.queues
    assert len(exported.queues[1]) > 5
    assert exported.names == before.names
    same = ("cluster_id", "queue_storage", "peers", "membership", "membership_2", "retention")
    for name in (*same, "hbase_version", "backup"):
        assert getattr(exported.snapshot, name) == getattr(before.snapshot, name), name
    # HBase's classes know what stands for a property that is not set
    plugins = [set(one.snapshot.log_cleaner_plugins or ()) for one in (before, exported)]
    assert plugins[0] < plugins[1] < DEFAULT_CLEANERS
    for step in exported.snapshot.steps:
        lines = (out / f"{step.step}.txt").read_text().splitlines()
        assert f" started {format_instant(step.started_at)} " in lines[0]
        assert f" finished {format_instant(step.finished_at)} " in lines[-1]


@pytest.mark.promise("znodes-are-the-site-files", "peers-are-in-zookeeper")
def test_a_wrong_address_is_named(story: Story, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"ZooKeeper 127\.0\.0\.1:1, connecting.*capture\.queues\.quorum"):
        story.capture("c", tmp_path / "out", quorum="127.0.0.1:1", timeout="1s")
    with pytest.raises(UsageError, match=rf"znode\.parent is /{story.cluster.name}, but /other would be read"):
        story.capture("c", tmp_path / "out", parent="/other")
    with pytest.raises(UsageError, match=r"zookeeper\.znode\.replication is replication, but other would be read"):
        story.capture("c", tmp_path / "out", replication="other")
    site = story.cluster.write_conf(story.work / "files", {"hbase.replication.peer.storage.impl": "filesystem"})
    document = story.document("c")
    document["capture"] = {**document["capture"], "hbase": {"site": f"{site}/hbase-site.xml"}}  # type: ignore[dict-item]
    section = parse_config(json.dumps(document), "test.yaml").capture
    assert section is not None
    with pytest.raises(UsageError, match="peers are not in ZooKeeper, and this source would find none"):
        capture_cluster("c", story.cluster.wal_root, section, f"file:{tmp_path}/o", JobContext("x", spark=story.spark))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.promise("jobs-know-queues-in-zookeeper", "zookeeper-names-again-are-left")
def test_z_the_list_is_cleaned_but_for_what_a_queue_names_again(
    story: Story, outcome: JobResult, hdfs_cluster: HdfsCluster, tmp_path: Path
) -> None:
    """The last one, since files are gone then; the rest of a list's life is in test_cleanup_zookeeper.py."""
    assert outcome.exit_code == 0
    (run,) = (path for path in (story.work / "lists" / "quiet").iterdir() if path.is_dir())
    lines = [line for part in sorted(run.glob("part-*.txt")) for line in part.read_text().splitlines()]
    listed = {line.removeprefix(f"{story.cluster.wal_root}/") for line in lines}
    again = min(path for path in listed if not path.endswith(".meta"))
    hdfs_cluster.file_system().mkdirs(hdfs_cluster.path("/story"))
    file, result = tmp_path / "quiet.yaml", tmp_path / "result.json"
    file.write_text(json.dumps({**story.document("quiet"), "clean": {"quarantine": f"{hdfs_cluster.uri}/story"}}))
    queue = next(one for one in parse_tree(story.queues.znodes("queues-1")).queues if one.queue.peer_id == ONE)
    znode = f"/{story.cluster.name}/replication/rs/{queue.owner}/{ONE}/{again.rpartition('/')[2]}"
    writer = KazooClient(hosts=story.cluster.zookeeper_quorum)
    writer.start(timeout=300)
    try:
        writer.create(znode, b"")
        arguments = ["clean", "--cluster", "quiet", "--run-id", run.name, "--config", str(file), "--execute"]
        arguments += ["--lists", f"file:{story.work}/lists", "--lake", f"file:{story.work}/lake"]
        assert main([*arguments, "--result", str(result)], context=JobContext("clean", spark=story.spark)) == 0
    finally:
        writer.delete(znode)
        writer.stop()
        writer.close()
        story.client.close()
    done = json.loads(result.read_text())
    assert (done["status"], done["done_files"]) == ("DONE", len(listed) - 1)
    assert [(one["path"], one["outcome"], one["why"]) for one in done["left"]] == [
        (again, "REFUSED", "the second look holds it: PENDING")
    ]
    assert listed & {one.path for one in story.cluster.old_wals()} == {again}
