"""What reconcile writes into the tables: verdicts, held bytes and offsets, as computed by hand."""

import warnings
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from pipelines.common.instants import DAY_MS
from pipelines.common.job_result import JobResult
from pipelines.lake.reader import LakeReader
from pipelines.lake.views import views_script
from pipelines.reconcile.explain.explain import ExplainRequest, explain
from pipelines.reconcile.explain.runs import since_of
from schemas.registry import CLEANUP_TABLES, DECISION_TABLES
from schemas.table import Table
from schemas.verdict_changes import VERDICT_CHANGES
from tests.labs.documented_commands import blocks
from tests.labs.fleet_nights import NIGHTS
from tests.labs.places import DOCS
from tests.labs.small_cluster import D1, H1, H2, NOW, At, Desk, group, timestamp, wal

pytestmark = pytest.mark.slow("four nights of a fleet are decided once, and every test reads them")


@pytest.mark.promise("reconcile-reads-the-snapshot-only", "need-of-any-row-holds", "disabled-peer-holds")
def test_every_file_has_the_verdict_that_was_computed_by_hand(nights: list[JobResult], desk: Desk) -> None:
    assert nights[0].exit_code == 5, "other clusters of the fleet have errors"
    verdicts = desk.rows("wal_verdicts", "cluster = 'healthy' AND run_id = 'night-0'")
    found = {one["length"]: (one["verdict"], one["reason"], one["hbase_verdict"]) for one in verdicts}
    free, held = ("DELETABLE", "REPLICATED", "DELETE"), ("HELD", "PENDING", "KEEP")
    assert found == {
        1: free, 2: held, 4: held, 8: held, 16: free, 32: held, 64: free, 128: held, 256: held,
        512: ("DELETABLE", "META_WAL", "DELETE"),
    }  # fmt: skip
    (fourth,) = [one for one in verdicts if one["length"] == 8]
    assert fourth["blocking"] == [
        {"peer_id": "1", "owner": str(H1), "source": str(H1), "wal": wal(H1, 4), "offset": 0},
        {"peer_id": "2", "owner": str(H1), "source": str(H1), "wal": wal(H1, 2), "offset": 0},
    ]
    assert (fourth["server"], fourth["wal_group"], fourth["wal_timestamp"]) == (str(H1), group(H1), timestamp(4))
    (claimed,) = [one for one in verdicts if one["length"] == 128]
    assert claimed["blocking"] == [
        {"peer_id": "1", "owner": str(H1), "source": str(D1), "wal": wal(D1, 2), "offset": 7}
    ]


@pytest.mark.promise("every-file-is-explained")
def test_only_files_below_old_wals_have_a_verdict_and_each_has_one(nights: list[JobResult], desk: Desk) -> None:
    assert len(nights) == NIGHTS
    files = Counter((one["cluster"], one["run_id"], one["path"]) for one in desk.rows("wal_verdicts"))
    assert all(path.startswith("oldWALs/") for _, _, path in files)
    assert set(files.values()) == {1}
    assert sum(cluster == "healthy" for cluster, _, _ in files) == 10 * NIGHTS


@pytest.mark.parametrize("table", DECISION_TABLES, ids=lambda table: table.name)
def test_every_table_says_whose_rows_they_are_and_what_its_columns_mean(
    nights: list[JobResult], desk: Desk, table: Table
) -> None:
    assert nights
    columns = DeltaTable(desk.lake / table.name).schema().fields
    assert [one.name for one in columns[:3]] == ["cluster", "run_id", "run_date"]
    assert all(one.metadata.get("comment") for one in columns)
    rows = desk.rows(table.name)
    assert None not in {one[name] for one in rows for name in ("cluster", "run_id", "run_date")}
    dates = {(one["run_id"], str(one["run_date"])) for one in rows}
    first = 1 if table is VERDICT_CHANGES else 0
    assert dates == {(f"night-{night}", f"2026-09-{21 + night}") for night in range(first, NIGHTS)}


def test_every_peer_has_its_state_and_since_when(nights: list[JobResult], desk: Desk) -> None:
    assert nights
    rows = desk.rows("peers", "cluster = 'healthy'")
    found = {(one["run_id"], one["peer_id"]): (one["state"], one["nights"], one["previous_state"]) for one in rows}
    assert found == {
        (f"night-{night}", peer): (state, night + 1, state if night else None)
        for night in range(NIGHTS)
        for peer, state in (("1", "ENABLED"), ("2", "DISABLED"))
    }
    assert {int(one["state_since"].timestamp() * 1000) for one in rows} == {NOW}
    assert desk.rows("peers", "cluster = 'mutant-rule'") == [], "a refused cluster is not believed"


