"""What only a whole Airflow shows, in a single one: slots, the pool, a person's answers, and how a late run ends."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.dags import walsafe_nightly_job as job
from tests.labs.airflow.nights import Airflow, World, date, night_id, world
from tests.labs.airflow.whole import WholeAirflow, wait_for, whole_airflow

pytestmark = pytest.mark.deep

NIGHT = 1
SLEEPS = {"sleeps": 3600}
ONE = {"prod-a": "/etc/walsafe/prod-a.yaml"}


@dataclass(frozen=True)
class Whole:
    """The Airflow and, by the id of its DAG, each world."""

    airflow: WholeAirflow
    worlds: Mapping[str, World]


@pytest.fixture(scope="module")
def whole(migrated: Airflow, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    folder = tmp_path_factory.mktemp("whole")
    worlds = {
        "asked": world(
            folder / "asked",
            {NIGHT: {"decide": [SLEEPS, {}]}},
            automatic=False,
            approvers=["admin"],
            pool="walsafe",
            retries=9,
        ),
        "late": world(folder / "late", {NIGHT: {"decide": [SLEEPS]}}, automatic=True, clusters=ONE),
        "held": world(folder / "held", {NIGHT: {"finish": [SLEEPS]}}, automatic=True, clusters=ONE, deferrable=False),
    }
    configs = {name: made.config for name, made in worlds.items()}
    try:
        with whole_airflow(migrated.copy(folder / "airflow"), configs) as airflow:
            yield Whole(airflow, worlds)
    finally:  # no job outlives a test that failed
        for one in folder.glob("*/results/*/*/*"):
            job.ask_to_stop(one)


def test_a_job_holds_a_place_of_the_pool_but_no_slot_and_a_person_decides_on_each_list(whole: Whole) -> None:
    airflow, made = whole.airflow, whole.worlds["asked"]
    airflow.begin("asked", date(NIGHT))

    def decides() -> list[Any]:
        return sorted(map(str, airflow.states("asked", "night.decide")))

    wait_for(lambda: decides() == ["deferred", "scheduled"] and made.lines(), "one gave its slot back, and one waits")
    sleeper = made.job(NIGHT, made.calls(NIGHT)[0].split()[1], "decide")
    airflow.end("triggerer")
    before = int(job.pulse(sleeper) or "0")
    airflow.start("triggerer")
    wait_for(lambda: int(job.pulse(sleeper) or "0") > before + 5, "the job goes on")
    wait_for(lambda: decides() == ["deferred", "scheduled"], "both still wait")
    assert len(made.calls(NIGHT)) == 1

    airflow.clear("asked", "night.decide")
    wait_for(lambda: airflow.states("asked", "night.approval") == ["awaiting_input"] * 2, "both lists are decided")
    assert [one["argv"] for one in made.lines() if one["key"] == "signal"] == [["SIGTERM"]]
    # Airflow starts a task again whose trigger fires before its executor has reported: a part may be called twice
    assert set(made.calls(NIGHT)[1:]) == {"decide prod-a", "decide prod-b"}

    asked: list[Any] = sorted(airflow.approvals("asked"), key=lambda one: one["subject"])
    assert [one["subject"] for one in asked] == [
        f"Clean up oldWALs of {name}, night {night_id(NIGHT)}?" for name in ("prod-a", "prod-b")
    ]
    assert "Would move 7 files of prod-a" in asked[0]["body"]
    assert [one["id"] for one in asked[0]["assigned_users"]] == ["admin"]
    choices = {asked[0]["subject"]: job.APPROVE, asked[1]["subject"]: job.REJECT}

    def a_person_answers() -> None:
        """Airflow asks again if it starts the task of an approval again, for the same reason."""
        for one in airflow.approvals("asked"):
            if not one["response_received"]:
                airflow.answer(one, choices[one["subject"]])

    airflow.must_succeed("asked", meanwhile=a_person_answers)
    finished = {call for call in made.calls(NIGHT) if call.startswith("finish")}
    assert finished == {"finish prod-a digest-prod-a", "finish prod-b"}


@pytest.mark.parametrize(
    ("dag", "part", "state", "signal"),
    [("late", "decide", "deferred", "SIGTERM"), ("held", "finish", "running", "SIGINT")],
)
def test_a_run_that_is_too_late_fails_and_its_job_ends(
    whole: Whole, dag: str, part: str, state: str, signal: str
) -> None:
    """`held` is not deferrable: its first part succeeds without a trigger, and its second keeps its worker slot."""
    airflow, made = whole.airflow, whole.worlds[dag]
    folder = made.job(NIGHT, "prod-a", part)
    airflow.begin(dag, date(NIGHT))
    wait_for(lambda: int(job.pulse(folder) or "0") > 5, "the job runs")
    wait_for(lambda: airflow.states(dag, f"night.{part}") == [state], f"its task is {state}")
    child = made.lines()[-1]["pid"]
    assert Path(f"/proc/{child}").exists()
    airflow.make_old(dag)
    wait_for(lambda: airflow.run_state(dag) == "failed", "the run fails")
    assert wait_for(lambda: job.ended(folder), "the job ends") == {"exit_code": 130, "why": job.STOPPED}
    assert made.lines()[-1]["argv"] == [signal]
    assert not Path(f"/proc/{child}").exists()
