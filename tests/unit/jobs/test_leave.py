"""How a process ends: its exit code, its output, its handlers."""

import os
import select
import subprocess
import sys
import time

import pytest

from tests.labs.places import PROJECT

CODE = """
import atexit
from jobs.cli.leave import run_and_leave

def program():
    {}

run_and_leave(program)
"""


def ended(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", CODE.format(program)]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)


def test_the_code_is_that_of_the_program_and_all_is_written() -> None:
    done = ended("atexit.register(print, 'a handler'); print('x' * 100_000); return 5")
    assert (done.returncode, done.stdout) == (5, "x" * 100_000 + "\na handler\n")


def test_what_is_raised_ends_the_process_as_ever() -> None:
    assert ended("raise SystemExit(2)").returncode == 2
    failed = ended("raise ValueError('of the program')")
    assert failed.returncode == 1
    assert "ValueError: of the program" in failed.stderr


@pytest.mark.parametrize("end", ["return 3", "raise SystemExit(3)"])
def test_a_driver_ends_when_spark_submit_has_read_its_last_words(end: str) -> None:
    """Spark's JVM ends as soon as its driver does, whatever it has not copied yet."""
    code = CODE.format(f"import sys; print('walsafe probe: why', file=sys.stderr); {end}")
    for environment, waits in ({**os.environ, "PYSPARK_GATEWAY_PORT": "1"}, True), (dict(os.environ), False):
        driver = subprocess.Popen(
            [sys.executable, "-c", code], cwd=PROJECT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        with driver:
            assert driver.stdout is not None
            select.select([driver.stdout], [], [])
            if waits:
                with pytest.raises(subprocess.TimeoutExpired):
                    driver.wait(0.5)
            else:
                driver.wait()
            assert driver.stdout.read() == b"walsafe probe: why\n"
        assert driver.returncode == 3


def test_a_driver_does_not_wait_for_a_spark_submit_that_has_ended() -> None:
    ended_submit, pipe = os.pipe()
    code = CODE.format("import os; os.write(2, b'why'); os.read(0, 1); return 3")
    driver = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=PROJECT,
        env={**os.environ, "PYSPARK_GATEWAY_PORT": "1"},
        stdin=subprocess.PIPE,
        stdout=pipe,
        stderr=pipe,
    )
    os.close(pipe)
    select.select([ended_submit], [], [])
    os.close(ended_submit)
    started = time.monotonic()
    driver.communicate(b"x")
    assert (driver.returncode, time.monotonic() - started < 9) == (3, True)


def test_an_interruption_before_a_job_is_one_line() -> None:
    done = ended("raise KeyboardInterrupt")
    assert (done.returncode, done.stderr) == (130, "walsafe: interrupted\n")


def test_modules_are_not_taken_apart() -> None:
    class_with_end = "import types; atexit.late = type('Late', (), {'__del__': lambda self: print('torn down')})()"
    assert ended(f"{class_with_end}; return 0").stdout == ""


def test_garbage_is_looked_for_seldom() -> None:
    assert ended("import gc; print(gc.get_threshold()[0]); return 0").stdout == "200000\n"


def test_the_command_of_a_wheel_writes_every_answer_in_any_locale() -> None:
    program = (
        "import sys; from jobs.cli.launch import console, launcher\n"
        "launcher.main = lambda _: print('\u2192') or print('\u2192', file=sys.stderr) or 5\nconsole.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": "iso-8859-1"},
        cwd=PROJECT,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (5, "→\n".encode(), "→\n".encode())
