"""Runs nights of the DAG with `dag.test()`; started in Airflow's own environment, never imported by the suite.

    run_nights.py DAG_FILE OUT [--answer Approve|Reject] LOGICAL_DATE…

Writes to OUT a list of `{"state": …, "tasks": [{"task", "map_index", "label", "state", "try_number"}]}`, one for each
date, in order.
"""

import argparse
import importlib.util
import json
import sys
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any


def load(file: Path) -> Any:
    sys.path.insert(0, str(file.parent))
    specification = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(specification)
    sys.modules[file.stem] = module
    specification.loader.exec_module(module)
    return module.DAG


def answer_approvals(choice: str, asked: list[dict[str, str]]) -> None:
    """The person: answers through Airflow's own REST application, as the page Required Actions does."""
    from airflow.api_fastapi.app import create_app
    from fastapi.testclient import TestClient

    with TestClient(create_app(apps="all")) as client:
        token = client.get("/auth/token").json()["access_token"]
        client.headers["Authorization"] = f"Bearer {token}"
        while True:
            pending = client.get("/api/v2/dags/~/dagRuns/~/hitlDetails?response_received=false").json()
            for one in pending.get("hitl_details", []):
                ti = one["task_instance"]
                if ti["state"] != "awaiting_input":
                    continue
                asked.append({"subject": one["subject"], "body": one["body"], "run": ti["dag_run_id"]})
                where = f"/api/v2/dags/{ti['dag_id']}/dagRuns/{ti['dag_run_id']}/taskInstances/{ti['task_id']}"
                done = client.patch(f"{where}/{ti['map_index']}/hitlDetails", json={"chosen_options": [choice]})
                done.raise_for_status()
            time.sleep(0.3)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dag", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("dates", nargs="+")
    parser.add_argument("--answer")
    arguments = parser.parse_args()
    dag = load(arguments.dag)
    asked: list[dict[str, str]] = []
    if arguments.answer:
        threading.Thread(target=answer_approvals, args=(arguments.answer, asked), daemon=True).start()
    nights = []
    for date in arguments.dates:
        run = dag.test(logical_date=datetime.fromisoformat(date))
        tasks = [
            {
                "task": ti.task_id,
                "map_index": ti.map_index,
                "label": ti.rendered_map_index,
                "state": str(ti.state),
                "tries": ti.try_number,
            }
            for ti in run.get_task_instances()
        ]
        nights.append({"date": date, "state": str(run.state), "tasks": tasks})
    arguments.out.write_text(json.dumps({"nights": nights, "asked": asked}))


if __name__ == "__main__":
    main()
