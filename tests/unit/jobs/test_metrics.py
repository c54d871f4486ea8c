"""The metrics of every job, read back by Prometheus' own parser."""

import re
from argparse import Namespace
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from jobs.cli import command_line, entry
from jobs.cli.command_line import Invocation
from jobs.cli.config.configuration import parse_config
from jobs.cli.context import JobContext
from jobs.cli.monitoring.metric_names import METRICS, PREFIX
from jobs.cli.monitoring.publish_metrics import publish_metrics
from jobs.cli.registry import JOBS
from pipelines.common.errors import UnavailableError, UsageError
from pipelines.common.job_result import JobResult
from pipelines.lake.forecast import Forecast
from pipelines.reconcile.request import PublishedPage
from pipelines.reconcile.text import cluster_object, reconcile_result
from tests.labs.measured_jobs import (
    CAPTURED,
    DONE,
    FAILED,
    FINDING,
    NIGHT,
    REFUSED,
    STARTED,
    TALLY,
    Ended,
    metrics_of,
    parsed,
    published,
)

NIGHTLY = metrics_of("reconcile", NIGHT[1][1])


@pytest.mark.promise("metrics-of-every-job")
def test_every_run_of_every_job_has_its_time_duration_and_exit_code() -> None:
    measured = {name for name, entry in JOBS.items() if entry.measured}
    assert set(JOBS) - measured == {"demo", "explain", "views", "split-demo"}
    for job in measured - {"reconcile"}:
        found = metrics_of(job, JobResult(4, FAILED, ""), "prod-a")
        assert found["job_end_timestamp_seconds", "prod-a", "no", job] == 1_795_000_100
        assert found["job_duration_seconds", "prod-a", "no", job] == 60
        assert found["job_exit_code", "prod-a", "no", job] == 4
        assert found["job_error", "prod-a", "UNAVAILABLE", "no", job] == 1
        assert ("job_last_good_timestamp_seconds", "prod-a", "no", job) not in found


def test_sizes_sum_over_hbase_verdicts_and_labels_survive_quoting() -> None:
    assert NIGHTLY["wal_files", "prod-a", "PENDING", "HELD"] == 3
    assert NIGHTLY["wal_bytes", "prod-a", "PENDING", "HELD"] == 2**50 + 50
    assert NIGHTLY["wal_bytes", "prod-a", "REPLICATED", "DELETABLE"] == 300
    assert NIGHTLY["list_bytes", "prod-a"] == 300
    assert NIGHTLY["peer_pinned_bytes", "prod-a", 'p"2\\', "no"] == 50
    assert NIGHTLY["peer_pinned_bytes", "prod-a", 'p"2\\', "yes"] == 70
    assert NIGHTLY["peer_oldest_wal_age_seconds", "prod-a", 'p"2\\'] == 90.5


def test_the_forecast_as_far_as_it_is_known() -> None:
    assert NIGHTLY["capacity_bytes", "prod-a"] == 2**51
    assert NIGHTLY["daily_growth_bytes", "prod-a"] == 10
    assert NIGHTLY["capacity_full_timestamp_seconds", "prod-a"] == 1_795_216_000.5
    names = {"capacity_bytes", "daily_growth_bytes", "capacity_full_timestamp_seconds"}

    def known(forecast: Forecast | None) -> dict[str, float]:
        pages = {"prod-a": PublishedPage("/page.html", forecast)}
        found = metrics_of("reconcile", JobResult(0, reconcile_result([DONE], pages), ""))
        return {key[0]: value for key, value in found.items() if key[0] in names}

    assert known(None) == {}
    assert known(Forecast(1, 5, None, refusal="too few")) == {}
    assert known(Forecast(3, 5, 9, -2, refusal="it shrinks")) == {"capacity_bytes": 9, "daily_growth_bytes": -2}
    far = known(Forecast(3, 5, 9, 2, 1e9, 10**17))
    assert far["capacity_full_timestamp_seconds"] == 1_795_000_000.5 + 1e9 * 86_400, "in a year that no date has"
    full = known(Forecast(3, 9, 9, 2, 0.0, 1_795_000_000_500))
    assert full["capacity_full_timestamp_seconds"] == 1_795_000_000.5, "it is full already"


