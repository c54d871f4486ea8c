"""The lists that reconcile writes, and the gate before them."""

import json
from pathlib import Path

import pytest

from pipelines.common.instants import HOUR_MS
from pipelines.common.job_result import JobResult
from schemas.registry import DECISION_TABLES
from schemas.runs import RUNS
from schemas.verdict_changes import VERDICT_CHANGES
from tests.labs.fleet_nights import CLUSTERS, CONFIG, NIGHTS
from tests.labs.small_cluster import D1, H1, H2, NOW, ROOT, Desk, archived, clusters_of, group, small

pytestmark = pytest.mark.slow("four nights of a fleet are decided once, and every test reads them")


def test_the_list_is_what_the_contract_says(nights: list[JobResult], desk: Desk) -> None:
    result = clusters_of(nights[0])["healthy"]
    expected = [archived(H1, 1, 1), archived(H2, 1, 16), archived(D1, 1, 64)]
    meta = f"{ROOT}/oldWALs/{group(H1)}.meta.{NOW - HOUR_MS}.meta"
    lines = desk.lines("healthy", "night-0")
    assert lines == sorted([*(f"{ROOT}/{file.path}" for file in expected), meta], key=str.encode)
    manifest = json.loads((desk.lists / "healthy" / "night-0" / "manifest.json").read_text())
    assert list(manifest) == [
        "format", "cluster", "cluster_id", "run_id", "snapshot_sha256", "decided_at", "not_after", "files", "bytes",
        "parts",
    ]  # fmt: skip
    assert (manifest["format"], manifest["cluster"], manifest["run_id"]) == (1, "healthy", "night-0")
    assert manifest["decided_at"] == "2026-09-21T14:13:35.000Z"
    assert manifest["not_after"] == "2026-09-22T14:13:20.000Z"
    assert (manifest["files"], manifest["bytes"]) == (4, 1 + 16 + 64 + 512)
    assert (result["deletable_files"], result["deletable_bytes"], result["held_bytes"]) == (4, 593, 430)
    assert set(desk.list_files("healthy")) == {
        f"night-{night}/{name}" for night in range(NIGHTS) for name in ("manifest.json", "part-00000.txt")
    }


def test_nothing_deletable_is_a_manifest_without_parts(nights: list[JobResult], desk: Desk) -> None:
    assert clusters_of(nights[0])["nothing"]["status"] == "DONE"
    manifest = json.loads((desk.lists / "nothing" / "night-0" / "manifest.json").read_text())
    assert (manifest["parts"], manifest["files"], manifest["bytes"]) == ([], 0, 0)
    assert [name for name in desk.list_files("nothing") if name.startswith("night-0/")] == ["night-0/manifest.json"]


@pytest.mark.promise("checked-against-hbase", "gate-refuses-on-one-failure", "mutants-make-the-gate-fire")
@pytest.mark.parametrize("cluster", ["mutant-rule", "mutant-cleaner"])
def test_a_mutant_of_either_rule_is_refused(nights: list[JobResult], desk: Desk, cluster: str) -> None:
    result = clusters_of(nights[0])[cluster]
    assert (result["status"], result["exit_code"], result["list_uri"]) == ("REFUSED", 3, None)
    assert "deletable_within_hbase_delete: expected that HBase's own ReplicationLogCleaner would" in result["reason"]
    assert desk.list_files(cluster) == {}
    failed = desk.rows("quality_results", f"cluster = '{cluster}' AND run_id = 'night-0' AND NOT success")
    assert "deletable_within_hbase_delete" in {one["expectation"] for one in failed}
    (proof,) = [one for one in failed if one["expectation"] == "deletable_within_hbase_delete"]
    assert proof["unexpected_count"] == len(proof["examples"]) > 0
    assert all(path.startswith("oldWALs/") for path in proof["examples"])
    verdicts = desk.rows("wal_verdicts", f"cluster = '{cluster}'")
    assert {(one["verdict"], one["reason"]) for one in verdicts} == {("HELD", "SNAPSHOT_UNTRUSTED")}


def test_a_gate_that_passes_says_so_for_every_expectation(nights: list[JobResult], desk: Desk) -> None:
    assert nights
    rows = desk.rows("quality_results", "cluster = 'healthy' AND run_id = 'night-0'")
    assert len(rows) == 12
    assert all(one["success"] and not one["accepted"] and one["unexpected_count"] == 0 for one in rows)


@pytest.mark.long
@pytest.mark.usefixtures("as_many")
def test_many_files_give_the_rows_and_lists_that_few_give(nights: list[JobResult], desk: Desk, tmp_path: Path) -> None:
    """Rows of few files stay in the driver; many are decided where they are and read back from the table."""
    names = ("healthy", "poison", "nothing")
    many = Desk(desk.spark, tmp_path)
    for name in names:
        many.snapshot(CLUSTERS[name](small(name), 0), f"night-0/{name}")
    outcome = many.reconcile(fleet=tmp_path / "snapshots" / "night-0", run_id="night-0", config=CONFIG)
    mine = f"run_id = 'night-0' AND cluster IN {names}"
    for table in DECISION_TABLES:
        if table not in (RUNS, VERDICT_CHANGES):  # runs differ by attempt, and a first night changes nothing
            rows = sorted(map(repr, many.rows(table.name, mine)))
            assert rows, table.name
            assert rows == sorted(map(repr, desk.rows(table.name, mine)))
    for name in names:
        written = many.list_files(name)
        assert written == {path: content for path, content in desk.list_files(name).items() if "night-0/" in path}
        assert clusters_of(outcome)[name]["findings"] == clusters_of(nights[0])[name]["findings"]
