"""Decisions on a real HBase 3, compared with its own ReplicationLogCleaner file by file."""

import json
from typing import Any

import pytest

from pipelines.common.job_result import JobResult
from tests.labs.cluster_life import HEALTHY, STAGES, Story

pytestmark = pytest.mark.realhbase


OTHER_CLEANERS = {"TOO_YOUNG", "FUTURE_TIMESTAMP", "INVALID_NAME", "BACKUP", "FOREIGN_CLEANER"}
"""Reasons for which other parts of HBase's chain, or nobody, would answer; ReplicationLogCleaner does not look."""
SAFER = {"CLUSTER_MOVED", "LEFTOVER_WAL_DIR"}
"""Reasons for which walsafe holds on purpose what HBase's cleaner would delete."""


def findings(outcome: JobResult, stage: str) -> list[dict[str, Any]]:
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
def test_a_healthy_stage_raises_no_alarm(outcome: JobResult, name: str) -> None:
    """The WALs of `hbase:replication` are told until the opt-in."""
    assert [one["message"] for one in findings(outcome, name) if one["code"] != "LEAKED_REP_WAL"] == []


@pytest.mark.promise("checked-against-hbase")
@pytest.mark.parametrize("name", STAGES)
def test_every_listed_file_is_one_that_hbase_would_delete(story: Story, outcome: JobResult, name: str) -> None:
    assert outcome.exit_code == 0
    stage = story.stages[name]
    (folder,) = (story.work / "lists" / name).iterdir()
    manifest = json.loads((folder / "manifest.json").read_text())
    lines = [line for part in manifest["parts"] for line in (folder / part["name"]).read_text().splitlines()]
    paths = [line.removeprefix(f"{stage.taken.wal_root}/") for line in lines]
    assert paths, "something is deletable at every stage"
    assert {stage.oracle[path] for path in paths} <= {"DELETE"}
    assert manifest["files"] == len(paths)


@pytest.mark.promise("real-cleaner-judges-real-clusters")
def test_once_all_is_shipped_whatever_hbase_deletes_is_deletable(
    story: Story, verdicts: dict[str, dict[str, dict[str, Any]]]
) -> None:
    oracle, ours = story.stages["quiet"].oracle, verdicts["quiet"]
    deleted = {path for path, verdict in oracle.items() if verdict == "DELETE"}
    assert len(deleted) > len(oracle) / 2
    assert {path for path, row in ours.items() if row["verdict"] == "DELETABLE"} == deleted
    assert {row["reason"] for path, row in ours.items() if path not in deleted} <= {"REPLICATION_TABLE_WAL"}
