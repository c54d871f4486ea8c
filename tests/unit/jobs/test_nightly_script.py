"""The night without Airflow: the script that cron and systemd start, run for real, and their files."""

import fcntl
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from unittest.mock import ANY

import pytest

from tests.labs.places import PROJECT
from tests.labs.programs import program

NIGHTLY = PROJECT / "conf" / "nightly"
STAND_IN = PROJECT / "tests" / "labs" / "airflow" / "stand_in.py"
UNITS = ("walsafe-nightly@.service", "walsafe-failed@.service", "walsafe-nightly@.timer")
RUN = "20261121T020000Z"


def night(folder: Path, script: object = None, walsafe: str = "", **more: str) -> tuple[int, list[list[str]], str]:
    """Exit code, calls and standard error of one night."""
    stand_in = folder / (walsafe or "spark-submit.sh")
    shutil.copy(STAND_IN, stand_in)
    stand_in.chmod(0o755)
    (folder / "script.json").write_text(json.dumps({RUN: script or {}}))
    ours = {
        "WALSAFE": str(folder / walsafe),
        "CONFIG": "a.yaml",
        "STATE": str(folder / f"state-{RUN}"),
        "RUN_ID": RUN,
        **more,
    }
    text = (NIGHTLY / "walsafe-nightly.env").read_text()
    (folder / "prod-a.env").write_text(text + "".join(f"\n{name}={value!r}" for name, value in ours.items()))
    done = subprocess.run(
        [str(NIGHTLY / "walsafe-nightly"), str(folder / "prod-a.env")], capture_output=True, text=True, check=False
    )
    calls = folder / "calls.jsonl"
    made = [json.loads(line)["argv"] for line in calls.read_text().splitlines()] if calls.exists() else []
    return done.returncode, made, done.stderr


def test_it_starts_one_night_and_ends_with_its_exit_code(tmp_path: Path) -> None:
    code, calls, _ = night(tmp_path, {"night": [{"code": 5}]})
    result = str(tmp_path / f"state-{RUN}" / "prod-a.json")
    assert (code, calls) == (5, [["night", "--config", "a.yaml", "--run-id", RUN, "--result", result]])


def test_the_command_of_a_wheel_is_started_too(tmp_path: Path) -> None:
    assert night(tmp_path, {"night": [{"code": 3}]}, walsafe="walsafe")[:2] == (3, [ANY])


def test_two_clusters_whose_configurations_have_one_name_share_nothing(tmp_path: Path) -> None:
    calls = night(tmp_path, CONFIG="/etc/prod-a/walsafe.yaml", STATE=str(tmp_path))[1]
    assert calls[0][-1] == str(tmp_path / "prod-a.json"), "it has the name of the .env file"


def test_one_night_of_a_cluster_at_a_time(tmp_path: Path) -> None:
    state = tmp_path / f"state-{RUN}"
    state.mkdir()
    with (state / "prod-a.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, calls, words = night(tmp_path)
    assert (code, calls) == (75, [])
    assert "a night of a.yaml is still running" in words


def with_kinit(folder: Path, text: str) -> dict[str, str]:
    """The settings of a night with a keytab, and this script as kinit."""
    kinit = folder / "bin" / "kinit"
    kinit.parent.mkdir()
    kinit.write_text(f"#!/bin/sh\n{text}\n")
    kinit.chmod(0o755)
    return {"PATH": f"{kinit.parent}:{os.environ['PATH']}", "KEYTAB": "/none.keytab", "PRINCIPAL": "w@EXAMPLE.ORG"}


def test_the_night_reads_the_ticket_where_kinit_wrote_it(tmp_path: Path) -> None:
    for name in ("kinit", "night"):
        (tmp_path / name).mkdir()
    told = tmp_path / "night" / "told"
    walsafe = f'#!/bin/sh\necho "$KRB5CCNAME" > {told}\n'
    settings = with_kinit(tmp_path, f'echo "$KRB5CCNAME" > {tmp_path}/kinit/told')
    (tmp_path / "night" / "walsafe").write_text(walsafe)
    (tmp_path / "night" / "walsafe").chmod(0o755)
    code, _, words = night(tmp_path, **settings | {"WALSAFE": str(tmp_path / "night" / "walsafe")})
    assert (code, words) == (0, "")
    assert told.read_text() == (tmp_path / "kinit" / "told").read_text()
    assert told.read_text() == f"FILE:{tmp_path}/state-{RUN}/prod-a.ticket\n"


def test_without_a_ticket_it_ends_with_4_and_leaves_no_answer_of_yesterday(tmp_path: Path) -> None:
    answer = tmp_path / f"state-{RUN}" / "prod-a.json"
    answer.parent.mkdir()
    answer.write_text('{"exit_code": 0}')
    code, calls, words = night(tmp_path, **with_kinit(tmp_path, "exit 1"))
    assert (code, calls, answer.exists()) == (4, [], False)
    assert words == "walsafe-nightly: kinit got no ticket\n"


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ({"KEYTAB": "/none.keytab"}, "KEYTAB needs PRINCIPAL in {0}"),
        ({"CONFIG": ""}, "CONFIG is missing in {0}"),
        ({"WALSAFE": "/none/walsafe"}, "WALSAFE in {0} is no program: /none/walsafe"),
        ({"STATE": "/dev/null/s"}, "STATE in {0}: /dev/null/s/prod-a.lock cannot be written"),
    ],
)
def test_a_mistake_in_its_file_is_wrong_usage(tmp_path: Path, mistake: dict[str, str], words: str) -> None:
    code, calls, said = night(tmp_path, **mistake)
    assert (code, calls) == (2, [])
    assert said.splitlines()[-1] == f"walsafe-nightly: {words.format(tmp_path / 'prod-a.env')}"


