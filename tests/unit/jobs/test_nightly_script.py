"""The night without Airflow: the script that cron and systemd start, run for real, and their files."""

import fcntl
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from jobs.cli.entry import _failed
from pipelines.cleanup.pause_checks import say_pause_first
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError
from pipelines.common.job_result import JobResult
from pipelines.reconcile.pause import unknown_pause
from tests.labs.places import PROJECT

NIGHTLY = PROJECT / "conf" / "nightly"
STAND_IN = PROJECT / "tests" / "labs" / "airflow" / "stand_in.py"
RUN = "20261121T020000Z"
BEFORE = _failed("clean", RefusedError(Condition.LIST_ALREADY_CLEANED, "run x had its turn")).result
UNTIL_CLEAN = ["capture", "reconcile", "clean"]
AFTER = ["purge --execute", "maintain --execute"]


def night(folder: Path, script: object = None, **settings: str) -> tuple[int, list[str], str]:
    """Exit code, calls and standard error of one night."""
    shutil.copy(STAND_IN, folder / "spark-submit.sh")
    (folder / "spark-submit.sh").chmod(0o755)
    (folder / "script.json").write_text(json.dumps({RUN: script or {}}))
    ours = {
        "WALSAFE": str(folder),
        "CONFIG": "a.yaml",
        "STATE": str(folder / f"state-{RUN}"),
        "RUN_ID": RUN,
        "RETRY_DELAY": "0",
        **settings,
    }
    text = (NIGHTLY / "walsafe-nightly.env").read_text()
    (folder / "prod-a.env").write_text(text + "".join(f"\n{name}={value!r}" for name, value in ours.items()))
    done = subprocess.run(
        [str(NIGHTLY / "walsafe-nightly"), str(folder / "prod-a.env")], capture_output=True, text=True, check=False
    )
    calls = folder / "calls.jsonl"
    made = [json.loads(line)["argv"] for line in calls.read_text().splitlines()] if calls.exists() else []
    return done.returncode, [_short(argv) for argv in made], done.stderr


def _short(argv: list[str]) -> str:
    return " ".join([argv[0], *(word for word in ("--execute", "--resume") if word in argv)])


@pytest.mark.promise("approval-is-a-persons")
def test_without_approval_it_rehearses_and_says_how_to_go_on(tmp_path: Path) -> None:
    code, calls, words = night(tmp_path)
    assert (code, calls) == (0, [*UNTIL_CLEAN, *AFTER])
    command = f"clean --cluster prod-a --lists hdfs://ns1/walsafe/lists --run-id {RUN}"
    assert re.search(f"nothing was moved.*\n.*{re.escape(command)} .* --execute$", words, re.MULTILINE)


