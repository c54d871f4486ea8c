"""Whole nights of the DAG in a real Airflow; a stand-in for `spark-submit.sh` answers as each night's script says."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from jobs.cli.monitoring.alerts import alerts_of
from tests.labs.airflow.nights import DAG, Airflow, Night, World, date, night_id, world

pytestmark = pytest.mark.long

LOST = {"error": {"kind": "UnavailableError", "message": "nn1 does not answer", "condition": "UNAVAILABLE"}}
REFUSED_JOB = {
    "job": "reconcile",
    "exit_code": 3,
    "clusters": [{"cluster": "prod-b", "status": "REFUSED", "reason": "the master moved"}],
}
FINDING = {"code": "QUEUE_STALLED", "key": "2-rs1", "message": "It stands still.", "remedy": "Enable peer 2."}
NEW = {"severity": "error", "is_new": True, "acknowledged": False, **FINDING}
PAUSED = {
    "job": "clean",
    "exit_code": 0,
    "done_files": 7,
    "paused": {"text": "Clean-up is paused: QUEUE_TABLE_REWOUND"},
}
EMPTY_CLEAN = {"job": "clean", "exit_code": 0, "status": "REHEARSAL", "done_files": 0}
DECIDED = {"job": "reconcile", "exit_code": 5, "clusters": [{"cluster": "prod-a", "findings": [NEW]}]}
FULL_CLEAN = {**EMPTY_CLEAN, "done_files": 7, "list_sha256": "digest-prod-a"}


def answer(code: int, **result: object) -> Mapping[str, object]:
    """Returns an answer of `night`, with the alerts that it would tell."""
    alerts = [asdict(alert) for alert in alerts_of("night", code, {"cluster": "prod-a", **result})]
    return {"code": code, "result": {**result, "alerts": alerts}}


GOOD, REFUSED, FLAKY, DEAD, EMPTY, NEW_ERROR, PAUSING, SILENT, FOREIGN, REHEARSED = range(1, 11)
SCRIPTS: Mapping[int, Mapping[str, object]] = {
    REFUSED: {"decide prod-b": [answer(3, jobs=[REFUSED_JOB])]},
    FLAKY: {"finish prod-a": [{"code": 4, "result": LOST}, {}]},
    DEAD: {"decide prod-a": [{"code": 137, "silent": True}], "decide prod-b": [{"code": 4, "result": LOST}]},
    EMPTY: {"decide": [{"result": {"jobs": [EMPTY_CLEAN]}}]},
    NEW_ERROR: {"decide prod-a": [answer(5, jobs=[DECIDED, FULL_CLEAN])]},
    PAUSING: {"decide prod-a": [answer(3, why="a finding pauses the clean-up", jobs=[PAUSED])]},
    SILENT: {
        "decide prod-a": [{"code": 5, "silent": True}],
        "decide prod-b": [{"silent": True}, {}],
        "finish prod-b": [{"silent": True}],
    },
    FOREIGN: {"decide prod-b": [{"result": {"cluster": "prod-a"}}]},
}


@dataclass(frozen=True)
class Seen:
    world: World
    nights: Mapping[int, Night]
    again: Night
    log: str


@pytest.fixture(scope="module")
def seen(migrated: Airflow, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Every scripted night, one after another in one Airflow, and the good one a second time."""
    folder = tmp_path_factory.mktemp("nights")
    made = world(folder / "world", SCRIPTS, automatic=True)
    days = [GOOD, *SCRIPTS]
    airflow = migrated.copy(folder / "airflow")
    params = {"rehearse_only": True, "clusters": ["prod-b"], "accept": ["listed_share=we know"]}
    nights, log = airflow.run(made.config, *map(date, [*days, GOOD]), f"{date(REHEARSED)}={json.dumps(params)}")
    return Seen(made, dict(zip([*days, 0, REHEARSED], nights, strict=True)), nights[-2], log)


def test_a_good_night_does_both_parts_of_every_cluster(seen: Seen) -> None:
    night = seen.nights[GOOD]
    assert night.state == "success"
    assert night.states("night.approval") == ["skipped", "skipped"]
    assert night.states("night.no_new_error") == night.states("night.finish") == ["success", "success"]
    assert night.labels("night.finish") == night.labels("night.decide") == ["prod-a", "prod-b"]
    made = seen.world.calls(GOOD)[:4]
    assert sorted(made) == [
        "decide prod-a",
        "decide prod-b",
        "finish prod-a digest-prod-a",
        "finish prod-b digest-prod-b",
    ]
    assert night.links("night.decide") == [
        f"https://ops.example/walsafe/{name}/{night_id(GOOD)}.html" for name in ("prod-a", "prod-b")
    ]
    assert {("walsafe/deletions", "prod-b", night_id(GOOD)), ("walsafe/wal_verdicts", "prod-a", night_id(GOOD))} <= set(
        map(tuple, night.assets)
    )


def test_the_date_that_runs_again_calls_both_parts_with_the_same_run_id(seen: Seen) -> None:
    assert seen.again.state == "success"
    assert len(seen.world.calls(GOOD)) == 8


