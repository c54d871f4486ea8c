"""What reconcile finds: each thing by its own evidence, and alone."""

import json

import pytest

from pipelines.common.job_result import JobResult
from tests.labs.fleet_nights import CLUSTERS, NIGHTS, findings
from tests.labs.small_cluster import D1, H1, NOW, Desk, clusters_of, group, timestamp, wal

pytestmark = pytest.mark.slow("four nights of a fleet are decided once, and every test reads them")


def codes(outcome: JobResult, cluster: str) -> set[str]:
    return {one["code"] for one in findings(outcome, cluster).values()}


@pytest.mark.promise("quiet-where-all-is-well")
def test_a_healthy_cluster_has_no_finding_on_any_night(nights: list[JobResult]) -> None:
    assert [findings(outcome, "healthy") for outcome in nights] == [{}] * NIGHTS
    assert [clusters_of(outcome)["healthy"]["exit_code"] for outcome in nights] == [0] * NIGHTS


@pytest.mark.promise("report-says-holders-and-remedies")
@pytest.mark.parametrize(
    ("cluster", "code", "severity", "first", "words"),
    [
        ("orphan", "ORPHAN_QUEUE", "warning", 0, f"Queue 9-{H1} belongs to peer 9, which does not exist"),
        ("dead-owner", "ORPHAN_QUEUE", "warning", 0, "d2.example.org,16020,5, which is fully dead"),
        ("duplicate", "DUPLICATE_QUEUE", "warning", 0, f"Peer 1 has 2 queues for the WALs of {D1}"),
        ("poison", "POISON_FILE", "error", 0, "1 file in oldWALs, such as oldWALs/wal.1234567890123"),
        ("acknowledged", "POISON_FILE", "error", 0, "1 file in oldWALs/known, such as"),
        ("leaked", "LEAKED_REP_WAL", "info", 0, "1 WAL of hbase:replication itself: no peer"),
        ("leftover", "LEFTOVER_WAL_DIRECTORY", "warning", 0, f"WALs/{D1} (or {D1}-splitting) stands"),
        ("rewound", "QUEUE_TABLE_REWOUND", "error", 1, f"Peer 1 stood at {wal(H1, 4)}:0, and is back at {wal(H1, 1)}"),
        ("cleaner", "CLEANER_NOT_RUNNING", "error", 0, "should have deleted 1 file"),
        ("stalled", "QUEUE_STALLED", "warning", 3, f"Peer 1 has not moved from {wal(H1, 4)}:3 for 3 nights"),
        ("growth", "GROWTH", "warning", 3, "Bytes held for peer 2 rose by 3.0 GiB in 3 nights"),
        ("missing", "MISSING_WAL", "error", 0, f"Queue 1-{H1} is to read {group(H1)}.{timestamp(3) + 1} at 0"),
        ("beyond", "BEYOND_EOF", "error", 0, f"stands at 9 in {wal(H1, 4)}, which has only 8 bytes"),
        ("moved", "CLUSTER_MOVED", "info", 0, "server h2.example.org,16020,1789000000000 left"),
    ],
)
def test_each_finding_comes_of_its_own_evidence_and_alone(
    nights: list[JobResult], cluster: str, code: str, severity: str, first: int, words: str
) -> None:
    found = [codes(outcome, cluster) for outcome in nights]
    assert found[:first] == [set()] * first
    assert found[first] == {code}
    (finding,) = findings(nights[first], cluster).values()
    assert finding["severity"] == severity
    assert words in finding["message"]
    assert finding["remedy"]
    assert finding["is_new"]
    assert finding["nights"] == 1


def test_a_finding_keeps_its_key_and_first_night(nights: list[JobResult], desk: Desk) -> None:
    assert nights
    rows = desk.rows("findings", "cluster = 'poison' AND run_id = 'night-2'")
    assert [(one["key"], one["nights"], one["is_new"]) for one in rows] == [("POISON_FILE:oldWALs", 3, False)]
    assert int(rows[0]["first_seen"].timestamp() * 1000) == NOW
    assert json.loads(rows[0]["evidence"]) == {"example": "oldWALs/wal.1234567890123"}


@pytest.mark.promise("exit-5")
def test_only_a_new_error_that_nobody_acknowledged_is_exit_code_5(nights: list[JobResult]) -> None:
    codes_by_night = [
        {cluster: one["exit_code"] for cluster, one in clusters_of(outcome).items()} for outcome in nights
    ]
    refused = {"mutant-rule": 3, "mutant-cleaner": 3}
    errors = ("poison", "cleaner", "missing", "beyond")
    quiet = dict.fromkeys(CLUSTERS, 0) | refused
    assert codes_by_night[0] == quiet | dict.fromkeys(errors, 5)
    assert codes_by_night[1] == quiet | {"rewound": 5}
    assert codes_by_night[2] == quiet
    assert codes_by_night[3] == quiet
    (known,) = findings(nights[0], "acknowledged").values()
    assert (known["severity"], known["acknowledged"]) == ("error", True)
