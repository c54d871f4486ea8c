"""The metrics file, read back by Prometheus' own parser."""

from dataclasses import replace

from prometheus_client.parser import text_string_to_metric_families

from pipelines.lake.run_summary import FindingRow, PinnedRow, RunSummary, VerdictTotal
from pipelines.reconcile.metrics import metrics_text

FINDING = FindingRow("K", "K", "error", "s", None, None, 'a "quoted" message', "{}", "do", 1, 2)
DONE = RunSummary(
    cluster="prod-a",
    run_id="night-1",
    status="DONE",
    mode="NIGHTLY",
    exit_code=5,
    reason=None,
    files_started_ms=1_795_000_000_500,
    totals=(
        VerdictTotal("DELETABLE", "REPLICATED", "DELETE", 3, 300),
        VerdictTotal("HELD", "PENDING", "KEEP", 2, 2**50),
        VerdictTotal("HELD", "PENDING", "THROWS", 1, 50),
    ),
    pinned=(
        PinnedRow("peer", 'p"2\\', "DISABLED", None, None, None, 1, 50, 2, 70, 1, 50, oldest_age_ms=90_500),
        PinnedRow("queue", 'p"2\\', "DISABLED", "h,1,2", "h,1,2", None, 1, 50, 2, 70, 1, 50),
    ),
    findings=(FINDING, replace(FINDING, acknowledged=True), replace(FINDING, severity="info")),
    list_uri="file:/lists/prod-a/night-1",
)
REFUSED = replace(DONE, cluster="prod-b", status="REFUSED", exit_code=3, list_uri=None, reason="order")

ORDER = ("cluster", "verdict", "reason", "peer", "shared", "status", "mode", "severity", "acknowledged")


def samples(*summaries: RunSummary) -> dict[tuple[str, ...], float]:
    text = metrics_text(summaries, 1_795_000_100_000)
    return {
        (sample.name.removeprefix("walsafe_"), *(sample.labels[name] for name in ORDER if name in sample.labels)): (
            sample.value
        )
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_sizes_sum_over_hbase_verdicts_and_labels_survive_quoting() -> None:
    found = samples(DONE)
    assert found["wal_files", "prod-a", "HELD", "PENDING"] == 3
    assert found["wal_bytes", "prod-a", "HELD", "PENDING"] == 2**50 + 50
    assert found["wal_bytes", "prod-a", "DELETABLE", "REPLICATED"] == 300
    assert found["list_bytes", "prod-a"] == 300
    assert found["peer_pinned_bytes", "prod-a", 'p"2\\', "no"] == 50
    assert found["peer_pinned_bytes", "prod-a", 'p"2\\', "yes"] == 70
    assert found["peer_oldest_wal_age_seconds", "prod-a", 'p"2\\'] == 90.5


def test_age_outcome_and_findings() -> None:
    found = samples(DONE)
    assert found["run_timestamp_seconds", "prod-a"] == 1_795_000_100
    assert found["capture_timestamp_seconds", "prod-a"] == 1_795_000_000.5
    assert found["run_outcome", "prod-a", "DONE", "NIGHTLY"] == 1
    assert found["run_exit_code", "prod-a"] == 5
    assert found["findings", "prod-a", "error", "no"] == 1
    assert found["findings", "prod-a", "error", "yes"] == 1


def test_refused_cluster_has_an_outcome_and_no_sizes() -> None:
    found = samples(DONE, REFUSED)
    assert found["run_outcome", "prod-b", "REFUSED", "NIGHTLY"] == 1
    assert found["list_bytes", "prod-b"] == 0
    assert not [key for key in found if key[0] in {"wal_bytes", "peer_pinned_bytes"} and key[1] == "prod-b"]
