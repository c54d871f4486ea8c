"""A night on a lake whose last night an older walsafe wrote, without the tables and columns that came later."""

from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from pipelines.common.instants import DAY_MS
from pipelines.common.job_result import JobResult
from schemas.peers import PEERS
from schemas.registry import DECISION_TABLES
from schemas.verdict_changes import VERDICT_CHANGES
from tests.labs.analyst_lake import duckdb_of
from tests.labs.fleet_nights import CONFIG
from tests.labs.small_cluster import DECIDED_AFTER_MS, NOW, Desk, small

pytestmark = pytest.mark.long

LATER_TABLES = (PEERS, VERDICT_CHANGES)
LATER_COLUMNS = {
    "runs": ["seq", "written_at"],
    "wal_verdicts": ["host", "eligible_at", "wal_at"],
    "queue_offsets": ["offset_bytes", "needed_from", "oldest_pending_at"],
    "pinned_bytes": ["oldest_wal_at"],
    "findings": ["host"],
}
TWINS = [
    ("runs", "written_at", '"at"'),
    ("wal_verdicts", "wal_at", "to_timestamp(wal_timestamp / 1000.0)"),
    ("queue_offsets", "offset_bytes", '"offset"'),
    ("pinned_bytes", "oldest_wal_at", "to_timestamp(oldest_timestamp / 1000.0)"),
]


@pytest.fixture
def old(nights: list[JobResult], desk: Desk, tmp_path: Path) -> Desk:
    """The first night of the healthy cluster as the older walsafe left it."""
    assert nights
    lake = Desk(desk.spark, tmp_path)
    for table in DECISION_TABLES:
        if table not in LATER_TABLES:
            mine = [("cluster", "=", "healthy"), ("run_id", "=", "night-0")]
            rows = DeltaTable(str(desk.lake / table.name)).to_pyarrow_table(filters=mine)
            rows = rows.drop_columns(LATER_COLUMNS.get(table.name, []))
            write_deltalake(str(lake.lake / table.name), rows, partition_by=["run_date"])
    return lake


def test_the_lake_of_an_older_walsafe_opens_as_before(old: Desk) -> None:
    snapshot = old.snapshot(small("healthy", 1), "night-1")
    outcome = old.reconcile(snapshot, now=NOW + DAY_MS + DECIDED_AFTER_MS, run_id="night-1", config=CONFIG)
    assert outcome.exit_code == 0
    (first,) = [row for row in old.rows("wal_verdicts", "run_id = 'night-0'") if row["length"] == 512]
    assert (first["reason"], first["host"], first["eligible_at"]) == ("META_WAL", None, None)
    states = {(row["run_id"], row["peer_id"]): (row["nights"], row["previous_state"]) for row in old.rows("peers")}
    assert states == {("night-1", "1"): (1, None), ("night-1", "2"): (1, None)}, "it knows of no earlier night"
    assert {row["files"] for row in old.rows("verdict_changes")} == {1}, "one WAL of hbase:meta for another"
    assert [row["seq"] for row in old.run_rows("healthy")] == [None, None, 1, 2]
    for name, columns in LATER_COLUMNS.items():
        assert set(columns) <= set(DeltaTable(str(old.lake / name)).to_pyarrow_table().column_names), name
    with duckdb_of(old.lake) as database:
        for table, twin, same in TWINS:
            counts = f"run_id, count({twin}), count({same}), count(*) FILTER ({twin} = {same})"
            first, second = database.table(table).aggregate(counts, "run_id").order("1").fetchall()
            assert (first[1], first[3]) == (0, 0), "rows that were there stay as they are"
            assert second[1] == second[2] == second[3] > 0, f"the new night has {table}.{twin}"
        offsets = database.sql("SELECT offset_wal, offset_bytes FROM holders WHERE level = 'group'").fetchall()
        assert offsets
        assert all((wal is None) == (offset is None) for wal, offset in offsets)
        runs = database.sql("SELECT run_id, previous_run_id FROM latest_runs ORDER BY nights_ago").fetchall()
        assert runs == [("night-1", "night-0"), ("night-0", None)]
        history = database.sql("SELECT run_id, state FROM peer_history WHERE peer_id = '2' ORDER BY run_id").fetchall()
        assert history == [("night-0", "DISABLED"), ("night-1", "DISABLED")], "the first from pinned_bytes"
        assert database.sql("SELECT count(*) FROM deletions_by_day").fetchall() == [(0,)]