@pytest.mark.parametrize("named", [[], ["/none/prod-a.env"], ["/"]])
def test_without_its_file_it_says_what_it_needs(named: list[str]) -> None:
    done = subprocess.run([NIGHTLY / "walsafe-nightly", *named], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.partition(" FILE")[0]) == (2, "walsafe-nightly: usage: walsafe-nightly")


def test_cron_and_systemd_start_the_script_that_is_there() -> None:
    script = NIGHTLY / "walsafe-nightly"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True)
    starts = [
        *re.findall(r"^ExecStart=(\S+)", (NIGHTLY / "walsafe-nightly@.service").read_text(), re.MULTILINE),
        *re.findall(
            r"^[\d*]+(?: [\d*]+){4} +walsafe +(\S+) /etc/walsafe/", (NIGHTLY / "walsafe.cron").read_text(), re.MULTILINE
        ),
    ]
    assert [start.replace("/opt/walsafe", str(PROJECT)) for start in starts] == [str(script)] * 2
    for name in UNITS:
        text = (NIGHTLY / name).read_text()
        sections = re.findall(r"^\[(\w+)\]$", text, re.MULTILINE)
        assert sections == (["Unit", "Service"] if name.endswith("service") else ["Unit", "Timer", "Install"])
        assert all(re.match(r"(#|\[|\w+=|$)", line) for line in text.splitlines())


@pytest.mark.long
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    analyze, units = program("systemd-analyze"), [tmp_path / name.replace("@", "@prod-a") for name in UNITS]
    for name, unit in zip(UNITS, units, strict=True):
        unit.write_text((NIGHTLY / name).read_text().replace("/opt/walsafe", str(PROJECT)).replace("User=walsafe", ""))
    done = subprocess.run([analyze, "verify", *units], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_night_that_fails_is_mailed(tmp_path: Path) -> None:
    unit = (NIGHTLY / "walsafe-nightly@.service").read_text()
    (handler,) = re.findall(r"^OnFailure=(\S+)$", unit, re.MULTILINE)
    assert (NIGHTLY / handler.replace("%i", "")).is_file()
    (line,) = re.findall(r"^30 .* walsafe +(.*)$", (NIGHTLY / "walsafe.cron").read_text(), re.MULTILINE)
    script = "/opt/walsafe/conf/nightly/walsafe-nightly /etc/walsafe/prod-a.env"
    assert line.count(script) == 1
    command = line.replace("/var/log/walsafe", str(tmp_path))
    mailed = {
        code: subprocess.run(
            ["sh", "-c", command.replace(script, f"sh -c 'echo night {code}; exit {code}'")],
            capture_output=True, text=True, check=False,
        ).stdout
        for code in (0, 5)
    }  # fmt: skip
    assert mailed == {0: "", 5: "night 0\nnight 5\n"}