def test_age_outcome_and_findings_by_their_code() -> None:
    assert NIGHTLY["run_timestamp_seconds", "prod-a"] == 1_795_000_100
    assert NIGHTLY["capture_timestamp_seconds", "prod-a"] == 1_795_000_000.5
    assert NIGHTLY["run_outcome", "prod-a", "NIGHTLY", "DONE"] == 1
    assert NIGHTLY["run_exit_code", "prod-a"] == NIGHTLY["job_exit_code", "prod-a", "no", "reconcile"] == 5
    assert NIGHTLY["job_last_good_timestamp_seconds", "prod-a", "no", "reconcile"] == 1_795_000_100
    assert {key: value for key, value in NIGHTLY.items() if key[0] == "findings"} == {
        ("findings", "no", "prod-a", "CLEANER_NOT_RUNNING", "error", "reconcile"): 1,
        ("findings", "yes", "prod-a", "CLEANER_NOT_RUNNING", "error", "reconcile"): 1,
        ("findings", "no", "prod-a", "GROWTH", "info", "reconcile"): 1,
    }


def test_a_refused_cluster_of_a_fleet_has_an_outcome_and_no_sizes() -> None:
    found = metrics_of("reconcile", JobResult(5, reconcile_result([DONE, REFUSED], {}), ""))
    assert found["run_outcome", "prod-b", "NIGHTLY", "REFUSED"] == 1
    assert found["list_bytes", "prod-b"] == 0
    assert found["job_exit_code", "prod-b", "no", "reconcile"] == 3
    assert not [key for key in found if key[0] in {"wal_bytes", "peer_pinned_bytes"} and key[1] == "prod-b"]
    good = [key[1] for key in found if key[0] == "job_last_good_timestamp_seconds"]
    assert good == ["prod-a"]


def test_a_purge_that_was_refused_for_a_run_is_not_good() -> None:
    found = metrics_of("purge", JobResult(5, {**dict(NIGHT[3][1].result), **FAILED}, ""))
    assert found["cleanup_bytes", "prod-a", "waiting", "no", "purge"] == 90
    assert found["cleanup_files", "prod-a", "done", "no", "purge"] == 7
    assert not [key for key in found if key[0] == "job_last_good_timestamp_seconds"]


def test_a_night_that_left_something_behind_is_not_good() -> None:
    expired = {"error": {"message": "of yesterday", "condition": "LIST_EXPIRED"}}

    def good(*jobs: tuple[str, int], **cleaned: object) -> bool:
        told = [{"job": job, "exit_code": code, **(cleaned if job == "clean" else {})} for job, code in jobs]
        result = {"cluster": "prod-a", "jobs": told}
        found = metrics_of("night", JobResult(5, result, ""))
        return any(key[0] == "job_last_good_timestamp_seconds" for key in found)

    assert good(("capture", 0), ("reconcile", 5), ("clean", 0), ("purge", 0), ("maintain", 0))
    assert not good(("capture", 0), ("reconcile", 0), ("clean", 0), ("purge", 5), ("maintain", 0))
    finished = (("clean", 3), ("purge", 0), ("maintain", 0))
    assert good(*finished, executed=False, **expired), "the rehearsal of a night that was started again"
    assert not good(*finished, executed=True, **expired)


def test_maintain_measures_the_quarantine_of_its_cluster_or_of_all() -> None:
    maintained = NIGHT[4][1]
    assert metrics_of("maintain", maintained, "prod-b")["quarantine_bytes", "prod-b"] == 0
    found = metrics_of("maintain", maintained)
    assert (found["quarantine_files", "prod-a"], found["quarantine_files", "prod-b"]) == (7, 0)
    assert found["quarantine_oldest_timestamp_seconds", "prod-a"] == 1_794_967_200
    assert ("quarantine_oldest_timestamp_seconds", "prod-b") not in found
    unknown = JobResult(4, {**dict(maintained.result), "quarantine": None}, "")
    assert not [key for key in metrics_of("maintain", unknown, "prod-a") if key[0].startswith("quarantine")]


def test_half_a_night_is_not_a_good_night(tmp_path: Path) -> None:
    (job, outcome), good = NIGHT[-1], tmp_path / "walsafe.prod-a.night-good.prom"
    published(tmp_path, job, outcome, part="decide")
    assert (tmp_path / "walsafe.prod-a.night.prom").exists()
    assert not good.exists()
    published(tmp_path, job, outcome, part="finish")
    assert good.exists()


