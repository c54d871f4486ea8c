"""Plays the person: answers every approval through Airflow's own REST application, as the page Required Actions does.

It is started in Airflow's own environment beside run_nights.py, as a separate process, and runs until it is ended:

    answer_approvals.py Approve|Reject OUT

It appends `{"subject": …, "body": …, "assigned_users": …}` of each approval to OUT, as it was shown.
"""

import json
import sys
import time
from pathlib import Path

from airflow.api_fastapi.app import create_app
from fastapi.testclient import TestClient


def main(choice: str, out: Path) -> None:
    # SQLite may be locked by the night at that moment: an answer that is an error is asked for again
    with TestClient(create_app(apps="all"), raise_server_exceptions=False) as client:
        while True:
            token = client.get("/auth/token")
            if token.is_success:
                client.headers["Authorization"] = f"Bearer {token.json()['access_token']}"
                answer(client, choice, out)
            time.sleep(0.3)


def answer(client: TestClient, choice: str, out: Path) -> None:
    pending = client.get("/api/v2/dags/~/dagRuns/~/hitlDetails?response_received=false")
    for one in pending.json()["hitl_details"] if pending.is_success else ():
        ti = one["task_instance"]
        if ti["state"] != "awaiting_input":
            continue
        where = f"/api/v2/dags/{ti['dag_id']}/dagRuns/{ti['dag_run_id']}/taskInstances/{ti['task_id']}"
        done = client.patch(f"{where}/{ti['map_index']}/hitlDetails", json={"chosen_options": [choice]})
        if done.is_success:
            with out.open("a") as file:
                file.write(json.dumps({key: one[key] for key in ("subject", "body", "assigned_users")}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
