"""A whole Airflow: API server, scheduler with its workers, DAG processor and triggerer, each a process of its own."""

import http.client
import json
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.labs.airflow.nights import DAG, Airflow
from tests.labs.spark.standalone import free_port
from tests.labs.waiting import wait_until

RUN = "one"
COMPONENTS = ("scheduler", "dag-processor", "triggerer")
wait_for = partial(wait_until, pause=0.5)  # every question is work for the Airflow that is waited for


@dataclass
class WholeAirflow:
    """A running Airflow; `parts` are its processes by name."""

    airflow: Airflow
    environment: Mapping[str, str]
    url: str
    parts: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _token: str = ""

    def start(self, component: str, *options: str) -> None:
        name = " ".join((component, *options[:2]))
        with (self.airflow.home / f"{name}.log").open("ab") as log:
            command = [str(self.airflow.python.with_name("airflow")), component, *options]
            self.parts[name] = subprocess.Popen(
                command, env=self.environment, cwd=self.airflow.home, stdout=log, stderr=log
            )

    def end(self, component: str) -> None:
        process = self.parts.pop(component)
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()
        process.wait()

    def begin(self, dag: str, date: str) -> None:
        """Starts a run of a DAG, as soon as Airflow knows the DAG."""
        run = {"dag_run_id": RUN, "logical_date": date, "conf": {}}
        wait_for(lambda: self.ask("POST", f"/dags/{dag}/dagRuns", run), f"the DAG {dag} is there")

    def run_state(self, dag: str) -> object:
        return (self.ask("GET", f"/dags/{dag}/dagRuns/{RUN}") or {}).get("state")

    def states(self, dag: str, task: str) -> list[Any]:
        """Returns the states of a task's instances; empty if the API cannot answer yet."""
        return [one["state"] for one in self._tasks(dag) if one["task_id"] == task]

    def must_succeed(self, dag: str, meanwhile: Callable[[], object]) -> None:
        """Calls `meanwhile` until a run has ended; a run that does not succeed fails the test, with its tasks."""

        def over() -> bool:
            meanwhile()
            return self.run_state(dag) in ("success", "failed")

        wait_for(over, lambda: f"the run of {dag} ends: {self._tasks(dag)}")
        assert self.run_state(dag) == "success", self._tasks(dag)

    def _tasks(self, dag: str) -> list[dict[str, Any]]:
        found = self.ask("GET", f"/dags/{dag}/dagRuns/{RUN}/taskInstances?limit=50") or {"task_instances": []}
        told = ("task_id", "map_index", "state", "try_number")
        return [{name: one[name] for name in told} for one in found["task_instances"]]

    def clear(self, dag: str, task: str) -> None:
        """Clears a task and all that follow it, as a person does in the grid."""
        clear = {"dry_run": False, "task_ids": [task], "dag_run_id": RUN, "only_failed": False}
        body = {**clear, "include_downstream": True}
        wait_for(lambda: self.ask("POST", f"/dags/{dag}/clearTaskInstances", body), "it is cleared")

    def approvals(self, dag: str) -> list[Any]:
        """Returns the approvals that were asked for, as the page Required Actions shows them."""
        found: Any = wait_for(lambda: self.ask("GET", f"/dags/{dag}/dagRuns/{RUN}/hitlDetails"), "they are shown")
        return list(found["hitl_details"])

    def answer(self, approval: Mapping[str, Any], choice: str) -> None:
        """Answers an approval as the page Required Actions does; an answer that Airflow refuses changes nothing."""
        ti = approval["task_instance"]
        where = f"/dags/{ti['dag_id']}/dagRuns/{RUN}/taskInstances/{ti['task_id']}/{ti['map_index']}/hitlDetails"
        self.ask("PATCH", where, {"chosen_options": [choice]})

    def make_old(self, dag: str) -> None:
        """Lets the run have begun two days ago, so that `run_timeout` is over."""
        with closing(sqlite3.connect(self.airflow.home / "airflow.db", timeout=300)) as database, database:
            database.execute("UPDATE dag_run SET start_date = datetime('now', '-2 days') WHERE dag_id = ?", [dag])

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Returns the answer of the REST API; None if it cannot answer yet."""
        with suppress(OSError, ValueError, http.client.HTTPException):
            self._token = self._token or self._send("GET", "/auth/token", None)["access_token"]
            return self._send(method, f"/api/v2{path}", body)
        return None

    def _send(self, method: str, path: str, body: object) -> Any:  # noqa: ANN401 - JSON
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"}
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=60)
        with closing(connection):
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status >= 400:
                raise OSError(f"{method} {path}: {answer.status} {text[:500]!r}")
            return json.loads(text)


def _dag_file(name: str, config: Path) -> str:
    """Returns a DAG of airflow that is the nightly one, with an id and a configuration of its own."""
    return f'''"""The nightly DAG of airflow."""
import os
os.environ["WALSAFE_NIGHTLY_CONFIG"] = {str(config)!r}
from walsafe_nightly import DAG
DAG.dag_id = {name!r}
'''


@contextmanager
def whole_airflow(airflow: Airflow, configs: Mapping[str, Path]) -> Iterator[WholeAirflow]:
    """Starts an Airflow with the nightly DAG once for each configuration, and a pool `walsafe` of one place."""
    dags, port, tasks_port = airflow.home / "dags", free_port(), free_port()
    dags.mkdir()
    for name, config in configs.items():
        (dags / f"{name}.py").write_text(_dag_file(name, config))
    url = f"http://localhost:{port}"
    environment = airflow.environment(dags) | {
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://localhost:{tasks_port}/execution/",
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "false",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
        "AIRFLOW__API_AUTH__JWT_SECRET": "of-this-test-only-0123456789abcdef0123456789abcdef",
        "PYTHONPATH": str(DAG.parent),
    }
    whole = WholeAirflow(airflow, environment, url)
    pool = [airflow.python.with_name("airflow"), "pools", "set", "walsafe", "1", "Spark drivers", "--include-deferred"]
    subprocess.run(pool, env=environment, cwd=airflow.home, capture_output=True, check=True)
    try:
        # in one process, a person's request and a task's at times wait for each other's lock of SQLite
        for apps, own_port in (("core", port), ("execution", tasks_port)):
            whole.start("api-server", "--apps", apps, "--port", str(own_port), "--workers", "1")
        for component in COMPONENTS:
            whole.start(component)
        yield whole
    finally:
        for component in reversed(list(whole.parts)):
            whole.end(component)