@pytest.mark.promise("metrics-by-rename")
def test_a_night_leaves_a_file_for_each_job_and_no_sample_twice(tmp_path: Path) -> None:
    for _ in range(2):
        before = {file: file.stat().st_ino for file in tmp_path.iterdir()}
        for job, outcome in NIGHT:
            published(tmp_path, job, outcome)
    for job, outcome in NIGHT[2:5]:
        published(tmp_path, job, outcome, execute=False)
    names = [*(job for job, _ in NIGHT), *(f"{job}-rehearsal" for job, _ in NIGHT[2:5])]
    assert all(inode != file.stat().st_ino for file, inode in before.items()), "by rename"
    files = {f"walsafe.prod-a.{name}{good}.prom" for name in names for good in ("", "-good")}
    assert {file.name for file in tmp_path.iterdir()} == files
    found = parsed("".join(file.read_text() for file in tmp_path.iterdir()))
    assert found["cleanup_files", "prod-a", "done", "yes", "clean"] == 7
    assert found["job_last_good_timestamp_seconds", "prod-a", "no", "night"] == 1_795_000_100


def test_a_failure_takes_the_sizes_away_and_leaves_when_it_was_good(tmp_path: Path) -> None:
    published(tmp_path, "clean", NIGHT[2][1])
    published(tmp_path, "clean", JobResult(4, FAILED, ""))
    found = parsed("".join(file.read_text() for file in tmp_path.iterdir()))
    assert {key[0] for key in found} == {
        *("build_info", "job_end_timestamp_seconds", "job_duration_seconds", "job_exit_code", "job_error"),
        "job_last_good_timestamp_seconds",
    }


@pytest.mark.parametrize("failed", [JobResult(4, FAILED, ""), JobResult(3, reconcile_result([REFUSED], {}), "")])
def test_the_age_of_the_decided_snapshot_outlives_a_reconcile_that_fails(tmp_path: Path, failed: JobResult) -> None:
    good = replace(DONE, cluster="prod-b")
    published(tmp_path, "reconcile", JobResult(5, reconcile_result([good], {}), ""), cluster="prod-b")
    published(tmp_path, "reconcile", failed, cluster="prod-b")
    found = parsed("".join(file.read_text() for file in tmp_path.iterdir()))
    assert found["job_exit_code", "prod-b", "no", "reconcile"] == failed.exit_code
    assert found["capture_timestamp_seconds", "prod-b"] == 1_795_000_000.5


def test_a_replay_of_an_old_night_leaves_the_numbers_of_the_newest(tmp_path: Path) -> None:
    fleet = [DONE, replace(DONE, cluster="prod-b", mode="REPLAY", list_uri=None, is_newest=False)]
    context = JobContext("reconcile", Ended())
    for outcome in (JobResult(5, reconcile_result(fleet, {}), ""), JobResult(4, FAILED, "")):
        if outcome.exit_code == 4:
            context.failed_clusters = [cluster_object(one) for one in fleet]
        publish_metrics(str(tmp_path), "reconcile", Namespace(), outcome, STARTED, context)
        assert {file.name.split(".")[1] for file in tmp_path.iterdir()} == {"prod-a"}
    captured = JobResult(0, {**CAPTURED, "cluster": "prod-b"}, "")
    publish_metrics(str(tmp_path), "capture", Namespace(), captured, STARTED, context)
    assert (tmp_path / "walsafe.prod-b.capture.prom").exists(), "the next job of a night tells of itself"


@pytest.mark.promise("metrics-never-fail-a-job")
def test_a_folder_that_cannot_be_written_is_told_and_fails_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    published(tmp_path / "file", "clean", NIGHT[2][1])
    assert "the metrics were not written: --metrics" in caplog.text


@pytest.mark.parametrize(("job", "options"), [("explain", {}), ("night", {"plan": True})])
def test_a_question_has_no_metrics(tmp_path: Path, job: str, options: dict[str, object]) -> None:
    published(tmp_path, job, JobResult(0, {"cluster": "prod-a"}, ""), **options)
    assert list(tmp_path.iterdir()) == []


class Unavailable:
    """A job that finds nobody."""

    DESCRIPTION = ""
    NEEDS_SPARK = False

    def add_arguments(self, _parser: object) -> None:
        """It has no options."""

    def run(self, _args: Namespace, context: JobContext) -> JobResult:
        if context.job == "reconcile":
            context.failed_clusters = [cluster_object(replace(DONE, status="FAILED", exit_code=4))]
        raise UnavailableError("no answer")


