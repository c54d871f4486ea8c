"""Metrics, alert rules and dashboard with the real Prometheus, its promtool and its Pushgateway."""

import json
import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import requests
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.cli.entry import main
from jobs.demo.cluster.on_disk import ROOT
from pipelines.common.instants import DAY_MS
from pipelines.common.job_result import JobResult
from tests.labs.cleanup.on_disk import CLUSTER, Lab
from tests.labs.fleet_nights import orphan
from tests.labs.http_server import http_server
from tests.labs.measured_jobs import FAILED, NIGHT, parsed, published
from tests.labs.places import PROJECT
from tests.labs.programs import program
from tests.labs.small_cluster import H1, group, timestamp
from tests.labs.spark.standalone import LOCALHOST, free_port
from tests.labs.waiting import wait_until

pytestmark = pytest.mark.long
MONITORING = PROJECT / "conf" / "monitoring"
RULES = MONITORING / "walsafe.rules.yml"
USER, PASSWORD = "walsafe", "s3cret"
HASHED = "$2b$04$rULP39BsFt1vXyA6r5EY5OH4OQwgZrEHmRTqtEjNXjxXmvQ4GDKu2"


def answer_of(url: str, *user: str) -> str:
    answer = requests.get(url, auth=(user[0], user[1]) if user else None, timeout=10)
    answer.raise_for_status()
    return answer.text


