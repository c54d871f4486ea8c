"""Whole nights of the DAG in a real Airflow; a stand-in for `spark-submit.sh` answers as each night's script says."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.labs.airflow.nights import DAG, HERE, Airflow, Night

pytestmark = pytest.mark.long

REFUSAL = {"cluster": "prod-b", "status": "REFUSED", "reason": "the active master moved", "list_uri": None}
PASSED = {"cluster": "prod-a", "status": "DONE", "reason": None, "list_uri": "/lists/prod-a"}
BEFORE = {"error": {"kind": "RefusedError", "message": "run x had its turn", "condition": "LIST_ALREADY_CLEANED"}}
EXISTS = {"error": {"kind": "UsageError", "message": "--out: there is one", "condition": "SNAPSHOT_EXISTS"}}
LOST = {"error": {"kind": "UnavailableError", "message": "nn1 does not answer", "condition": "UNAVAILABLE"}}
GONE_ON = {"status": "DONE", "executed": True, "done_files": 7, "done_bytes": 70}


def date(day: int) -> str:
    return f"2026-11-{day:02d}T02:00:00+00:00"


def night_id(day: int) -> str:
    return f"202611{day:02d}T020000Z"


PAUSED = {"text": "Clean-up is paused: QUEUE_TABLE_REWOUND in run x", "findings": [], "run_id": "x", "unknown": None}
GOOD, REFUSED, PARTIAL, FLAKY, BEGUN, DEAD, EMPTY, NEW_ERROR, PAUSING = range(1, 10)
SCRIPTS: Mapping[int, Mapping[str, object]] = {
    REFUSED: {"reconcile": [{"code": 3, "result": {"clusters": [{**REFUSAL, "cluster": "prod-a"}, REFUSAL]}}]},
    PARTIAL: {"reconcile": [{"code": 5, "result": {"clusters": [PASSED, REFUSAL]}}]},
    FLAKY: {"clean prod-a --execute": [{"code": 4, "result": LOST}, {"code": 4, "result": LOST}, {}]},
    BEGUN: {
        "capture prod-a": [{"code": 2, "result": EXISTS}],
        "clean prod-a --execute": [{"code": 4, "result": LOST}, {"code": 3, "result": BEFORE}],
        "clean prod-a --resume": [{"code": 0, "result": GONE_ON}],
        "clean prod-b --execute": [{"code": 3, "result": {"error": {"message": "peer 7 is new since the list"}}}],
    },
    DEAD: {"capture prod-a": [{"code": 137, "silent": True}], "capture prod-b": [{"code": 4, "result": LOST}]},
    EMPTY: {"clean": [{"result": {"status": "REHEARSAL", "executed": False, "done_files": 0, "done_bytes": 0}}]},
    PAUSING: {
        "clean prod-a": [{"result": {"status": "REHEARSAL", "executed": False, "done_files": 7, "paused": PAUSED}}],
    },
    NEW_ERROR: {"reconcile": [{"code": 5, "result": {"clusters": [PASSED, {**PASSED, "cluster": "prod-b"}]}}]},
}


@dataclass(frozen=True)
class World:
    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "nightly.yaml"

    def calls(self, day: int) -> list[str]:
        """Every call of a night: job, cluster where there is one, mode."""
        found = []
        for one in self._calls(day):
            argv = one["argv"]
            words = [argv[0], *([argv[argv.index("--cluster") + 1]] if "--cluster" in argv else [])]
            found.append(" ".join([*words, *(word for word in ("--execute", "--resume") if word in argv)]))
        return found

    def argv(self, day: int, job: str) -> list[list[str]]:
        return [one["argv"] for one in self._calls(day) if one["argv"][0] == job]

    def _calls(self, day: int) -> list[Any]:
        lines = (self.folder / "calls.jsonl").read_text().splitlines()
        return [one for one in map(json.loads, lines) if one["night"] == night_id(day)]


def world(folder: Path, **changes: object) -> World:
    folder.mkdir()
    shutil.copy(HERE / "stand_in.py", folder / "spark-submit.sh")
    (folder / "spark-submit.sh").chmod(0o755)
    (folder / "script.json").write_text(json.dumps({night_id(day): script for day, script in SCRIPTS.items()}))
    settings = {
        "walsafe": str(folder),
        "lake": "/w/lake",
        "lists": "/w/lists",
        "snapshots": "/w/snapshots",
        "results": str(folder / "results"),
        "fleet_config": "/etc/fleet.yaml",
        "clusters": {"prod-a": {"config": "a.yaml"}, "prod-b": {"config": "b.yaml", "max_files": 9}},
        "approval": "automatic",
        "retry_delay": "0s",
        **changes,
    }
    (folder / "nightly.yaml").write_text(json.dumps(settings))
    return World(folder)


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
    made = world(folder / "world")
    days = [GOOD, *SCRIPTS]
    airflow = migrated.copy(folder / "airflow")
    nights, log = airflow.run(made.config, *map(date, [*days, GOOD]))
    return Seen(made, dict(zip(days, nights[:-1], strict=True)), nights[-1], log)


def test_a_good_night_does_every_step_for_every_cluster(seen: Seen) -> None:
    night = seen.nights[GOOD]
    assert night.state == "success"
    assert {one["state"] for one in night.tasks} == {"success"}
    assert night.labels("night.clean") == night.labels("capture") == ["prod-a", "prod-b"]
    calls = seen.world.calls(GOOD)[: 1 + 1 + 1 + 6 + 1]
    assert sorted(calls[:2]) == ["capture", "capture"]
    assert calls[2] == "reconcile"
    assert calls[-1] == "maintain --execute"
    for name in ("prod-a", "prod-b"):
        mine = [call for call in calls if name in call]
        assert mine == [f"clean {name}", f"clean {name} --execute", f"purge {name} --execute"]


def test_what_a_night_makes_is_named_by_its_logical_date(seen: Seen) -> None:
    (reconcile, *_) = seen.world.argv(GOOD, "reconcile")
    assert f"/w/snapshots/prod-b/{night_id(GOOD)}" in reconcile
    assert reconcile[reconcile.index("--run-id") + 1] == night_id(GOOD)
    for argv in seen.world.argv(GOOD, "clean"):
        assert argv[argv.index("--run-id") + 1] == night_id(GOOD)
        assert ("--max-files" in argv) == ("prod-b" in argv)
    assert not any("--before-grace" in argv for argv in seen.world.argv(GOOD, "purge"))


def test_a_finished_night_that_runs_again_moves_nothing_and_fails_nothing(seen: Seen) -> None:
    assert seen.again.state == "success"
    assert seen.again.states("night.rehearse") == seen.again.states("night.clean") == ["skipped", "skipped"]
    assert seen.again.states("night.purge") == ["success", "success"]
    assert seen.world.calls(GOOD).count("clean prod-a --execute") == 1


def test_a_refused_night_stops_with_the_reason(seen: Seen) -> None:
    night = seen.nights[REFUSED]
    assert night.state == "failed"
    assert (night.states("reconcile"), night.tries("reconcile")) == (["failed"], [1])
    assert night.states("night.gate") == ["failed", "failed"]
    assert night.states("maintain") == ["upstream_failed"]
    assert seen.world.calls(REFUSED) == ["capture", "capture", "reconcile"]
    assert "reconcile refused every cluster; prod-a: refused: the active master moved; prod-b: " in seen.log


def test_a_partly_refused_night_goes_on_for_those_that_passed_and_marks_the_others(seen: Seen) -> None:
    night = seen.nights[PARTIAL]
    assert night.states("reconcile") == ["success"]
    assert night.states("night.gate") == ["success", "failed"]
    assert night.states("night.clean") == night.states("night.purge") == ["success", "upstream_failed"]
    assert night.states("maintain") == ["success"]
    assert (night.state, night.states("every_cluster_done")) == ("failed", ["upstream_failed"])
    assert not any("prod-b" in call for call in seen.world.calls(PARTIAL) if call != "capture")
    assert "prod-b takes no further part in this night: refused: the active master moved" in seen.log


def test_a_new_error_finding_stops_nobody(seen: Seen) -> None:
    assert {one["state"] for one in seen.nights[NEW_ERROR].tasks} == {"success"}


def test_a_finding_that_pauses_the_clean_up_stops_its_cluster_before_anybody_is_asked(seen: Seen) -> None:
    night = seen.nights[PAUSING]
    assert (night.states("night.rehearse"), night.tries("night.rehearse")) == (["failed", "success"], [1, 1])
    for task in ("night.approval", "night.clean", "night.purge"):
        assert night.states(task) == ["upstream_failed", "success"], task
    assert [call for call in seen.world.calls(PAUSING) if "prod-a" in call] == ["clean prod-a"]
    assert "clean prod-b --execute" in seen.world.calls(PAUSING)
    assert night.state == "failed"
    assert (
        "nothing of prod-a is cleaned or purged tonight. Clean-up is paused: QUEUE_TABLE_REWOUND in run x" in seen.log
    )


def test_what_is_unavailable_is_tried_again(seen: Seen) -> None:
    night = seen.nights[FLAKY]
    assert night.state == "success"
    assert night.tries("night.clean") == [3, 1]
    assert seen.world.calls(FLAKY).count("clean prod-a --execute") == 3


def test_an_attempt_that_was_begun_is_resumed_and_a_refusal_is_not_tried_again(seen: Seen) -> None:
    night = seen.nights[BEGUN]
    calls = seen.world.calls(BEGUN)
    assert night.states("capture") == ["success", "success"]
    assert calls.count("clean prod-a --resume") == 1
    assert night.states("night.clean") == ["success", "failed"]
    assert night.tries("night.clean") == [2, 1]
    assert "clean prod-b --resume" not in calls
    assert night.states("night.purge") == ["success", "upstream_failed"]
    assert "clean ended with exit code 3: peer 7 is new since the list" in seen.log


def test_a_job_that_dies_is_not_tried_again_and_one_that_never_answers_only_so_often(seen: Seen) -> None:
    night = seen.nights[DEAD]
    assert night.states("capture") == ["failed", "failed"]
    assert night.tries("capture") == [1, 4]
    assert seen.world.calls(DEAD) == ["capture"] * 5
    assert night.states("reconcile") == ["failed"]
    assert "nothing to decide: prod-a, prod-b not captured" in seen.log


def test_nothing_to_move_needs_no_approval(seen: Seen) -> None:
    night = seen.nights[EMPTY]
    assert night.state == "success"
    assert night.states("night.approval") == night.states("night.clean") == ["skipped", "skipped"]
    assert night.states("night.purge") == ["success", "success"]


@pytest.mark.parametrize("answer", ["Approve", "Reject"])
def test_a_person_reads_the_rehearsal_and_decides(migrated: Airflow, tmp_path: Path, answer: str) -> None:
    made = world(tmp_path / "world", approval="manual")
    airflow = migrated.copy(tmp_path / "airflow")
    with airflow.person(made.config, answer) as file:
        (night,), log = airflow.run(made.config, date(GOOD))
    # the clusters' approvals come in any order
    asked = sorted((json.loads(line) for line in file.read_text().splitlines()), key=lambda one: one["subject"])
    assert [one["subject"] for one in asked] == [
        f"Clean up oldWALs of {name}, night {night_id(GOOD)}?" for name in ("prod-a", "prod-b")
    ]
    assert "Would move 7 files of prod-a" in asked[0]["body"]
    assert night.state == "success"
    # one cluster does not wait for the other's approval
    moved = sorted(call for call in made.calls(GOOD) if call.startswith("clean") and call.endswith("--execute"))
    if answer == "Approve":
        assert moved == ["clean prod-a --execute", "clean prod-b --execute"]
        assert "approved by " in log
    else:
        assert moved == []
        assert night.states("night.clean") == ["skipped", "skipped"]
    assert night.states("night.purge") == ["success", "success"]


def test_one_run_at_a_time_and_a_wrong_configuration_is_an_import_error(migrated: Airflow, tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path[:0] = [{str(DAG.parent)!r}]; import walsafe_nightly as w; print(w.DAG.max_active_runs)"
    )
    made = world(tmp_path / "world")
    command = [str(migrated.python), "-c", code]
    good = subprocess.run(command, env=migrated.environment(made.config), capture_output=True, text=True, check=True)
    assert good.stdout.split()[-1] == "1"
    made.config.write_text(json.dumps({**json.loads(made.config.read_text()), "aproval": "manual"}))
    bad = subprocess.run(command, env=migrated.environment(made.config), capture_output=True, text=True, check=False)
    assert f"{made.config}: key 'aproval' is unknown" in bad.stderr
