"""The job `night` on a cluster of ten real files: every job of it in one application."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.cli import entry
from jobs.cli.context import JobContext
from jobs.demo.cluster.on_disk import ROOT
from tests.labs.cleanup.on_disk import CLUSTER, Lab
from tests.labs.measured_jobs import parsed
from tests.labs.small_cluster import H1, wal
from tests.labs.webhook import webhook

RUN = "20261121T020000Z"
JOBS = ["capture", "reconcile", "clean", "clean", "purge", "maintain"]


@pytest.mark.slow("six jobs of a night, and a second night of the same name that finds everything done")
def test_a_night_and_its_second_start(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = Lab(spark, tmp_path)
    places = {"lake": lab.lake, "lists": f"file:{tmp_path}/lists", "snapshots": f"file:{tmp_path}/snapshots"}
    text = json.loads(lab.config.read_text())
    metrics = tmp_path / "metrics"
    night = {"approval": "automatic", "tries": 1}
    lab.config.write_text(json.dumps({**text, **places, "night": night, "metrics": str(metrics)}))
    before = lab.home()
    words = ["night", "--config", str(lab.config), "--run-id", RUN, "--output", "json"]

    assert entry.main(words, context=JobContext("night", lab.clock, spark)) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [one["job"] for one in answer["jobs"]] == JOBS
    moved = before - lab.home()
    assert len(moved) == 4
    assert lab.resting() == dict.fromkeys(moved, RUN)
    assert (tmp_path / "snapshots" / CLUSTER / RUN / "snapshot.json").is_file()
    assert answer["jobs"][-2]["runs"][0]["status"] == "WAITING"

    names = [f"{name}{good}" for name in (*JOBS, "clean-rehearsal", "night") for good in ("", "-good")]
    assert {file.name for file in metrics.iterdir()} == {f"walsafe.{CLUSTER}.{name}.prom" for name in names}
    measured = parsed("".join(file.read_text() for file in metrics.iterdir()))
    assert measured["quarantine_files", CLUSTER] == measured["cleanup_files", CLUSTER, "done", "no", "clean"] == 4
    assert measured["quarantine_bytes", CLUSTER] == measured["cleanup_bytes", CLUSTER, "done", "no", "clean"] > 0
    assert measured["quarantine_oldest_timestamp_seconds", CLUSTER] == lab.clock.now_ms() // 1000
    assert measured["snapshot_files", CLUSTER] == answer["jobs"][0]["files"]
    assert {key[-1] for key in measured if key[0] == "job_exit_code" and measured[key] == 0} == {*JOBS, "night"}

    rows = len(lab.rows("deletions"))
    assert entry.main(words, context=JobContext("night", lab.clock, spark)) == 0
    again = json.loads(capsys.readouterr().out)["jobs"]
    assert [(one["job"], one["exit_code"]) for one in again] == [(job, 2 * (job == "capture")) for job in JOBS]
    assert again[0]["error"]["condition"] == "SNAPSHOT_EXISTS"
    assert again[3]["done_files"] == 0
    again_measured = parsed((metrics / f"walsafe.{CLUSTER}.capture.prom").read_text())
    assert again_measured["job_error", CLUSTER, "SNAPSHOT_EXISTS", "no", "capture"] == 1
    assert (before - lab.home(), len(lab.rows("deletions"))) == (moved, rows)


@pytest.mark.long
def test_a_night_with_a_new_error_exits_5_and_tells_the_webhook_once(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = Lab(spark, tmp_path)
    places = {"lake": lab.lake, "lists": f"file:{tmp_path}/lists", "snapshots": f"file:{tmp_path}/snapshots"}
    (lab.live / ROOT / "oldWALs" / wal(H1, 2)).unlink()
    with webhook(500) as (url, got):  # an answer that changes nothing
        text = json.loads(lab.config.read_text())
        notify = {"webhook": url, "form": "alertmanager"}
        lab.config.write_text(json.dumps({**text, **places, "night": {"tries": 1}, "notify": notify}))
        words = ["night", "--config", str(lab.config), "--run-id", RUN, "--output", "json"]
        assert entry.main(words, context=JobContext("night", lab.clock, spark)) == 5
    told = json.loads(capsys.readouterr().out)
    assert {alert["name"] for alert in told["alerts"]} >= {"NEW_ERROR"}
    assert len(got) == 1
    assert [one["labels"]["code"] for one in got[0]["body"] if one["labels"]["alertname"] == "walsafe_new_error"] == [
        "MISSING_WAL"
    ]
