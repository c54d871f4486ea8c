"""The person: answers every approval through Airflow's own REST application, as the page Required Actions does.

Started in Airflow's own environment beside run_nights.py, in a process of its own as in life, until it is ended:

    answer_approvals.py Approve|Reject OUT

Appends `{"subject": …, "body": …}` of each approval to OUT, as it was shown.
"""

import json
import sys
import time
from pathlib import Path

from airflow.api_fastapi.app import create_app
from fastapi.testclient import TestClient


def main(choice: str, out: Path) -> None:
    with TestClient(create_app(apps="all")) as client:
        client.headers["Authorization"] = f"Bearer {client.get('/auth/token').json()['access_token']}"
        while True:
            pending = client.get("/api/v2/dags/~/dagRuns/~/hitlDetails?response_received=false").json()
            for one in pending["hitl_details"]:
                ti = one["task_instance"]
                if ti["state"] != "awaiting_input":
                    continue
                with out.open("a") as file:
                    file.write(json.dumps({"subject": one["subject"], "body": one["body"]}) + "\n")
                where = f"/api/v2/dags/{ti['dag_id']}/dagRuns/{ti['dag_run_id']}/taskInstances/{ti['task_id']}"
                done = client.patch(f"{where}/{ti['map_index']}/hitlDetails", json={"chosen_options": [choice]})
                done.raise_for_status()
            time.sleep(0.3)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
