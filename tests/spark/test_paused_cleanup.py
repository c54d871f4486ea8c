"""A queue table that was set back pauses the clean-up, at the command line: nights, lists, explain, page."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from pipelines.common.instants import DAY_MS, MINUTE_MS, format_instant
from pipelines.common.job_result import JobResult
from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.run_summary import RunKey
from schemas.runs import RUNS
from tests.labs.cleanup.on_disk import CLUSTER, RUN, Lab, NightOver
from tests.labs.job_answer import job_answer
from tests.labs.small_cluster import H1, NOW, archived, clusters_of, group, row, wal, with_cells, with_snapshot

pytestmark = pytest.mark.long

KEY = f"QUEUE_TABLE_REWOUND:1/{H1}/{group(H1)}"
STEP_MS = 5 * MINUTE_MS
SINCE = "2026-09-21 14:18 UTC"
PAUSE = "Clean-up is paused: QUEUE_TABLE_REWOUND in run third, the newest of cluster prod."
SAYS = (
    f"QUEUE_TABLE_REWOUND since {SINCE}: Peer 1 stood at {wal(H1, 4)}:0, and is back at {wal(H1, 2)}:0.",
    "What to do: hbase:replication was restored or edited",
    f'findings.acknowledged: key "{KEY}", a reason, and until',
)


@pytest.fixture
def lab(night_over: NightOver) -> Lab:
    """A night is over: its list waits."""
    return night_over.lab(Lab)


def next_night(lab: Lab, run_id: str) -> tuple[JobResult, dict[str, Any]]:
    lab.clock.instant += STEP_MS
    outcome = lab.night(run_id)
    return outcome, clusters_of(outcome)[CLUSTER]


def set_back(lab: Lab, number: int, offset: int = 0) -> None:
    lab.changes(with_cells(lab.made, row(f"1-{H1}", group(H1), wal(H1, number), offset)))


def command(lab: Lab, job: str, *options: str) -> tuple[int, dict[str, Any]]:
    """Exit code and result of a job at the command line."""
    common = ["--lake", lab.lake, "--cluster", CLUSTER]
    common += [] if job == "explain" else ["--config", str(lab.config)]
    common += ["--lists", f"file:{lab.root}/lists"] if job == "clean" else []
    return job_answer(JobContext(job, lab.clock, lab.spark), lab.root, *common, *options)


def acknowledge(lab: Lab, until: int) -> None:
    entry = {"key": KEY, "reason": "tables were compared", "until": "UNTIL"}
    text = json.dumps({**configured(lab), "findings": {"acknowledged": [entry]}})
    lab.config.write_text(text.replace('"UNTIL"', f"{format_instant(until)[:19]}Z"))


def forget(lab: Lab) -> None:
    lab.config.write_text(json.dumps(configured(lab)))


def configured(lab: Lab) -> dict[str, Any]:
    """The configuration without acknowledged findings."""
    return {key: value for key, value in yaml.safe_load(lab.config.read_text()).items() if key != "findings"}


def before_any_files(text: str) -> str:
    return re.split(r"[\d,]+ (?:of [\d,]+ (?:listed )?)?files?\b|oldWALs/h", text, maxsplit=1)[0]


@pytest.mark.promise("finding-pauses-the-clean-up", "rewound-stays-open")
def test_a_queue_table_that_was_set_back_stops_the_clean_up_until_it_has_caught_up(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    begun, _ = command(lab, "clean", "--run-id", RUN, "--max-files", "2", "--execute")
    assert begun == 0
    home, resting = lab.home(), lab.resting()
    assert len(resting) == 2
    set_back(lab, 2)

    outcome, night = next_night(lab, "second")
    assert (outcome.exit_code, [one["key"] for one in night["findings"]]) == (5, [KEY])
    assert [one["key"] for one in night["paused"]["findings"]] == [KEY]
    assert [words for words in SAYS if words not in before_any_files(outcome.text)] == []
    page = Path(str(night["report_uri"]).removeprefix("file:")).read_text()
    assert "Clean-up is paused: QUEUE_TABLE_REWOUND" in re.split(r"may be deleted", page)[0]
    # the offset does not move any more: compared with the night before alone, all would seem well
    outcome, night = next_night(lab, "third")
    assert (outcome.exit_code, night["exit_code"]) == (0, 0)
    assert [(one["key"], one["nights"], one["is_new"]) for one in night["findings"]] == [(KEY, 1, False)], (
        "a date is one night"
    )

    for options in (
        ("clean", "--run-id", "third", "--execute"),
        ("clean", "--run-id", RUN, "--resume"),  # whatever run the list is of
        ("purge", "--execute", "--before-grace", "disk full"),
    ):
        code, result = command(lab, *options)
        assert code == 3, options
        assert [words for words in SAYS if words not in result["error"]["message"]] == []
        assert (lab.home(), lab.resting()) == (home, resting)

    capsys.readouterr()
    for options in (
        ("clean", "--run-id", "third"),
        ("purge", "--before-grace", "disk full"),
    ):
        code, result = command(lab, *options)
        text = capsys.readouterr().out
        assert code == 0, options
        assert text.startswith(f"{PAUSE}\n")
        assert [words for words in SAYS if words not in before_any_files(text)] == []
        assert text.count("Clean-up is paused") == 1
        assert f'"key": "{KEY}"' in json.dumps(result)
    for options in (
        ("explain", "--peer", "2"),
        ("explain", "--server", str(H1)),
        ("explain", archived(H1, 2, 2).path, archived(H1, 3, 4).path),
    ):
        code, result = command(lab, *options)
        *answer, empty, pause = capsys.readouterr().out.splitlines()
        assert (code, empty) == (0, ""), options
        assert pause.startswith(PAUSE), "the answer comes first"
        assert "Clean-up is paused" not in "\n".join(answer)
        assert f'"key": "{KEY}"' in json.dumps(result)

    back, _ = command(lab, "restore", "--run-id", RUN)
    assert (back, lab.resting()) == (0, {}), "putting back is always allowed"

    set_back(lab, 4)
    outcome, night = next_night(lab, "fourth")
    assert ({one["key"] for one in night["findings"]} & {KEY}, night["paused"]) == (set(), None)
    assert "paused" not in outcome.text
    code, result = command(lab, "clean", "--run-id", "fourth", "--execute")
    assert (code, result["paused"], result["done_files"]) == (0, None, 4)


@pytest.mark.promise("refused-run-pauses-the-clean-up", "only-a-person-goes-past-it")
def test_an_acknowledged_finding_and_a_run_that_was_refused(lab: Lab) -> None:
    whole = lab.made
    set_back(lab, 2)
    next_night(lab, "second")
    acknowledge(lab, lab.clock.instant - 1000)
    assert command(lab, "clean", "--run-id", "second", "--execute")[0] == 3
    acknowledge(lab, lab.clock.instant)
    code, result = command(lab, "clean", "--run-id", "second")
    assert (code, result["paused"], result["status"]) == (0, None, "REHEARSAL")
    # what reconcile has recorded counts without that configuration, until its last day is over
    acknowledge(lab, lab.clock.instant + 2 * STEP_MS)
    _, night = next_night(lab, "third")
    assert ([one["acknowledged"] for one in night["findings"]], night["paused"]) == ([True], None)
    forget(lab)
    assert command(lab, "clean", "--run-id", "third")[1]["paused"] is None
    lab.clock.instant += STEP_MS + 1
    assert command(lab, "clean", "--run-id", "third", "--execute")[0] == 3
    assert command(lab, "explain", "--peer", "2")[1]["peer"]["paused"]["run_id"] == "third"
    assert lab.resting() == {}

    assert whole.snapshot.flags is not None
    lab.changes(with_snapshot(whole, flags=replace(whole.snapshot.flags, migration_pending=True)))
    outcome, night = next_night(lab, "fourth")
    assert (outcome.exit_code, night["status"]) == (3, "REFUSED")
    acknowledge(lab, lab.clock.instant + DAY_MS)
    code, result = command(lab, "clean", "--run-id", "third", "--execute")
    assert code == 3
    assert "Clean-up is paused: the newest run of cluster prod, fourth, was REFUSED" in result["error"]["message"]
    assert lab.resting() == {}


def test_a_run_from_the_future_is_not_the_newest_for_ever(lab: Lab, spark: SparkSession) -> None:
    """A capture's clock was a year ahead, and reconcile refused it; the nights after that are newer."""
    ahead = RunKey.of(CLUSTER, "ahead", NOW + 365 * DAY_MS)
    tables = DeltaTables(spark, lab.lake)
    tables.ensure()
    refused = {"cluster": CLUSTER, "run_id": "ahead", "run_date": ahead.run_date, "status": "REFUSED"}
    tables.append_rows(RUNS, [refused | {"at": NOW + STEP_MS // 2, "files_started_at": NOW + 365 * DAY_MS}])
    assert command(lab, "clean", "--run-id", RUN)[1]["paused"]["run_id"] == "ahead"
    next_night(lab, "second")
    code, result = command(lab, "clean", "--run-id", "second")
    assert (code, result["paused"], result["done_files"]) == (0, None, 4)