def test_the_changes_of_a_night_were_computed_by_hand(nights: list[JobResult], desk: Desk) -> None:
    assert nights
    rows = desk.rows("verdict_changes", "run_id = 'night-1' AND cluster IN ('healthy', 'rewound', 'mutant-rule')")
    found = {
        (one["cluster"], one["from_reason"], one["to_verdict"], one["to_reason"]): (one["files"], one["bytes"])
        for one in rows
    }
    meta = {(None, "DELETABLE", "META_WAL"): (1, 512), ("META_WAL", None, None): (1, 512)}
    assert found == {
        **{("healthy", *change): size for change, size in meta.items()},
        **{("rewound", *change): size for change, size in meta.items()},
        ("rewound", "REPLICATED", "HELD", "PENDING"): (1, 1),
    }
    assert {one["previous_run_id"] for one in rows} == {"night-0"}
    assert desk.rows("verdict_changes", "run_id = 'night-0'") == []


def test_the_changes_lead_from_the_totals_of_one_night_to_those_of_the_next(
    nights: list[JobResult], desk: Desk
) -> None:
    assert len(nights) == NIGHTS
    files: Counter[tuple[str, ...]] = Counter()
    for one in desk.rows("verdict_totals", "cluster NOT LIKE 'mutant%'"):
        files[one["cluster"], one["run_id"], one["verdict"], one["reason"]] += one["files"]
    changed = Counter(files)
    for one in desk.rows("verdict_changes"):
        where = one["cluster"], one["run_id"]
        changed[(*where, one["to_verdict"], one["to_reason"])] -= one["files"]
        changed[(*where, one["from_verdict"], one["from_reason"])] += one["files"]
    for (cluster, run_id, verdict, reason), count in files.items():
        if run_id != "night-0":
            before = f"night-{int(run_id[-1]) - 1}"
            assert changed[cluster, run_id, verdict, reason] == files[cluster, before, verdict, reason], (
                cluster,
                count,
            )


@pytest.mark.promise("explain-since")
def test_explain_adds_up_what_the_nights_changed(nights: list[JobResult], desk: Desk) -> None:
    assert len(nights) == NIGHTS
    request, clock = ExplainRequest("rewound", since=since_of("2026-09-21")), At(NOW + NIGHTS * DAY_MS)
    found = explain(request, LakeReader.of(desk.spark, f"file:{desk.lake}"), clock).result["changes"]
    changes = {(one["was"], one["became"]): (one["files"], one["bytes"]) for one in found[0]["verdicts"]}
    assert changes == {
        (None, "DELETABLE META_WAL"): (NIGHTS - 1, (NIGHTS - 1) * 512),
        ("DELETABLE META_WAL", None): (NIGHTS - 1, (NIGHTS - 1) * 512),
        ("DELETABLE REPLICATED", "HELD PENDING"): (1, 1),
    }


def test_a_file_that_only_its_ttl_holds_says_when_it_becomes_deletable(nights: list[JobResult], desk: Desk) -> None:
    assert nights
    rows = desk.rows("wal_verdicts", "cluster = 'nothing' AND run_id = 'night-0'")
    assert {one["reason"] for one in rows} == {"TOO_YOUNG"}
    found = {one["length"]: one["eligible_at"] for one in rows}
    assert {length for length, at in found.items() if at} == {1, 16, 64, 512}, "those that no peer needs"
    (first,) = [one for one in rows if one["length"] == 1]
    assert first["eligible_at"] == first["modification_time"] + timedelta(days=365, milliseconds=1)
    assert (first["host"], first["server"]) == ("h1.example.org", str(H1))
    assert not any(one["eligible_at"] for one in desk.rows("wal_verdicts", "cluster = 'healthy'"))


def test_the_rows_of_a_run_are_in_order_although_they_share_an_instant(nights: list[JobResult], desk: Desk) -> None:
    assert nights
    rows = desk.rows("runs", "cluster = 'healthy' AND run_id = 'night-0'")
    assert len({one["at"] for one in rows}) == 1
    assert [one["status"] for one in sorted(rows, key=lambda one: (one["at"], one["seq"]))] == ["STARTED", "DONE"]


def test_the_tables_of_the_clean_up_are_there_before_a_clean_up(nights: list[JobResult], desk: Desk) -> None:
    assert nights
    for table in CLEANUP_TABLES:
        assert desk.rows(table.name) == []