@pytest.mark.parametrize("job", ["capture", "reconcile"])
def test_a_job_that_fails_is_measured_under_the_cluster_of_its_file(tmp_path: Path, job: str) -> None:
    config = tmp_path / "a.yaml"
    config.write_text("cluster: prod-a\nno_such_key: 1\n")
    args = Namespace(
        config=str(config), metrics=str(tmp_path), output="text", result=None, log_level="info", log_format="text"
    )
    assert entry.run(Invocation(job, Unavailable(), args, ()), JobContext(job, Ended())) == 4
    found = parsed((tmp_path / f"walsafe.prod-a.{job}.prom").read_text())
    assert found["job_error", "prod-a", "UNAVAILABLE", "no", job] == 1
    assert (("run_outcome", "prod-a", "NIGHTLY", "FAILED") in found) == (job == "reconcile")
    assert not [key for key in found if key[0] == "wal_bytes"]


def test_a_cluster_that_no_one_knows_has_no_metrics(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    published(tmp_path, "audit-queues", JobResult(4, FAILED, ""), cluster=None)
    assert "audit-queues has no metrics: its cluster is not known" in caplog.text
    published(tmp_path, "capture", JobResult(0, {**CAPTURED, "cluster": "../x"}, ""))
    assert list(tmp_path.iterdir()) == []


def test_the_place_is_a_folder_or_a_url(capsys: pytest.CaptureFixture[str]) -> None:
    for place in ("/var/lib/node_exporter", "http://gw:9091", "$WALSAFE_PUSHGATEWAY"):
        assert parse_config(f"metrics: {place}", "a.yaml").metrics == place
    for place, words in (
        ("/var/walsafe.prom", "expected a folder"),
        ("https://u:p@gw", "environment variable"),
        ("HTTP://u:p@gw", "environment variable"),
    ):
        with pytest.raises(UsageError, match=rf"a\.yaml, line 1: .*{words}"):
            parse_config(f"metrics: {place}", "a.yaml")
        with pytest.raises(SystemExit):
            command_line.parse(["audit-queues", "--snapshot", "x", "--metrics", place])
        assert words in capsys.readouterr().err


def test_the_key_stands_for_the_option_in_every_job_that_takes_a_configuration(tmp_path: Path) -> None:
    config = tmp_path / "a.yaml"
    config.write_text("cluster: prod-a\nlake: /lake\nmetrics: /folder\n")
    args = command_line.parse(["audit-queues", "--snapshot", "x", "--config", str(config)]).args
    assert (args.metrics, args.lake) == ("/folder", None)


def test_names_follow_the_conventions_of_prometheus() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert re.fullmatch(r"[a-z][a-z_]*[a-z]", metric.name), PREFIX
        for word, unit in (("bytes", "bytes"), ("age", "seconds"), ("duration", "seconds"), ("timestamp", "seconds")):
            assert word not in metric.name.split("_") or metric.name.endswith(f"_{unit}"), metric.name
        assert not metric.name.endswith(("_total", "_count")), "a run's own number is a gauge"
        assert "job" not in metric.labels, "Prometheus sets it"
        assert metric.text.endswith(".")


def test_the_tally_is_the_one_of_clean() -> None:
    found = metrics_of("clean", NIGHT[2][1])
    assert found["cleanup_bytes", "prod-a", "left", "no", "clean"] == TALLY["left_bytes"]
    assert found["cleanup_files", "prod-a", "gone", "no", "clean"] == TALLY["gone_files"]


def test_check_tables_has_an_exit_code_for_each_cluster() -> None:
    runs = [{"cluster": name, "run_id": "1"} for name in ("prod-a", "prod-b")]
    found = metrics_of("check-tables", JobResult(3, {"runs": runs, "failed": {"totals_agree": [runs[0]]}}, ""))
    codes = [found["job_exit_code", name, "no", "check-tables"] for name in ("prod-a", "prod-b")]
    assert codes == [3, 0]
    good = [key[1] for key in found if key[0] == "job_last_good_timestamp_seconds"]
    assert good == ["prod-b"]


def test_findings_of_a_split_job_are_metrics() -> None:
    lost = asdict(replace(FINDING, code="SPLIT_L1"))
    found = metrics_of("split-verify", JobResult(3, {"cluster": "onebox", "findings": [lost]}, ""))
    assert found["findings", "no", "onebox", "SPLIT_L1", "error", "split-verify"] == 1
