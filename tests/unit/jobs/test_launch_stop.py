"""Ctrl-C on a job that ends gently: it is asked to stop, and lives to do so; a job that never begins or is killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from jobs.cli.context import STOP_FILE_ENV, stop_asked
from jobs.cli.launch import child, launcher
from pipelines.common.errors import UsageError
from tests.labs.places import PROJECT

PATIENCE_SECONDS = 600
LAUNCH = """
import os, sys
from pathlib import Path
from jobs.cli.launch.child import run_child
stop = Path(sys.argv[1])
job = "trap 'exit 9' INT; touch $0.began; until [ -e $0 ]; do sleep 0.05; done; [ -z \\"$1\\" ] || sleep 3600"
sys.exit(run_child(["bash", "-c", job, str(stop), *sys.argv[2:]], dict(os.environ), stop))
"""

WHILE_WRITING = """
import io, os, signal, sys
from pathlib import Path
from jobs.cli.launch.child import run_child
class Interrupted(io.FileIO):
    def write(self, data):
        if b"working" in bytes(data):
            os.kill(os.getpid(), signal.SIGINT)
        return super().write(data)
sys.stderr = io.TextIOWrapper(io.BufferedWriter(Interrupted(2, "wb")), line_buffering=True)
stop = Path(sys.argv[1])
job = "echo working; until [ -e $0 ]; do sleep 0.05; done; exit 7"
sys.exit(run_child(["bash", "-c", job, str(stop)], dict(os.environ), stop))
"""


def wait_for(file: Path, process: subprocess.Popen[str]) -> None:
    while not file.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def started(stop: Path, *more: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCH, str(stop), *more], cwd=PROJECT, stderr=subprocess.PIPE, text=True
    )
    wait_for(Path(f"{stop}.began"), process)
    return process


def test_the_first_asks_and_the_job_ends_in_good_order(tmp_path: Path) -> None:
    process = started(tmp_path / "stop")
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert "stopping after this batch or job; Ctrl-C again ends at once" in said


def test_it_may_come_while_the_launcher_writes(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WHILE_WRITING, str(tmp_path / "stop")]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 7, done.stderr
    assert sorted(done.stderr.splitlines()) == [
        "walsafe: stopping after this batch or job; Ctrl-C again ends at once",
        "working",
    ]


# the tests may themselves run under nohup
@pytest.mark.parametrize(("before", "code"), [(["env", "--default-signal=HUP"], 129), (["nohup"], 7)])
def test_a_job_outlives_its_terminal_with_nohup(tmp_path: Path, before: list[str], code: int) -> None:
    stop = tmp_path / "stop"
    job = "touch $0.began; until [ -e $0 ]; do sleep 0.05; done; exit 7"
    run = "import os, sys; from jobs.cli.launch.child import run_child; sys.exit(run_child(sys.argv[1:], os.environ))"
    command = [*before, sys.executable, "-c", run, "bash", "-c", job, str(stop)]
    process = subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, text=True)
    wait_for(Path(f"{stop}.began"), process)
    os.kill(process.pid, signal.SIGHUP)
    if code == 7:
        stop.touch()
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == code


NOISY = """
import os, sys
from pathlib import Path
from jobs.cli.launch.child import run_child
from jobs.cli.leave import run_and_leave
stop = Path(sys.argv[1])
job = "until [ -e $0 ]; do echo more words; sleep 0.05; done; head -c 200000 /dev/zero; touch $0.done; exit 7"
run_and_leave(lambda: run_child(["bash", "-c", job, str(stop)], dict(os.environ), stop))
"""


def test_the_launcher_waits_for_the_job_whose_words_nobody_takes(tmp_path: Path) -> None:
    stop = tmp_path / "stop"
    # -I: Python ignores PYTHONUNBUFFERED, as under spark-submit.sh; what it could not write stays in its buffers
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, '.')\n{NOISY}", str(stop)]
    process = subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, bufsize=0)
    assert process.stderr is not None
    assert process.stderr.read(1) == b"m"
    process.stderr.close()  # the Ctrl-C ended the `tee` behind the pipe, too
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(timeout=PATIENCE_SECONDS) == 7
    assert Path(f"{stop}.done").exists()


@pytest.mark.parametrize(("patience", "told"), [(PATIENCE_SECONDS, True), (0, False)])
def test_nothing_outlives_a_jvm_that_is_killed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, patience: int, *, told: bool
) -> None:
    """Its Python may tell why it failed, and then ends, too."""
    monkeypatch.setattr(child, "_TO_TELL_S", patience)
    left, why = tmp_path / "left", tmp_path / "why"
    rest = f"echo $$ > {left}.new; mv {left}.new {left}; sleep {1 if told else 3600}; touch {why}"
    job = f"bash -c '{rest}' > /dev/null 2>&1 & until [ -e {left} ]; do sleep 0.05; done; kill -9 $$"
    assert child.run_child(["bash", "-c", job], os.environ) == 137
    assert why.exists() == told
    with suppress(ProcessLookupError):
        for _ in range(PATIENCE_SECONDS):
            os.kill(int(left.read_text()), 0)
            time.sleep(0.1)
        pytest.fail("its Python still runs")


@pytest.mark.parametrize(("ended", "code"), [(52, 4), (137, 137)])
def test_a_jvm_without_memory_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], ended: int, code: int
) -> None:
    """Nobody hears the driver's Python any more: what it writes goes to the JVM."""
    answer = tmp_path / "answer"
    answer.touch()
    monkeypatch.setattr(launcher, "run_child", lambda *_: ended)
    assert launcher._in_client(["spark-submit"], {}, answer, None) == code
    said = capsys.readouterr().err
    assert f"Spark's JVM or its executors ended (exit code {ended} of the JVM or of the driver's Python)" in said