def test_a_refused_cluster_ends_with_the_reason_and_the_other_goes_on(seen: Seen) -> None:
    night = seen.nights[REFUSED]
    assert (night.state, night.states("night.decide")) == ("failed", ["success", "failed"])
    assert night.tries("night.decide") == [1, 1]
    assert night.states("night.finish") == ["success", "upstream_failed"]
    assert "exit code 3: reconcile: the master moved" in seen.log


def test_a_new_error_finding_is_red_and_stops_no_clean_up(seen: Seen) -> None:
    night = seen.nights[NEW_ERROR]
    assert night.states("night.no_new_error") == ["failed", "success"]
    assert night.states("night.decide") == night.states("night.finish") == ["success", "success"]
    assert "finish prod-a digest-prod-a" in seen.world.calls(NEW_ERROR)
    assert night.state == "failed"
    assert "QUEUE_STALLED 2-rs1: It stands still. Enable peer 2." in seen.log


def test_a_finding_that_pauses_the_clean_up_stops_its_cluster_before_anybody_is_asked(seen: Seen) -> None:
    night = seen.nights[PAUSING]
    assert night.states("night.decide") == ["failed", "success"]
    for task in ("night.approval", "night.finish"):
        assert night.states(task)[0] == "upstream_failed", task
    assert not any(call.startswith("finish prod-a") for call in seen.world.calls(PAUSING))
    assert "exit code 3: Clean-up is paused: QUEUE_TABLE_REWOUND" in seen.log


def test_what_is_unavailable_is_tried_again(seen: Seen) -> None:
    night = seen.nights[FLAKY]
    assert night.state == "success"
    assert night.tries("night.finish") == [2, 1]
    assert seen.world.calls(FLAKY).count("finish prod-a digest-prod-a") == 2


def test_a_job_that_dies_is_not_tried_again_and_one_that_never_answers_only_so_often(seen: Seen) -> None:
    night = seen.nights[DEAD]
    assert night.states("night.decide") == ["failed", "failed"]
    assert night.tries("night.decide") == [1, 2]
    assert sorted(seen.world.calls(DEAD)) == ["decide prod-a", "decide prod-b", "decide prod-b"]


def test_a_night_whose_result_is_missing_is_not_green(seen: Seen) -> None:
    night = seen.nights[SILENT]
    assert (night.states("night.decide"), night.tries("night.decide")) == (["failed", "success"], [2, 2])
    assert (night.states("night.finish"), night.state) == (["upstream_failed", "failed"], "failed")
    assert "it ended with exit code 5 and left no result" in seen.log


def test_the_file_of_another_cluster_fails_before_anybody_is_asked(seen: Seen) -> None:
    night = seen.nights[FOREIGN]
    assert (night.states("night.decide"), night.tries("night.decide")) == (["success", "failed"], [1, 1])
    assert night.states("night.approval") == ["skipped", "upstream_failed"]
    assert not any(call.startswith("finish prod-b") for call in seen.world.calls(FOREIGN))
    assert "/etc/walsafe/prod-b.yaml is of cluster prod-a, not prod-b" in seen.log


def test_nothing_to_move_needs_no_approval_and_is_still_purged(seen: Seen) -> None:
    night = seen.nights[EMPTY]
    assert (night.state, night.states("night.approval")) == ("success", ["skipped", "skipped"])
    assert sorted(seen.world.calls(EMPTY))[2:] == ["finish prod-a", "finish prod-b"]


def test_a_run_that_only_rehearses_changes_nothing_and_takes_its_params(seen: Seen) -> None:
    night = seen.nights[REHEARSED]
    assert (night.state, night.states("night.finish")) == ("success", ["skipped"])
    assert seen.world.calls(REHEARSED) == ["decide prod-b"]
    assert "--accept" in seen.world.lines()[-1]["argv"]


def test_one_run_at_a_time_and_a_wrong_configuration_is_an_import_error(migrated: Airflow, tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path[:0] = [{str(DAG.parent)!r}]; import walsafe_nightly as w; d = w.DAG; "
        "print(d.max_active_runs, 'backfill' in d.allowed_run_types, d.dagrun_timeout, "
        "{t.pool for t in d.tasks if t.task_id == 'night.finish'}, "
        "[type(n).__name__ for n in d.get_task('night.finish').on_failure_callback])"
    )
    notifier = {
        "name": "airflow.providers.smtp.notifications.smtp.SmtpNotifier",
        "arguments": {"to": "ops@example.com"},
    }
    made = world(tmp_path / "world", {}, automatic=True, pool="walsafe", notifiers=[notifier])
    command = [str(migrated.python), "-c", code]
    good = subprocess.run(command, env=migrated.environment(made.config), capture_output=True, text=True, check=True)
    assert good.stdout.splitlines()[-1] == "1 False 1 day, 6:00:00 {'walsafe'} ['SmtpNotifier']"
    made.config.write_text(json.dumps({**json.loads(made.config.read_text()), "aproval": "manual"}))
    bad = subprocess.run(command, env=migrated.environment(made.config), capture_output=True, text=True, check=False)
    assert bad.returncode != 0
    assert f"{made.config}: key 'aproval' is unknown" in bad.stderr
