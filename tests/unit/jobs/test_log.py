"""`--log-format json`: every line that reaches standard error is one object."""

import io
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jobs.cli import log
from jobs.cli.config.configured_options import FROM_ENVIRONMENT, complete_options
from jobs.cli.launch import launcher
from jobs.cli.launch.child import copy_without_noise
from pipelines.common import logged_run
from pipelines.common.progress import TERMINAL_ENV


@pytest.fixture(autouse=True)
def _unknown_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logged_run, "_RUN", {})


LOGGER = logging.getLogger("jobs.night.night")


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_record_is_an_object_with_the_run_id_as_soon_as_it_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    log.set_up("info", log.JSON)
    LOGGER.info("before")
    logged_run.log_of_run("n1")
    LOGGER.warning('a "quoted"\nmessage of %s', "prod-a")
    before, after = lines(capsys)
    assert set(before) == {"time", "level", "logger", "message", "run_id"}
    assert (before["message"], before["run_id"]) == ("before", None)
    assert (after["level"], after["logger"], after["run_id"]) == ("WARNING", "jobs.night.night", "n1")
    assert after["message"] == 'a "quoted"\nmessage of prod-a'


def test_a_run_beside_the_main_one_names_only_its_own_lines(capsys: pytest.CaptureFixture[str]) -> None:
    log.set_up("info", log.JSON)
    logged_run.log_of_run("night")
    for beside in ("audit", None):
        with ThreadPoolExecutor(1, thread_name_prefix=f"beside-{beside}") as pool:
            if beside is not None:
                pool.submit(logged_run.log_of_run, beside).result()
            pool.submit(LOGGER.info, "in a thread").result()
    LOGGER.info("in the main thread")
    assert [line["run_id"] for line in lines(capsys)] == ["audit", "night", "night"]


def test_a_traceback_is_a_part_of_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    log.set_up("info", log.JSON)
    try:
        raise ValueError("x")
    except ValueError:
        LOGGER.exception("this is a bug")
    log.say("walsafe night: it failed", logging.ERROR)
    bug, said = lines(capsys)
    assert "Traceback" in str(bug["exception"])
    assert (said["level"], said["message"]) == ("ERROR", "walsafe night: it failed")


def test_text_stays_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    log.set_up("info")
    logging.getLogger("jobs.night").info("night of prod-a")
    log.say("walsafe: said")
    recorded, said = capsys.readouterr().err.splitlines()
    assert recorded.endswith("INFO    jobs.night: night of prod-a")
    assert said == "walsafe: said"


@pytest.mark.promise("log-as-json")
def test_what_is_no_record_becomes_one_and_lines_of_the_jvm_get_the_run_id() -> None:
    given = [
        b'{"time": "t", "level": "WARN", "logger": "org.apache.spark.X", "message": "early"}\n',
        b'{"time": "t", "level": "INFO", "logger": "jobs.night", "message": "m", "run_id": "n1"}\n',
        b"\n",
        b"WARNING: Using incubator modules: jdk.incubator.vector\n",
        b'{"time": "t", "level": "WARN", "logger": "org.apache.spark.X", "message": "late", "exception": "e"}\n',
        b"Exception in thread \xff\n",
        b"[1, 2]\n",
    ]
    target = io.BytesIO()
    copy_without_noise(io.BytesIO(b"".join(given)), target, log.JsonLines())
    told = [json.loads(line) for line in target.getvalue().splitlines()]
    assert [(one["message"], one["run_id"]) for one in told] == [
        ("early", None), ("m", "n1"), ("late", "n1"), ("Exception in thread \ufffd", "n1"), ("[1, 2]", "n1"),
    ]  # fmt: skip
    assert told[2]["exception"] == "e"
    assert {"time", "level", "logger", "message", "run_id"} <= set(told[3])


def test_the_configuration_may_choose_it(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("log_format: json\n")
    known = {"--config", "--log-format"}
    given = complete_options(["--config", str(file)], known, FROM_ENVIRONMENT, {})
    assert given == ["--log-format", "json", "--config", str(file)]
    overruled = ["--config", str(file), "--log-format", "text"]
    assert complete_options(overruled, known, FROM_ENVIRONMENT, {}) == overruled


@pytest.mark.parametrize(("form", "width"), [("json", "0"), ("text", "80")])
def test_a_log_of_objects_has_no_bars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: str, width: str) -> None:
    monkeypatch.setenv(TERMINAL_ENV, "80")
    told: dict[str, str] = {}
    monkeypatch.setattr(launcher, "run_child", lambda _command, environment, _stop: told.update(environment) or 0)
    answer = tmp_path / "answer"
    answer.write_text("")
    assert launcher._in_client(["spark-submit"], {log.LOG_FORMAT_ENV: form}, answer, None) == 0
    assert told[TERMINAL_ENV] == width