@pytest.mark.parametrize(("ended", "code"), [(0, 4), (3, 3)])
def test_an_answer_that_nobody_takes_hides_no_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ended: int, code: int
) -> None:
    answer = tmp_path / "answer"
    answer.write_text("the answer")
    monkeypatch.setattr(launcher, "run_child", lambda *_: ended)
    told = None
    with suppress(OSError), Path("/dev/full").open("w") as full:  # closing it fails, too
        monkeypatch.setattr(sys, "stdout", full)
        told = launcher._in_client(["spark-submit"], {}, answer, None)
    assert told == code


@pytest.mark.parametrize("ended", [0, 1])
def test_a_job_that_never_began_is_not_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ended: int) -> None:
    """With `SPARK_SUBMIT_ARGS=--version`, spark-submit prints its version and exits with 0."""
    monkeypatch.setattr(launcher, "run_child", lambda *_: ended)
    with pytest.raises(UsageError, match="did not start the job"):
        launcher._in_client(["spark-submit"], {}, tmp_path / "answer", None)


QUEUES = ["audit-queues", "--snapshot", "none", "--output", "json", "--result"]
DONE = '{"exit_code": 0}'


@pytest.fixture
def result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The answer of yesterday, before a job whose Java and Spark are there."""
    for name, there in {"_java": Path("/usr/bin/java"), "_spark_home": tmp_path, "_jars": []}.items():
        monkeypatch.setattr(launcher, name, lambda *_, found=there: found)
    monkeypatch.setattr(launcher, "build_archive", lambda *_: Path("walsafe.zip"))
    (tmp_path / "r.json").write_text(DONE)
    return tmp_path / "r.json"


@pytest.mark.usefixtures("result")
@pytest.mark.parametrize(("code", "kept"), [(0, True), (5, True), (2, False), (3, False), (4, False), (143, False)])
def test_only_a_job_that_ended_well_leaves_an_archive_of_classes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int, kept: bool
) -> None:
    unfinished, archive = tmp_path / "classes-1.part", tmp_path / "classes-1.jsa"
    unfinished.touch()
    monkeypatch.setattr(launcher, "_classes", lambda *_: ("", unfinished))
    monkeypatch.setattr(launcher.class_archive, "archive_of", lambda *_: archive)
    monkeypatch.setattr(launcher, "_in_client", lambda *_: code)
    assert launcher.main(["demo", "--out", str(tmp_path / "demo")]) == code
    assert (archive.exists(), unfinished.exists()) == (kept, False)


@pytest.mark.parametrize(
    ("step", "error", "code"),
    [("_spark_home", UsageError("no Spark"), 2), ("build_archive", PermissionError(13, "no archive"), 4)],
)
def test_a_failure_before_the_driver_is_the_answer(
    result: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    step: str,
    error: Exception,
    code: int,
) -> None:
    monkeypatch.setattr(launcher, step, Mock(side_effect=error))
    for place in (str(result), "hdfs://ns1/r.json"):  # the second is written by no JVM that would have to start for it
        assert launcher.main([*QUEUES, place]) == code
        told = json.loads(capsys.readouterr().out)
        assert (told["job"], told["exit_code"]) == ("audit-queues", code)
    assert json.loads(result.read_text()) == told


def test_java_of_another_version_is_such_a_failure() -> None:
    with pytest.raises(UsageError, match=r"^JAVA_HOME is /none, which has no bin/java: .* unset it\.$"):
        launcher._java({**os.environ, "JAVA_HOME": "/none"})


def test_a_driver_that_is_killed_leaves_no_answer_of_yesterday(result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "run_child", lambda *_: 137)
    assert launcher.main([*QUEUES, str(result)]) == 137
    assert not result.exists()


def test_the_second_ends_it_at_once(tmp_path: Path) -> None:
    process = started(tmp_path / "stop", "long batch")
    os.kill(process.pid, signal.SIGINT)
    wait_for(tmp_path / "stop", process)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 9


def test_the_first_ends_it_at_once_if_it_cannot_be_asked(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    process = started(tmp_path / "gone" / "stop", "long batch")
    shutil.rmtree(tmp_path / "gone")
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 9


@pytest.mark.parametrize("told", ["", "nowhere"])
def test_nobody_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: str) -> None:
    monkeypatch.setenv(STOP_FILE_ENV, str(tmp_path / told) if told else "")
    assert not stop_asked()
    (tmp_path / "here").touch()
    monkeypatch.setenv(STOP_FILE_ENV, str(tmp_path / "here"))
    assert stop_asked()