def until(condition: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever it waits for
    """Returns the first true answer of a server that may not listen yet, or not be ready."""

    def answer() -> Any:  # noqa: ANN401 - whatever it waits for
        with suppress(requests.RequestException):
            return condition()
        return None

    return wait_until(answer, "the server answers so")


@contextmanager
def started(*command: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=log.parent)
    try:
        yield process
    finally:
        process.kill()  # no test reads what it would write at its end
        process.wait()


def test_the_rules_are_rules_and_each_alert_fires_when_it_should(tmp_path: Path) -> None:
    tests = shutil.copy(PROJECT / "tests" / "e2e" / "monitoring" / "walsafe.rules.test.yml", tmp_path)
    rules = shutil.copy(RULES, tmp_path)
    for words in (("check", "rules", rules), ("test", "rules", tests)):
        done = subprocess.run([program("promtool"), *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    for name in [line.split()[2] for line in RULES.read_text().splitlines() if line.startswith("      - alert: ")]:
        assert f"alertname: {name}\n" in Path(tests).read_text(), "every alert has its test"


@pytest.mark.promise("metrics-keep-secrets", "metrics-never-fail-a-job")
def test_a_pushgateway_keeps_the_last_run_and_the_last_good_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    web, port = tmp_path / "web.yml", free_port()
    web.write_text(f"basic_auth_users: {{{USER}: '{HASHED}'}}\n")
    address, url = f"{LOCALHOST}:{port}", f"http://{LOCALHOST}:{port}"
    command = [program("prometheus-pushgateway"), f"--web.listen-address={address}", f"--web.config.file={web}"]

    def metrics() -> dict[tuple[str, ...], float]:
        text = answer_of(f"{url}/metrics", USER, PASSWORD)
        return parsed("".join(f"{line}\n" for line in text.splitlines() if line.startswith("walsafe_")))

    with started(*command, log=tmp_path / "gateway.log"):
        until(lambda: answer_of(f"{url}/-/ready", USER, PASSWORD))
        monkeypatch.setenv("GATEWAY", f"http://{USER}:{PASSWORD}@{address}")
        for job, outcome in NIGHT:
            published("$GATEWAY", job, outcome)
        assert caplog.text == ""
        found = {(key[0], value) for key, value in metrics().items()}
        assert {("cleanup_bytes", 700), ("quarantine_files", 7), ("snapshot_peers", 2)} <= found

        published("$GATEWAY", "clean", JobResult(4, FAILED, ""))
        left = {key[0] for key in metrics() if any(label.startswith("walsafe-clean") for label in key)}
        assert "cleanup_bytes" not in left, "no sizes of an earlier run"
        assert left >= {"job_exit_code", "job_error", "job_last_good_timestamp_seconds"}

        monkeypatch.setenv("GATEWAY", f"http://{USER}:wrong@{address}")
        published("$GATEWAY", "clean", NIGHT[2][1])
        assert "the metrics were not pushed: the Pushgateway did not take them (HTTPError 401)" in caplog.text
    published("$GATEWAY", "clean", NIGHT[2][1])
    assert "(URLError)" in caplog.text
    monkeypatch.setenv("GATEWAY", "http://[bad")
    published("$GATEWAY", "clean", NIGHT[2][1])
    assert "(ValueError)" in caplog.text
    published("$NO_SUCH_VARIABLE", "clean", NIGHT[2][1])
    assert "the environment variable NO_SUCH_VARIABLE is not set" in caplog.text
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    for secret in (PASSWORD, "wrong", address, "[bad"):
        assert secret not in caplog.text


@contextmanager
def textfiles(folder: Path) -> Iterator[int]:
    """Serves every file of a folder in one answer, as node_exporter does; yields the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(b"".join(file.read_bytes() for file in sorted(folder.glob("*.prom"))))

    with http_server(Handler) as port:
        yield port


@pytest.fixture(scope="module")
def real_night(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The textfiles of `night` on a cluster of real files that grows, after two nights with a finding."""
    lab = Lab(spark, tmp_path_factory.mktemp("measured"))
    lab.changes(orphan(lab.made, 0))
    metrics, places = lab.root / "metrics", {"lake": lab.lake, "metrics": f"{lab.root}/metrics", "capacity": "1GiB"}
    places |= {name: f"file:{lab.root}/{name}" for name in ("lists", "snapshots")}
    text = json.loads(lab.config.read_text())
    lab.config.write_text(json.dumps({**text, **places, "night": {"approval": "automatic", "tries": 1}}))
    for number in range(2):
        lab.night(f"earlier-{number}")
        lab.pass_on(DAY_MS)
        grown = lab.live / ROOT / "oldWALs" / f"{group(H1)}.{timestamp(5 + number)}"
        grown.write_bytes(bytes(1000))
        os.utime(grown, (lab.clock.now_ms() // 1000 - 3600,) * 2)
    assert main(["night", "--config", str(lab.config)], context=JobContext("night", lab.clock, spark)) == 0
    return metrics


@pytest.mark.slow("a real Prometheus has to scrape a real night once before a dashboard can show something")
def test_every_panel_of_the_dashboard_shows_data_of_a_real_night_and_every_rule_can_be_evaluated(
    real_night: Path, tmp_path: Path
) -> None:
    folder, port = real_night, free_port()
    dashboard = json.loads((MONITORING / "walsafe.dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(queries) > 20
    base = f"http://{LOCALHOST}:{port}/api/v1"

    def data(path: str) -> Any:  # noqa: ANN401 - of Prometheus
        return json.loads(answer_of(f"{base}/{path}"))["data"]

    def result(query: str) -> Any:  # noqa: ANN401 - of Prometheus
        return data(f"query?query={quote(query)}")["result"]

    def rules() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [rule for group in data("rules")["groups"] for rule in group["rules"]]
        return found if found and all(rule["health"] != "unknown" for rule in found) else []

    with textfiles(folder) as scraped:
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [{"job_name": "node", "static_configs": [{"targets": [f"{LOCALHOST}:{scraped}"]}]}],
        }
        (tmp_path / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
        options = [f"--web.listen-address={LOCALHOST}:{port}", f"--storage.tsdb.path={tmp_path}/data"]
        command = [program("prometheus"), f"--config.file={tmp_path}/prometheus.yml", *options]
        with started(*command, log=tmp_path / "prometheus.log"):
            until(lambda: result("walsafe_build_info"))
            assert data("label/cluster/values") == [CLUSTER], "the variable of the dashboard"
            empty = [query for query in queries if not result(query.replace("$cluster", ".*"))]
            assert empty == []
            assert {(rule["name"], rule["health"]) for rule in until(rules) if rule["health"] != "ok"} == set()
            expected = {"WalsafeCleanerNotRunning", "WalsafeErrorFinding", "WalsafeNoGoodNight"}
            until(lambda: expected <= {one["labels"]["alertname"] for one in data("alerts")["alerts"]})
