"""audit-queues on a real HBase 3: servers die one after the other, claimers included, and an orphan is recovered.

What the audit says is held to the rows of `hbase:replication` and to the answers of the master.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.cli.config.configuration import parse_config
from jobs.cli.context import JobContext
from jobs.cli.entry import main
from pipelines.hbase.wal_names import encode_prefix
from tests.labs.cluster.hbase import HBaseCluster

pytestmark = [pytest.mark.realhbase, pytest.mark.long]

TABLE, PEER, LATER = "audited", "audited", "audited_later"


@dataclass
class Chain:
    """The cluster, its snapshots in order, and who owned the first victim's queue at each."""

    cluster: HBaseCluster
    spark: SparkSession
    work: Path
    victim: str = ""
    snapshots: list[Path] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)

    def capture(self) -> Path:
        site = self.cluster.write_conf(self.work / "conf") / "hbase-site.xml"
        section = {
            "files": {"source": "hadoop"},
            "queues": {"source": "hbase"},
            "state": {"source": "hbase"},
            "hbase": {"site": str(site), "timeout": "5m"},
            "quiet_attempts": 2,
            "pause": "1s",
        }
        document = {"cluster": "chain", "wal_root": self.cluster.wal_root, "capture": section}
        config = parse_config(json.dumps(document), "test.yaml")
        assert config.capture is not None
        out = self.work / f"snapshot-{len(self.snapshots)}"
        context = JobContext("capture", spark=self.spark)
        capture_cluster("chain", self.cluster.wal_root, config.capture, f"file:{out}", context)
        self.snapshots.append(out)
        return out

    def rows(self, peer: str, source: str) -> set[str]:
        """Owners of the queues of a peer for the WALs of a server."""
        keys = {cell.row.decode() for cell in self.cluster.queue_cells() if cell.family == b"queue"}
        servers = {key.removeprefix(f"{peer}-") for key in keys if key.startswith(f"{peer}-")}
        return {one.partition("/")[0] for one in servers if one == source or one.endswith(f"/{source}")}

    def see(self) -> None:
        """A snapshot, and the owner at that time."""
        (owner,) = self.rows(PEER, self.victim)
        self.owners.append(owner)
        self.capture()

    def audit(self, *snapshots: Path, options: tuple[str, ...] = ()) -> dict[str, Any]:
        result = self.work / "result.json"
        places = [f"file:{one}" for one in snapshots or self.snapshots]
        arguments = ["audit-queues", "--snapshot", *places, *options, "--result", str(result)]
        assert main(arguments, context=JobContext("audit-queues", spark=self.spark)) == 0
        found: dict[str, Any] = json.loads(result.read_text())
        return found

    def orphan(self) -> None:
        """Puts a row back as if nobody had claimed it: HBase has no way to make one but a defect."""
        group = encode_prefix(self.victim)
        wal = min(
            file.path for file in self.cluster.old_wals() if f"/{group}." in file.path and ".meta" not in file.path
        )
        cell = (f"{PEER}-{self.victim}", "queue", group, f"{wal.rpartition('/')[2]}:0")
        self.cluster.harness.putQueueCells(["\t".join(base64.b64encode(one.encode()).decode() for one in cell)])


@pytest.fixture(scope="module")
def chain(
    hbase_cluster: HBaseCluster,
    peer_cluster: HBaseCluster,
    hbase_spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Chain]:
    """Three deaths: a server, the one that claimed its queue, and the one that claimed it from that one."""
    cluster = hbase_cluster
    chain = Chain(cluster, hbase_spark, tmp_path_factory.mktemp("chain"))
    cluster.create_table(TABLE)
    chain.victim = cluster.start_server()
    cluster.move_region(TABLE, chain.victim)
    # disabled, for a claimed queue would be shipped and gone before anybody looks
    cluster.add_peer(PEER, peer_cluster.cluster_key, enabled=False)
    cluster.archive_wals(TABLE)
    chain.see()
    for number in range(3):
        dying = chain.owners[-1]
        chain.dead.append(dying)
        cluster.start_server()
        if number == 1:
            cluster.kill_and_hold(dying, "claim")
            chain.see()
            cluster.release(dying)
        else:
            cluster.evacuate(dying)
            cluster.kill_server(dying)
        chain.see()
    yield chain
    for peer in {PEER, LATER} & set(cluster.peers()):
        cluster.remove_peer(peer)