@pytest.mark.promise("report-says-holders-and-remedies")
def test_pinned_bytes_are_exclusive_joint_and_freed_as_computed_by_hand(nights: list[JobResult], desk: Desk) -> None:
    assert nights
    rows = desk.rows("pinned_bytes", "cluster = 'healthy' AND run_id = 'night-0'")

    def numbers(level: str) -> dict[tuple[str, ...], tuple[int, int, int]]:
        keys = {"peer": ("peer_id",), "queue": ("peer_id", "owner", "source"), "group": ("peer_id", "source")}[level]
        return {
            tuple(one[key] for key in keys): (one["exclusive_bytes"], one["joint_bytes"], one["freed_bytes"])
            for one in rows
            if one["level"] == level
        }

    # without peer 1 the dead server's files have no queue at all, and go; the fourth of h1 is wanted by 2 as well
    assert numbers("peer") == {("1",): (128 + 256, 8, 128 + 256), ("2",): (2 + 4 + 32, 8, 2 + 4 + 32)}
    assert numbers("queue") == {
        ("1", str(H1), str(H1)): (0, 8, 0),
        ("1", str(H1), str(D1)): (128 + 256, 0, 128 + 256),
        ("2", str(H1), str(H1)): (2 + 4, 8, 2 + 4),
        ("2", str(H2), str(H2)): (32, 0, 32),
    }
    assert numbers("group") == {
        ("1", str(H1)): (0, 8, 0),
        ("1", str(D1)): (384, 0, 384),
        ("2", str(H1)): (6, 8, 6),
        ("2", str(H2)): (32, 0, 32),
    }
    (two,) = [one for one in rows if one["level"] == "peer" and one["peer_id"] == "2"]
    assert (two["peer_state"], two["exclusive_files"], two["joint_files"]) == ("DISABLED", 3, 1)
    assert two["oldest_age_ms"] == NOW - timestamp(2)
    # also a single queue of it says what the whole peer would lose
    costs = "enable_peer '2' to ship; or, if its cluster is gone, remove_peer '2', which gives up everything not yet "
    costs += "shipped to it: 46 B of WALs below oldWALs, and what is still below WALs/"
    assert {one["remedy"] for one in rows if one["peer_id"] == "2"} == {two["remedy"]} == {costs}


def test_queue_offsets_tell_what_is_pending_behind_them(nights: list[JobResult], desk: Desk) -> None:
    assert nights
    rows = desk.rows("queue_offsets", "cluster = 'healthy' AND run_id = 'night-0'")
    found = {
        (one["peer_id"], one["owner"], one["source"]): (
            one["wal"], one["offset"], one["pending_files"], one["pending_bytes"], one["live_pending_files"],
        )
        for one in rows
    }  # fmt: skip
    assert found == {
        ("1", str(H1), str(H1)): (wal(H1, 4), 0, 1, 8, 1),
        ("1", str(H1), str(D1)): (wal(D1, 2), 7, 2, 384, 0),
        ("1", str(H2), str(H2)): (wal(H2, 2), -1, 0, 0, 1),
        ("2", str(H1), str(H1)): (wal(H1, 2), 0, 3, 14, 1),
        ("2", str(H2), str(H2)): (wal(H2, 1), -1, 1, 32, 1),
    }
    ages = {(one["peer_id"], one["source"]): one["oldest_pending_age_ms"] for one in rows}
    assert ages["2", str(H1)] == NOW - timestamp(2)
    assert ages["1", str(H2)] is None


@pytest.mark.promise("queries-run-without-spark", "deltalake-reads-by-partition", "pyspark-opens-the-lake")
def test_the_queries_of_the_page_run(
    nights: list[JobResult],
    desk: Desk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On this lake and its first night in the place of the example's."""
    assert nights
    with_duckdb, with_deltalake, with_pyspark = (
        block.replace("/walsafe/lake", str(desk.lake)).replace("2026-11-21", "2026-09-21").replace("11, 21", "9, 21")
        for block in blocks(DOCS / "queries.md", "python")[:3]
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "views.sql").write_text(views_script(str(desk.lake), "duckdb", only_views=True))
    exec(with_duckdb, {})  # noqa: S102 - our own page
    assert "PENDING" in capsys.readouterr().out
    *imports, query = with_deltalake.strip().splitlines()
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing that deltalake will drop
        exec("\n".join([*imports, f"found = {query}"]), names)  # noqa: S102
    first_night = desk.rows("findings", "run_date = DATE'2026-09-21'")
    assert len(first_night) == len(names["found"]) > 0
    exec(with_pyspark, {"spark": desk.spark})  # noqa: S102
    assert f"|      2|{str(H1)[:17]}...|" in capsys.readouterr().out
