"""The same night on other Sparks than this machine's own JVM: the same list and the same rows, bit for bit."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.labs.spark.same_night import MANY_SMALL_TASKS, Night, assert_same, reconcile
from tests.labs.spark.standalone import LOCALHOST, StandaloneCluster, free_port, read_json
from tests.labs.spark.submitter import Submitter
from tests.labs.waiting import wait_until

pytestmark = pytest.mark.deep

SMALL = "--conf spark.driver.memory=1g --conf spark.executor.memory=900m --conf spark.driver.host=127.0.0.1"
SPECULATION = (
    "--conf spark.speculation=true --conf spark.speculation.interval=100ms --conf spark.speculation.quantile=0.25 "
    "--conf spark.speculation.multiplier=1.1 --conf spark.speculation.task.duration.threshold=1s"
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    started = StandaloneCluster(tmp_path_factory.mktemp("standalone"))
    yield started
    started.close()


class Trouble:
    """Stops an executor with a task in its hands, at a line of the log: for a while, or forever.

    Args:
        cluster: whose executors.
        ui: port of the driver's web UI, which knows what an executor is doing.
        at: words in the line.
        kill: it never goes on.
    """

    def __init__(self, cluster: StandaloneCluster, ui: int, at: str, *, kill: bool) -> None:
        self._cluster = cluster
        self._api = f"http://{LOCALHOST}:{ui}/api/v1/applications"
        self._at = at
        self._kill = kill
        self.caught = 0

    def __call__(self, line: str) -> None:
        if self._at not in line:
            return
        name, process = min(self._cluster.executors().items())
        os.kill(process, signal.SIGSTOP)
        wait_until(lambda: self._busy(name), "a task has come to the stopped executor", pause=0.05)
        self.caught += 1
        if self._kill:
            os.kill(process, signal.SIGKILL)
            return
        wait_until(self._has_second_copy, "Spark has begun a second copy of the task", pause=0.05)
        os.kill(process, signal.SIGCONT)

    def _busy(self, executor: str) -> bool:
        return any(one["id"] == executor and one["activeTasks"] for one in self._told("executors"))

    def _has_second_copy(self) -> bool:
        stages = self._told("stages?details=true")  # a short task's second copy may have ended its stage already
        return any(task["speculative"] for stage in stages for task in stage["tasks"].values())

    def _told(self, what: str) -> list[dict[str, Any]]:
        """What the driver's REST API says of its applications."""
        applications = read_json(self._api) or []
        return [one for app in applications for one in read_json(f"{self._api}/{app['id']}/{what}") or []]


@pytest.mark.promise("reconcile-reads-the-snapshot-only", "decision-is-replayable", "same-list-wherever-spark-runs")
def test_local_cluster(submit: Submitter, snapshots: Path, here: Night, tmp_path: Path) -> None:
    there = reconcile(submit, snapshots, tmp_path, f"--master local-cluster[2,1,1024] {SMALL} {MANY_SMALL_TASKS}")
    assert {task["Task Info"]["Executor ID"] for task in there.tasks} == {"0", "1"}
    assert_same(here, there)


def test_standalone(
    submit: Submitter, snapshots: Path, here: Night, cluster: StandaloneCluster, tmp_path: Path
) -> None:
    there = reconcile(submit, snapshots, tmp_path, f"--master {cluster.uri} {SMALL} {MANY_SMALL_TASKS}")
    assert len({task["Task Info"]["Executor ID"] for task in there.tasks}) == 2
    assert_same(here, there)


@pytest.fixture(params=["deciding", "writing tables", "delete-safe list"])
def troubled(
    submit: Submitter, snapshots: Path, cluster: StandaloneCluster, tmp_path: Path, request: pytest.FixtureRequest
) -> Callable[..., Night]:
    """Runs the night with an executor in trouble at one of these pieces of it."""

    def run(*, kill: bool, spark: str = "") -> Night:
        ui = free_port()
        with_ui = f"--conf spark.ui.enabled=true --conf spark.ui.port={ui}"
        trouble = Trouble(cluster, ui, request.param, kill=kill)
        options = f"--master {cluster.uri} {SMALL} {MANY_SMALL_TASKS} {spark} {with_ui}"
        there = reconcile(submit, snapshots, tmp_path, options, meanwhile=trouble)
        assert trouble.caught == 1
        return there

    return run


@pytest.mark.promise("same-list-wherever-spark-runs")
def test_an_executor_dies_with_a_task(here: Night, troubled: Callable[..., Night]) -> None:
    there = troubled(kill=True)
    assert "ExecutorLostFailure" in there.reasons()
    assert_same(here, there)


def test_a_second_copy_of_a_task_that_hangs_and_then_goes_on(here: Night, troubled: Callable[..., Night]) -> None:
    there = troubled(kill=False, spark=SPECULATION)
    assert there.speculative() > 0
    assert_same(here, there)
