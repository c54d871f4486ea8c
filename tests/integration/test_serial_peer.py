"""A serial peer that waits for the queue of a dead server, on a real HBase 3: SERIAL_STUCK beside HBase's own judge.

The region has moved on, the entries from before its move are in a queue that nobody has claimed yet.
"""

import json
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.cli.config.configuration import parse_config
from jobs.cli.context import JobContext, SystemClock
from jobs.reconcile.wiring import OutputPlaces, run_reconcile
from pipelines.common.forms import read_value
from pipelines.common.instants import DAY_MS, format_instant, parse_instant
from pipelines.hbase.replication_queues import Cell
from pipelines.snapshot.barriers import RegionBarriers, serial_gaps
from pipelines.snapshot.extras_lines import REGION
from pipelines.snapshot.other_families import OtherFamilyCells
from tests.labs.cluster.hbase import HBaseCluster, wait_until
from tests.labs.cluster.hbase_data import ROWS
from tests.labs.cluster.jvm import Jvm
from tests.labs.cluster.wals import HBaseWals
from tests.labs.lake_rows import lake_rows
from tests.labs.small_cluster import edited

pytestmark = [pytest.mark.realhbase, pytest.mark.long]

TABLE, PEER = "ordered", "ordered"
MOVED = ROWS[:8]
"""Rows of the table's first region."""
ANSWER_AFTER_MS = 2 * DAY_MS


class Later:
    """The clock of somebody who looks two days after the capture."""

    def now_ms(self) -> int:
        return SystemClock().now_ms() + ANSWER_AFTER_MS


def captured(cluster: HBaseCluster, spark: SparkSession, work: Path) -> Path:
    site = cluster.write_conf(work / "conf") / "hbase-site.xml"
    section = {
        "files": {"source": "hadoop"},
        "queues": {"source": "hbase"},
        "state": {"source": "hbase"},
        "hbase": {"site": str(site), "timeout": "5m"},
        "quiet_attempts": 1,
    }
    config = parse_config(json.dumps({"capture": section}), "test.yaml")
    assert config.capture is not None
    out = work / "snapshot"
    capture_cluster("ordered", cluster.wal_root, config.capture, f"file:{out}", JobContext("capture", spark=spark))
    return out


def two_days_later(document: dict[str, Any]) -> None:
    """The same picture, seen later: HBase makes a peer wait for a moment at every move of a region."""
    for step in document["steps"]:
        for name in ("started_at", "finished_at"):
            step[name] = format_instant(parse_instant(step[name]) + ANSWER_AFTER_MS)


def findings(spark: SparkSession, snapshot: Path) -> list[Mapping[str, Any]]:
    lake = snapshot.parent / "lake"
    places = OutputPlaces(f"file:{lake}", f"file:{snapshot.parent}/lists")
    context = JobContext("reconcile", clock=Later(), spark=spark)
    run_reconcile(context, parse_config("{}", "x"), places, [f"file:{snapshot}"])
    return lake_rows(f"{lake}/findings", "code = 'SERIAL_STUCK'")


def gaps(cluster: HBaseCluster, regions: list[RegionBarriers]) -> set[str]:
    """Regions of which the peer has not finished an earlier range, by the table as it is now."""
    notes = OtherFamilyCells()
    deque(notes.watched(Cell(*cell) for cell in cluster.queue_cells()), maxlen=0)
    return {gap.region for gap in serial_gaps(PEER, regions, notes.pushed)}


def test_a_serial_peer_waits_for_the_queue_of_a_dead_server(
    hbase_jvm: Jvm, hbase_cluster: HBaseCluster, peer_cluster: HBaseCluster, hbase_spark: SparkSession, tmp_path: Path
) -> None:
    cluster, judge = hbase_cluster, hbase_jvm.view.walsafe.cluster.SerialOrder
    for one in (cluster, peer_cluster):
        one.create_table(TABLE)
    victim = cluster.start_server()
    cluster.add_peer(PEER, peer_cluster.cluster_key, enabled=False, serial=True)
    HBaseWals(hbase_jvm, cluster).set_rule(PEER, replicate_all=False, namespaces=[], tables={TABLE: []})
    cluster.move_region(TABLE, victim)  # only now: a new serial peer has all regions reopened
    cluster.put(TABLE, MOVED)
    cluster.kill_and_hold(victim, "claim")
    try:
        cluster.put(TABLE, MOVED, value="after its move")
        cluster.enable_peer(PEER)
        snapshot = captured(cluster, hbase_spark, tmp_path)
        lines = (snapshot / "extras" / "barriers.jsonl").read_text().splitlines()
        every = [read_value(REGION, line, "barriers.jsonl") for line in lines]
        regions = {one.region: one for one in every if one.table == TABLE}

        def may_go_on(row: str) -> bool:
            """HBase's answer for an entry of the region's last range."""
            last = regions[judge.regionOf(cluster.harness, TABLE, row)].barriers[-1]
            return bool(judge.canPush(cluster.harness, PEER, TABLE, row, last.sequence_id + 1))

        waiting = {judge.regionOf(cluster.harness, TABLE, row) for row in ROWS[::4] if not may_go_on(row)}
        assert len(regions) == 3
        assert waiting == {judge.regionOf(cluster.harness, TABLE, MOVED[0])}
        assert gaps(cluster, list(regions.values())) == waiting
        assert peer_cluster.count(TABLE) == 0, "what was written after the move waits for what was written before"

        edited(snapshot, two_days_later)
        (stuck,) = findings(hbase_spark, snapshot)
        evidence = json.loads(stuck["evidence"])
        assert (stuck["peer_id"], [one["region"] for one in evidence["regions"]]) == (PEER, sorted(waiting))
        assert any(victim in queue for queue in evidence["queues"]), "the queue that it waits for"
    finally:
        cluster.release(victim)
    cluster.wait_replicated(TABLE, peer_cluster, len(MOVED))
    wait_until(lambda: not gaps(cluster, list(regions.values())), "the earlier range is finished")
    assert may_go_on(MOVED[0])
    cluster.remove_peer(PEER)
