"""A whole Airflow: API server, scheduler with its workers, DAG processor and triggerer, each a process of its own."""

import http.client
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.labs.airflow.nights import DAG, Airflow
from tests.labs.spark.standalone import free_port

COMPONENTS = ("scheduler", "dag-processor", "triggerer")


@dataclass
class WholeAirflow:
    """A running Airflow; `parts` are its processes by name."""

    airflow: Airflow
    environment: Mapping[str, str]
    url: str
    parts: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, component: str, *options: str) -> None:
        with (self.airflow.home / f"{component}.log").open("ab") as log:
            command = [str(self.airflow.python.with_name("airflow")), component, *options]
            self.parts[component] = subprocess.Popen(
                command, env=self.environment, cwd=self.airflow.home, stdout=log, stderr=log
            )

    def end(self, component: str) -> None:
        process = self.parts.pop(component)
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()
        process.wait()

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Returns the answer of the REST API; None if it cannot answer yet."""
        with suppress(OSError, ValueError, http.client.HTTPException):
            token = self._send("GET", "/auth/token", None, "")["access_token"]
            return self._send(method, f"/api/v2{path}", body, token)
        return None

    def _send(self, method: str, path: str, body: object, token: str) -> Any:  # noqa: ANN401 - JSON
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=60)
        with closing(connection):
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status >= 400:
                raise OSError(f"{method} {path}: {answer.status} {text[:500]!r}")
            return json.loads(text)


@contextmanager
def whole_airflow(airflow: Airflow, config: Path) -> Iterator[WholeAirflow]:
    port = free_port()
    url = f"http://localhost:{port}"
    environment = airflow.environment(config) | {
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "false",
        "AIRFLOW__API_AUTH__JWT_SECRET": "of-this-test-only-0123456789abcdef0123456789abcdef",
        "PYTHONPATH": str(DAG.parent),
    }
    whole = WholeAirflow(airflow, environment, url)
    try:
        whole.start("api-server", "--port", str(port), "--workers", "1")
        for component in COMPONENTS:
            whole.start(component)
        yield whole
    finally:
        for component in list(whole.parts):
            whole.end(component)


def wait_for(what: Callable[[], object], why: str) -> object:
    until = time.monotonic() + 600
    while not (found := what()):
        assert time.monotonic() < until, why
        time.sleep(0.5)
    return found