def queue(result: dict[str, Any], peer: str, source: str) -> list[dict[str, Any]]:
    return [one for one in result["queues"] if (one["peer_id"], one["source"]) == (peer, source)]


def test_every_death_is_seen(chain: Chain) -> None:
    for place, name, state in ((1, "RECOVERED", "ONLINE"), (2, "IN_FAILOVER", "CRASHING"), (-1, "RECOVERED", "ONLINE")):
        result = chain.audit(chain.snapshots[place])
        (row,) = queue(result, PEER, chain.victim)
        assert (row["owner"], row["queue_class"], row["owner_state"]) == (chain.owners[place], name, state), row
        assert row["pending_bytes"] > 0
        assert set(result["classes"]) <= {"NORMAL", "RECOVERED", "FINISHED", "IN_FAILOVER"}
        assert result["findings"] == []
    assert "IN_FAILOVER" not in result["classes"]


def test_the_audit_says_who_claimed_what(chain: Chain) -> None:
    result = chain.audit()
    claims = [one for one in result["claims"] if (one["peer_id"], one["source"]) == (PEER, chain.victim)]
    claimers = list(dict.fromkeys(chain.owners))
    assert len(claimers) == 4
    told = [(one["event"], one["from_owner"], one["to_owner"]) for one in claims]
    assert told == [("CLAIMED", left, taken) for left, taken in pairwise(claimers)]
    assert all(one["waited_max_ms"] > 0 for one in claims)
    assert claims[1]["waited_min_ms"] == 0, "it was seen dead in one snapshot, and claimed in the next"
    # the queues that the dead ones wrote themselves went along
    for dead in chain.dead[1:]:
        own = [one for one in result["claims"] if (one["peer_id"], one["source"]) == (PEER, dead)]
        assert [(one["event"], one["from_owner"]) for one in own][:1] == [("CLAIMED", dead)]


@pytest.mark.promise("audit-queues-plans-claims")
def test_an_orphan_is_planned_and_the_master_does_what_the_plan_says(chain: Chain, peer_cluster: HBaseCluster) -> None:
    cluster, victim = chain.cluster, chain.victim
    cluster.add_peer(LATER, peer_cluster.cluster_key, enabled=False)
    chain.orphan()
    plan = chain.work / "plan"
    result = chain.audit(chain.capture(), options=("--plan", f"file:{plan}"))
    orphan = next(one for one in queue(result, PEER, victim) if one["owner"] == victim)
    assert (orphan["queue_class"], orphan["also"]) == ("DUPLICATE", ["ORPHAN"])
    assert orphan["pending_bytes"] > 0
    assert [one["target"] in cluster.online_servers() for one in result["plan"]] == [True]
    # as HBCK2 takes them: `-i` is followed by files with a server a line (HBCK2.getFromFiles)
    (dead,) = (line.strip() for line in (plan / "servers.txt").read_text().splitlines())
    assert dead == victim
    steps = [line.split() for line in (plan / "claim-plan.txt").read_text().splitlines()]
    assert [words[-2:] for words in steps if words[:1] == ["run"]] == [["scheduleRecoveries", dead]]
    again = {one["peer_id"]: one for one in result["shipped_again"]}
    assert PEER not in again
    assert again[LATER]["files"] > 0, "it never had a queue of that server"
    # as the plan says: a server on the master's list of dead ones is not recovered
    assert cluster.schedule_recovery(victim) == -1
    assert chain.rows(PEER, victim) >= {victim}
    assert cluster.clear_dead_server(victim)
    assert cluster.schedule_recovery(dead) > 0
    assert chain.rows(PEER, victim) <= set(cluster.online_servers())
    assert chain.rows(LATER, victim), "the placeholder that makes it begin again"
    after = chain.audit(*chain.snapshots[-1:], chain.capture())
    assert not [one for one in after["queues"] if "ORPHAN" in (one["queue_class"], *one["also"])]
    assert after["plan"] == []