def test_with_it_it_cleans_within_the_limits(tmp_path: Path) -> None:
    code, calls, _ = night(tmp_path, APPROVAL="automatic", MAX_FILES="5")
    assert (code, calls) == (0, [*UNTIL_CLEAN, "clean --execute", *AFTER])
    argv = [json.loads(line)["argv"] for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    assert [one[one.index("--max-files") + 1] for one in argv if one[0] == "clean"] == ["5", "5"]
    assert not any("--before-grace" in one for one in argv)


@pytest.mark.parametrize(("answer", "goes_on"), [(0, True), (5, True), (3, False), (2, False), (1, False)])
def test_reconciles_exit_code_is_the_gate(tmp_path: Path, answer: int, goes_on: bool) -> None:
    code, calls, _ = night(tmp_path, {"reconcile": [{"code": answer}]})
    assert code == answer
    assert calls == ([*UNTIL_CLEAN, *AFTER] if goes_on else ["capture", "reconcile"])


def test_a_new_error_finding_is_the_nights_exit_code_unless_a_later_job_stops_it(tmp_path: Path) -> None:
    code, _, words = night(tmp_path, {"reconcile": [{"code": 5}]}, APPROVAL="automatic")
    assert code == 5
    assert "An error finding is new" in words
    later = tmp_path / "later"
    later.mkdir()
    assert night(later, {"reconcile": [{"code": 5}], "purge": [{"code": 3}]})[0] == 3


def test_reconcile_writes_the_page_and_the_metrics_where_the_settings_name_a_place(tmp_path: Path) -> None:
    night(tmp_path, REPORTS="file:///pages", METRICS="/metrics/a.prom")
    argv = [json.loads(line)["argv"] for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    (reconcile,) = [one for one in argv if one[0] == "reconcile"]
    assert reconcile[-6:-2] == ["--reports", "file:///pages", "--metrics", "/metrics/a.prom"]
    assert not any("--reports" in one or "--metrics" in one for one in argv if one[0] != "reconcile")


def test_only_4_is_tried_again_and_only_so_often(tmp_path: Path) -> None:
    code, calls, _ = night(tmp_path, {"capture": [{"code": 4}, {"code": 4}, {}], "purge": [{"code": 4}]}, TRIES="3")
    assert code == 4
    assert calls == ["capture", "capture", *UNTIL_CLEAN, *["purge --execute"] * 3]


def test_a_clean_that_was_begun_is_resumed(tmp_path: Path) -> None:
    script = {"clean prod-a --execute": [{"code": 4}, {"code": 3, "result": BEFORE}]}
    code, calls, _ = night(tmp_path, script, APPROVAL="automatic")
    cleans = ["clean --execute", "clean --execute", "clean --resume"]
    assert (code, calls) == (0, [*UNTIL_CLEAN, *cleans, *AFTER])


def test_a_clean_that_is_refused_ends_the_night(tmp_path: Path) -> None:
    undone = RefusedError(
        Condition.LIST_RESTORED_OR_PURGED, 'the list was cleaned before; "condition": "LIST_ALREADY_CLEANED"'
    )
    for number, answer in enumerate([{"code": 3}, {"code": 3, "result": _failed("clean", undone).result}]):
        folder = tmp_path / str(number)
        folder.mkdir()
        code, calls, _ = night(folder, {"clean prod-a --execute": [answer]}, APPROVAL="automatic")
        assert (code, calls) == (3, [*UNTIL_CLEAN, "clean --execute"])


@pytest.mark.parametrize("approval", ["automatic", "manual"])
def test_a_finding_that_pauses_the_clean_up_stops_the_night_before_it(tmp_path: Path, approval: str) -> None:
    pause = unknown_pause("prod-a", "r", "was REFUSED", "the master moved")
    rehearsed = say_pause_first(JobResult(0, {"done_files": 7}, "Would move"), pause).result
    code, calls, words = night(tmp_path, {"clean": [{"result": rehearsed}]}, APPROVAL=approval)
    assert (code, calls) == (3, UNTIL_CLEAN)
    assert "nothing is cleaned or purged: a finding pauses the clean-up" in words


def test_nothing_that_pauses_stops_nothing(tmp_path: Path) -> None:
    rehearsed = say_pause_first(JobResult(0, {"done_files": 7}, "Would move"), None).result
    code, calls, _ = night(tmp_path, {"clean": [{"result": rehearsed}]}, APPROVAL="automatic")
    assert (code, calls) == (0, [*UNTIL_CLEAN, "clean --execute", *AFTER])


def test_one_night_of_a_cluster_at_a_time(tmp_path: Path) -> None:
    state = tmp_path / f"state-{RUN}"
    state.mkdir()
    with (state / "prod-a.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, calls, words = night(tmp_path)
    assert (code, calls) == (75, [])
    assert "a night of prod-a is still running" in words


def test_cron_and_systemd_start_the_script_that_is_there(tmp_path: Path) -> None:
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
    for name in ("walsafe-nightly@.service", "walsafe-failed@.service", "walsafe-nightly@.timer"):
        text = (NIGHTLY / name).read_text().replace("/opt/walsafe", str(PROJECT)).replace("User=walsafe", "")
        (tmp_path / name.replace("@", "@prod-a")).write_text(text)
        sections = re.findall(r"^\[(\w+)\]$", text, re.MULTILINE)
        assert sections == (["Unit", "Service"] if name.endswith("service") else ["Unit", "Timer", "Install"])
        assert all(re.match(r"(#|\[|\w+=|$)", line) for line in text.splitlines())
    analyze = shutil.which("systemd-analyze")
    if analyze:
        names = ("walsafe-nightly@prod-a.service", "walsafe-failed@prod-a.service", "walsafe-nightly@prod-a.timer")
        units = [str(tmp_path / name) for name in names]
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
