"""OpenLineage's listener tells a collector what a night reads and writes."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from benchmarks.generate import write
from pipelines.common.spark.few_rows import FEW
from tests.labs.spark.other_sparks import fetched_jars
from tests.labs.spark.same_night import just_now_ms
from tests.labs.spark.submitter import Submitter
from tests.models.large import Shape, fleet

pytestmark = pytest.mark.deep

LOCK = "5d84b0ae7e72909b5aae7ed87df878bf06b28d9ac3005765c3529d0a66dbae6f io.openlineage:openlineage-spark_2.13:1.53.0\n"


class Collector(HTTPServer):
    """Keeps every event that a listener posts."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        super().__init__(("127.0.0.1", 0), _Post)

    def names(self, kind: str) -> set[str]:
        """Returns the names of all inputs or outputs."""
        return {one["name"] for event in self.events for one in event.get(kind, ())}


class _Post(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        assert self.path == "/api/v1/lineage"
        self.server.events.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(201)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def listener(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jar of the listener."""
    (jar,) = fetched_jars(LOCK, tmp_path_factory.mktemp("openlineage") / "jars")
    return jar


@pytest.mark.promise("lineage-of-a-night")
def test_inputs_and_outputs_of_a_night(submit: Submitter, listener: Path, collector: Collector, tmp_path: Path) -> None:
    (one,) = fleet(Shape("large", FEW + 10_000, 30, 3, 2, 7, just_now_ms()), 1, 1.0)
    write(one, tmp_path / "snapshot", None)
    settings = {
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": f"http://127.0.0.1:{collector.server_port}",
    }
    arguments = " ".join(f"--conf {name}={value}" for name, value in settings.items())
    done = submit(
        *("reconcile", "--snapshot", f"file:{tmp_path}/snapshot", "--lake", f"file:{tmp_path}/lake"),
        *("--lists", f"file:{tmp_path}/lists"),
        env={"SPARK_SUBMIT_ARGS": f"--jars {listener} {arguments}"},
    )
    assert done.returncode in {0, 5}, done.stderr
    assert f"{tmp_path}/snapshot/files" in collector.names("inputs")
    assert f"{tmp_path}/lake/wal_verdicts" in collector.names("outputs")
