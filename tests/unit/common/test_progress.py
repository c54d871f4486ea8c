"""How far a step is: words with rate and time left, lines in a log, a bar on a terminal, Spark's stages."""

import io
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from py4j.protocol import Py4JNetworkError

from pipelines.common.progress import TERMINAL_ENV, Progress, terminal_width
from pipelines.common.spark.stages import StageProgress


class Seconds:
    """A monotonic clock that stands still until it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> Seconds:
    monkeypatch.setenv(TERMINAL_ENV, "0")
    return Seconds()


def test_words_tell_count_rate_and_time_left(seconds: Seconds) -> None:
    progress = Progress("moved", 5_000_000, seconds=seconds)
    seconds.now = 20
    progress.more(1_200_000)
    assert str(progress) == "1,200,000 of 5,000,000 files, 60000.00 files/s, 01:03 to go"


def test_a_slow_step_tells_its_rate_too(seconds: Seconds) -> None:
    progress = Progress("purged", 100, seconds=seconds)
    seconds.now = 100
    progress.reached(2)
    assert str(progress) == "2 of 100 files,  0.02 files/s, 1:21:40 to go"


def test_without_a_total_there_is_no_time_left(seconds: Seconds) -> None:
    progress = Progress("listing", seconds=seconds)
    seconds.now = 10
    progress.more(1_000)
    assert str(progress) == "1,000 files, 100.00 files/s"


def test_a_log_gets_a_line_every_ten_seconds(seconds: Seconds) -> None:
    told: list[str] = []
    progress = Progress("listing", seconds=seconds, tell=told.append)
    for second in range(26):
        seconds.now = second
        progress.more(100)
    progress.end()
    assert told == ["listing: 1,100 files, 110.00 files/s", "listing: 2,100 files, 105.00 files/s"]


def test_what_is_read_one_by_one_is_counted(seconds: Seconds) -> None:
    told: list[str] = []
    progress = Progress("queues", 3, "servers", seconds=seconds, tell=told.append)
    for server in progress.over(["a", "b", "c"]):
        seconds.now += 6
        assert server in {"a", "b", "c"}
    assert told == ["queues: 2 of 3 servers,  0.17 servers/s, 00:06 to go"]


def test_a_terminal_gets_a_bar_that_vanishes(monkeypatch: pytest.MonkeyPatch, seconds: Seconds) -> None:
    monkeypatch.setenv(TERMINAL_ENV, "60")
    monkeypatch.setattr("pipelines.common.progress._BAR_AFTER_S", 0.0)
    screen, told = io.StringIO(), list[str]()
    monkeypatch.setattr("sys.stderr", screen)
    progress = Progress("moved", 4, seconds=seconds, tell=told.append)
    progress.more(1)
    progress.end()
    *_, last = screen.getvalue().rstrip("\r").split("\r")
    assert "moved:" in screen.getvalue()
    assert "/4 [" in screen.getvalue()
    assert not last.strip()
    assert not told


def test_a_terminal_that_tells_no_width_has_eighty_columns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(TERMINAL_ENV, raising=False)
    _, terminal = os.openpty()
    with os.fdopen(terminal, "w") as screen, (tmp_path / "log").open("w") as log:
        for stream, width in ((screen, 80), (log, 0)):
            monkeypatch.setattr("sys.stderr", stream)
            assert terminal_width() == width


class Tracker:
    """Spark's tracker of a stage with four tasks, one more of which is done at each look."""

    def __init__(self) -> None:
        self.looks = 0
        self.over = threading.Event()

    def getActiveStageIds(self) -> list[int]:  # noqa: N802 - Spark's name
        self.looks += 1
        if self.looks > 4:
            self.over.set()
        return [7] if self.looks <= 4 else []

    def getStageInfo(self, stage: int) -> SimpleNamespace:  # noqa: N802 - Spark's name
        return SimpleNamespace(stageId=stage, numTasks=4, numCompletedTasks=self.looks)

    def lastStageAttempt(self, _stage: int) -> SimpleNamespace:  # noqa: N802 - Spark's name
        rows = (lambda: 1_000 * (self.looks - 1), lambda: 0, lambda: 1)
        return SimpleNamespace(**dict(zip(("inputRecords", "shuffleReadRecords", "outputRecords"), rows, strict=True)))


def stages_of(tracker: Tracker) -> StageProgress:
    context = SimpleNamespace(statusTracker=lambda: tracker)
    context._jsc = SimpleNamespace(sc=lambda: SimpleNamespace(statusStore=lambda: tracker))
    return StageProgress(context)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_jvm_that_ends_is_left_to_the_job_to_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.common.spark.stages._LOOK_EVERY_S", 0.01)
    tracker = Tracker()
    monkeypatch.setattr(tracker, "getStageInfo", Mock(side_effect=Py4JNetworkError("connection refused")))
    stages = stages_of(tracker)
    stages.start()
    stages.join(60)
    assert (stages.is_alive(), tracker.looks) == (False, 1)
    stages.end()


def test_a_long_stage_of_spark_is_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv(TERMINAL_ENV, "0")
    monkeypatch.setattr("pipelines.common.progress._LINE_EVERY_S", 0.0)
    monkeypatch.setattr("pipelines.common.spark.stages._LOOK_EVERY_S", 0.01)
    tracker = Tracker()
    caplog.set_level("INFO")
    stages = stages_of(tracker)
    stages.start()
    assert tracker.over.wait(60)
    stages.end()
    assert [(message.partition(", ")[0], message.partition("; ")[2]) for message in caplog.messages] == [
        (f"Spark stage 7: {done} of 4 tasks", rows)
        for done, rows in ((1, "1 row"), (2, "1,000 rows"), (3, "2,000 rows"), (4, "3,000 rows"))
    ]
