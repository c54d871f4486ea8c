"""A job holds no worker slot, outlives a triggerer, and ends when a person clears its task: in a whole Airflow."""

import json
from pathlib import Path
from typing import Any

import pytest

from jobs.dags import walsafe_nightly_process as process
from tests.e2e.airflow.test_nightly_dag import GOOD, date, night_id, world
from tests.labs.airflow.nights import Airflow
from tests.labs.airflow.whole import wait_for, whole_airflow

pytestmark = pytest.mark.long


@pytest.mark.slow("starts all processes of Airflow, and the triggerer twice")
def test_a_job_outlives_the_triggerer_and_ends_with_its_task(migrated: Airflow, tmp_path: Path) -> None:
    made = world(tmp_path / "world", automatic=True, clusters={"prod-a": "/etc/walsafe/prod-a.yaml"})
    sleeps = {night_id(GOOD): {"decide": [{"sleeps": 3600}, {}]}}
    (made.folder / "script.json").write_text(json.dumps(sleeps))
    job = made.folder / "results" / night_id(GOOD) / "prod-a" / "decide"
    with whole_airflow(migrated.copy(tmp_path / "airflow"), made.config) as airflow:
        begin = {"dag_run_id": "one", "logical_date": date(GOOD), "conf": {}}
        wait_for(lambda: airflow.ask("POST", "/dags/walsafe_nightly/dagRuns", begin), "the DAG is there")
        where = "/dags/walsafe_nightly/dagRuns/one/taskInstances"

        def states(task: str) -> list[Any]:
            tis = (airflow.ask("GET", f"{where}?limit=50") or {"task_instances": []})["task_instances"]
            return [one["state"] for one in tis if one["task_id"] == task]

        wait_for(lambda: states("night.decide") == ["deferred"] and process.pulse(job) > "0", "it gave its slot back")
        airflow.end("triggerer")
        before = process.pulse(job)
        airflow.start("triggerer")
        wait_for(lambda: int(process.pulse(job)) > int(before) + 5, "the job goes on")
        wait_for(lambda: states("night.decide") == ["deferred"], "the task still waits")
        clear = {"dry_run": False, "task_ids": ["night.decide"], "dag_run_id": "one", "only_failed": False}
        cleared = {**clear, "include_downstream": True}
        wait_for(lambda: airflow.ask("POST", "/dags/walsafe_nightly/clearTaskInstances", cleared), "it is cleared")
        wait_for(lambda: states("night.finish") == ["success"], "the night is done by the second job")
    calls = [json.loads(line) for line in (made.folder / "calls.jsonl").read_text().splitlines()]
    assert [one["argv"][0] for one in calls] == ["night", "SIGTERM", "night", "night"]
