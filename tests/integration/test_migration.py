"""The migration to `hbase:replication` by HBase 3 itself, planned before and verified after.

A cluster starts on what an HBase 2 left in ZooKeeper. First it hangs, since its region server cannot disable a peer;
then it runs in circles over a name that is no WAL; then it ends. Jobs are asked at each stage.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.reconcile.cluster_cases import cluster_cases
from pipelines.snapshot.reader import SnapshotDirectories
from tests.labs.cluster.hbase import HBaseCluster, wait_until
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.jvm import Jvm
from tests.labs.migration import BASE, DEAD, GONE, OFF, OLD, ON, Upgrade, group, wal

pytestmark = [pytest.mark.realhbase, pytest.mark.long]

JUNK = f"{BASE}/rs/{OLD}/{OFF}/junk"
QUEUE_TABLE = "hbase:replication"


@dataclass(frozen=True)
class Story:
    """Snapshots of each stage, and what HBase did."""

    before: Path
    blocked: Path
    hanging: Path
    hanging_zookeeper: Path
    after: Path
    table_while_hanging: bool
    servers: tuple[str, str]
    znodes: set[str]


@pytest.fixture(scope="module")
def upgrade(
    hbase_jvm: Jvm,
    hdfs_cluster: HdfsCluster,
    hbase_cluster: HBaseCluster,
    hbase_spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Upgrade]:
    upgrade = Upgrade(hbase_jvm, hdfs_cluster, hbase_cluster, hbase_spark, tmp_path_factory.mktemp("upgrade"))
    yield upgrade
    upgrade.close()


@pytest.fixture(scope="module")
def story(upgrade: Upgrade) -> Story:
    """An HBase 2 with queues is upgraded to HBase 3, which migrates them; captured at each stage."""
    upgrade.leave()
    before = upgrade.capture("before", "zookeeper")
    upgrade.put(JUNK, b"")
    blocked = upgrade.capture("blocked", "zookeeper")

    cluster = upgrade.start()

    def said(words: str) -> bool:
        return words in cluster.jvm.log.read_text(errors="replace")

    wait_until(lambda: said(f"failed to getOffsets, queueId={ON}-"), "a peer cannot be disabled")
    hanging, hanging_zookeeper = upgrade.capture("hanging", "hbase"), upgrade.capture("hanging-zk", "zookeeper")
    table_while_hanging = bool(cluster.harness.tableExists(QUEUE_TABLE))

    (first,) = cluster.online_servers()
    second = cluster.start_server()
    cluster.evacuate(first, system_only=False)
    cluster.kill_server(first, wait=False)
    wait_until(lambda: said("junk is not a valid wal file name"), "the name is met")

    assert upgrade.migration()
    upgrade.client.delete(JUNK)
    upgrade.wait_migrated()
    wait_until(lambda: not cluster.crashing(), "the dead servers' queues are claimed")
    after = upgrade.capture("after", "hbase")
    znodes = {*upgrade.client.get_children(BASE), *upgrade.client.get_children(f"{BASE}/peers")}
    return Story(before, blocked, hanging, hanging_zookeeper, after, table_while_hanging, (first, second), znodes)


def verify(upgrade: Upgrade, before: Path, after: Path) -> tuple[int, dict[str, Any]]:
    return upgrade.run("verify-migration", "--zookeeper", f"file:{before}", "--table", f"file:{after}")


@pytest.mark.promise("migration-is-planned-and-verified")
def test_hbase_writes_what_was_planned(upgrade: Upgrade, story: Story) -> None:
    code, plan = upgrade.run("plan-migration", "--snapshot", f"file:{story.before}")
    assert (code, plan["go"], plan["enabled_peers"]) == (0, True, [ON])
    assert plan["counts"] == {
        "queue": {"WRITE": 5, "DROP": 3, "BLOCK": 0},
        "sid": {"WRITE": 1, "DROP": 1, "BLOCK": 0},
        "hfileref": {"WRITE": 2, "DROP": 1, "BLOCK": 0},
    }
    extra = group(OLD) + ".extra"
    assert {(row["row"], row["qualifier"]): row["value"] for row in plan["rows"] if row["action"] == "WRITE"} == {
        (f"{ON}-{OLD}", group(OLD)): f"{wal(OLD, 9)}:3",
        (f"{OFF}-{OLD}", group(OLD)): f"{wal(OLD, 10)}:0",
        (f"{OFF}-{OLD}", extra): f"{extra}.1700000000004:8",
        (f"{OFF}-{OLD}/{GONE}", group(GONE)): f"{wal(GONE, 1)}:443",
        (f"{OFF}-{DEAD}", group(DEAD)): f"{wal(DEAD, 7)}:0",
    }
    code, result = verify(upgrade, story.before, story.after)
    assert (code, result["verified"]) == (0, True), result["differences"]
    for rule, held in result["rules"].items():
        if rule not in ("NO_EXTRA_ROW", "NO_UNKNOWN_PEER"):
            assert held["holds"] == held["checked"] > 0, rule
    assert story.znodes >= {ON, OFF}
    assert not story.znodes & {"rs", "regions", "hfile-refs"}


def test_rows_that_crash_procedures_wrote_since_are_no_difference(upgrade: Upgrade, story: Story) -> None:
    """The server that was killed has queues of its own, and DEAD had none of one peer: HBase asks for all WALs then."""
    first, second = story.servers
    _, result = verify(upgrade, story.before, story.after)
    assert {(one["rule"], one["answer"], one["severity"], one["subject"]) for one in result["differences"]} == {
        ("NO_EXTRA_ROW", "NEW", "info", f"{ON}-{second}/{first}"),
        ("NO_EXTRA_ROW", "NEW", "info", f"{OFF}-{second}/{first}"),
        ("NO_EXTRA_ROW", "PLACEHOLDER", "info", f"{ON}-{second}/{DEAD}"),
    }


def test_a_name_that_is_no_wal_is_a_no_go_and_hbase_throws_on_it(upgrade: Upgrade, story: Story) -> None:
    code, plan = upgrade.run("plan-migration", "--snapshot", f"file:{story.blocked}")
    assert (code, plan["go"]) == (3, False)
    assert [one["key"] for one in plan["findings"] if one["severity"] == "error"] == [
        f"MIGRATION_BLOCKED:rs/{OLD}/{OFF}/junk"
    ]


def test_an_enabled_peer_hangs_hbase_3_and_the_plan_warns(upgrade: Upgrade, story: Story) -> None:
    assert not story.table_while_hanging
    _, plan = upgrade.run("plan-migration", "--snapshot", f"file:{story.before}")
    assert "MIGRATION_ENABLED_PEERS" in {one["code"] for one in plan["findings"]}


def test_while_it_is_pending_nothing_is_verified(upgrade: Upgrade, story: Story) -> None:
    code, result = verify(upgrade, story.before, story.hanging)
    assert (code, result["verified"]) == (3, False)
    broken = {(one["rule"], one["answer"]) for one in result["differences"] if one["severity"] == "error"}
    assert "Every job but verify-migration will refuse it" in upgrade.told["hanging"]
    assert "will refuse" not in upgrade.told["after"]
    assert broken >= {("MIGRATION_ENDED", "DIFFERENT"), ("ZNODES_GONE", "DIFFERENT"), ("ROW_WRITTEN", "MISSING")}


PENDING = "migration of the replication queues from ZooKeeper is pending"
TAKEN_OVER = "HBase 3 has taken it over"


@pytest.mark.parametrize(("stage", "reason"), [("hanging", PENDING), ("hanging_zookeeper", TAKEN_OVER)])
def test_while_it_is_pending_reconcile_refuses(upgrade: Upgrade, story: Story, stage: str, reason: str) -> None:
    """And clean and purge with it, which decide by the same. In ZooKeeper queues stand at rest while it hangs, so that
    nothing but the mark on the peers shows it."""
    opened = SnapshotDirectories(upgrade.spark).open([f"file:{getattr(story, stage)}"])
    (case,) = cluster_cases(opened, None, ReconcileSettings(), opened[0].known.files_step.started_at)
    assert reason in (case.refused or "")
    assert case.view is not None
    assert case.view.untrusted is not None


@pytest.mark.parametrize(
    ("job", "stage", "reason"),
    [("inspect-wals", "hanging", PENDING), ("plan-migration", "hanging_zookeeper", TAKEN_OVER)],
)
def test_while_it_is_pending_jobs_refuse(upgrade: Upgrade, story: Story, job: str, stage: str, reason: str) -> None:
    code, result = upgrade.run(job, "--snapshot", f"file:{getattr(story, stage)}")
    assert code == 3
    assert reason in result["error"]["message"]
