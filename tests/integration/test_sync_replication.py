"""Synchronous replication on the real thing: two clusters of HBase 3, one ACTIVE, one STANDBY, which takes over.

Each is captured with HBase 2's client, which knows nothing of it: states come from ZooKeeper. Both are reconciled in
one run, and the ACTIVE one's own cleaner judges its archived WALs, `.syncrep` among them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.cli.config.configuration import parse_config
from jobs.cli.context import JobContext
from jobs.reconcile.wiring import OutputPlaces, run_reconcile
from pipelines.snapshot.model import Snapshot
from pipelines.snapshot.snapshot_json import parse_snapshot
from tests.labs.cluster.hbase import HBaseCluster, wait_until
from tests.labs.cluster.oracle import Oracle
from tests.labs.lake_rows import lake_rows

pytestmark = [pytest.mark.realhbase, pytest.mark.long]

TABLE, PEER = "synced", "sync"
EARLIER = {"TOO_YOUNG", "FUTURE_TIMESTAMP", "INVALID_NAME", "MASTER_LOCAL_WAL", "PROCEDURE_WAL"}


@dataclass
class Pair:
    """Both clusters, and what became of them."""

    spark: SparkSession
    work: Path
    active: HBaseCluster
    standby: HBaseCluster

    def capture(self, stage: str) -> dict[str, Snapshot]:
        """Captures both."""
        found = {}
        for name, cluster in (("active", self.active), ("standby", self.standby)):
            site = cluster.write_conf(self.work / f"conf-{name}", {"hbase.master.logcleaner.ttl": "0"})
            hbase = {"source": "hbase"}
            section = {
                "files": {"source": "hadoop"},
                "queues": hbase,
                "state": hbase,
                "hbase": {"site": str(site / "hbase-site.xml"), "timeout": "5m"},
                "pause": "1s",
            }
            config = parse_config(json.dumps({"capture": section}), "test.yaml")
            assert config.capture is not None
            out = self.work / stage / name
            out.parent.mkdir(exist_ok=True)
            context = JobContext("capture", spark=self.spark)
            capture_cluster(name, cluster.wal_root, config.capture, f"file:{out}", context)
            found[name] = parse_snapshot(json.loads((out / "snapshot.json").read_text()))
        return found

    def reconcile(self, stage: str) -> None:
        """One run for both captures."""
        places = OutputPlaces(f"file:{self.work}/lake", f"file:{self.work}/lists")
        context = JobContext("reconcile", spark=self.spark)
        fleet = f"file:{self.work}/{stage}"
        run_reconcile(context, parse_config("{}", "x"), places, (), fleet=fleet, run_id=stage)

    def rows(self, table: str, condition: str) -> list[dict[str, Any]]:
        return lake_rows(f"{self.work}/lake/{table}", condition)


@pytest.fixture(scope="module")
def pair(
    hbase_cluster: HBaseCluster,
    peer_cluster: HBaseCluster,
    hbase_spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Pair]:
    active, standby = hbase_cluster, peer_cluster
    for cluster, other in ((active, standby), (standby, active)):
        cluster.create_table(TABLE)
        cluster.add_sync_peer(PEER, other, f"{other.wal_root}/remoteWALs", TABLE)
    standby.transit_sync_peer(PEER, "STANDBY")
    active.transit_sync_peer(PEER, "ACTIVE")
    yield Pair(hbase_spark, tmp_path_factory.mktemp("pair"), active, standby)
    for cluster in (active, standby):
        cluster.remove_peer(PEER)  # which the test has left in DOWNGRADE_ACTIVE; HBase removes no other


def archived(pair: Pair) -> list[str]:
    return [file.path for file in pair.active.old_wals() if file.path.endswith(".syncrep")]


def test_a_pair_in_order_and_after_a_failover(pair: Pair) -> None:
    """One life, for states cannot be gone back to: ACTIVE and STANDBY, then the STANDBY cluster takes over."""
    active, standby = pair.active, pair.standby
    for _ in range(2):
        active.put(TABLE)
        active.flush(TABLE)
        active.roll_wals()
    active.put(TABLE)
    wait_until(
        lambda: "DELETE" in Oracle(active).verdicts(archived(pair)),
        "an archived WAL of synchronous replication is shipped",
    )
    wait_until(lambda: bool(standby.files("remoteWALs")), "copies arrive")
    copies = {file.path for file in standby.files("remoteWALs")}
    assert all(path.startswith(f"remoteWALs/{PEER}/") and path.endswith(".syncrep") for path in copies)
    known = active.old_wals()
    before = Oracle(active).verdicts(known)
    taken = pair.capture("in-order")
    answers = dict(zip((file.path for file in known), Oracle(active).verdicts(known), strict=True))
    pair.reconcile("in-order")
    steady = {file.path for file, answer in zip(known, before, strict=True) if answers[file.path] == answer}

    for name, state, other in (("active", "ACTIVE", standby), ("standby", "STANDBY", active)):
        (peer,) = [peer for peer in taken[name].peers if peer.peer_id == PEER]
        assert (peer.sync_replication_state, peer.remote_wal_dir) == (state, f"{other.wal_root}/remoteWALs")
    verdicts = {one["path"]: one for one in pair.rows("wal_verdicts", "run_id = 'in-order' AND cluster = 'active'")}
    asked = {path for path in steady if verdicts[path]["reason"] not in EARLIER}
    assert {path for path in asked if verdicts[path]["verdict"] == "DELETABLE"} <= {
        path for path in asked if answers[path] == "DELETE"
    }
    of_sync = {path for path in asked if path.endswith(".syncrep")}
    assert of_sync
    for path in of_sync:
        assert (verdicts[path]["verdict"] == "DELETABLE") == (answers[path] == "DELETE"), verdicts[path]

    (directory,) = pair.rows("remote_wals", "run_id = 'in-order' AND cluster = 'standby'")
    assert (directory["directory"], directory["kind"], directory["peer_exists"]) == (
        f"remoteWALs/{PEER}", "REMOTE", True,
    )  # fmt: skip
    assert not pair.rows("wal_verdicts", "path LIKE 'remoteWALs/%'")
    of_it = "code LIKE 'REMOTE_WALS%' OR code LIKE 'SYNC_%' OR code LIKE 'ORPHAN_REMOTE%'"
    assert pair.rows("findings", of_it) == []

    standby.transit_sync_peer(PEER, "DOWNGRADE_ACTIVE")
    active.transit_sync_peer(PEER, "DOWNGRADE_ACTIVE")
    kept = {file.path.split("/")[1] for file in standby.files("remoteWALs")}
    assert kept == {f"{PEER}-snapshot"}
    taken = pair.capture("taken-over")
    states = {name: peer.sync_replication_state for name, one in taken.items() for peer in one.peers}
    assert states == {"active": "DOWNGRADE_ACTIVE", "standby": "DOWNGRADE_ACTIVE"}
    pair.reconcile("taken-over")
    told = {(one["cluster"], one["key"], one["severity"]) for one in pair.rows("findings", of_it)}
    assert told == {
        ("active", f"SYNC_STATE_CHANGED:{PEER}/ACTIVE-DOWNGRADE_ACTIVE", "info"),
        ("standby", f"SYNC_STATE_CHANGED:{PEER}/STANDBY-DOWNGRADE_ACTIVE", "info"),
    }
    (left,) = pair.rows("remote_wals", "run_id = 'taken-over' AND cluster = 'standby'")
    assert (left["directory"], left["kind"]) == (f"remoteWALs/{PEER}-snapshot", "SNAPSHOT")
