"""./tests/run --search: it plays on all cores, goes on where it was, and says 3 when something breaks."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from pipelines.common.errors import EXIT_UNAVAILABLE, EXIT_USAGE, UsageError
from pipelines.decide.rule.verdict import decide
from pipelines.snapshot.snapshot_json import parse_snapshot
from tests.labs.places import PROJECT
from tests.labs.small_cluster import NOW
from tests.models import cores
from tests.models.capture.batch import code_sha256, play_range
from tests.models.capture.captured import captured
from tests.models.capture.walk import walk
from tests.models.commands import COMMANDS, LocalContext, main, parse, seeds
from tests.models.commands.seeds import Request, play_seeds, replay
from tests.models.cores import side_by_side
from tests.strategies import view_of
from tests.strategies.generated import case_of

HISTORY = 755
"""A row moves behind the scanner; files that are REPLICATED can be deleted nevertheless."""
RANGE = 200
"""Smaller than the starter's own, so that a test takes seconds."""


def rows_of(record: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in record.read_text().splitlines()]


def test_a_command_stops_the_session_that_it_has_built() -> None:
    context = LocalContext("split")
    context.close()
    context.__dict__["spark"] = session = Mock()
    context.close()
    session.stop.assert_called_once()


@pytest.mark.long
@pytest.mark.promise("simulate-plays-seeds")
def test_seeds_are_played_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds, "RANGE", RANGE)
    record = tmp_path / "new" / "record.jsonl"
    first, _ = play_seeds(Request(0, 2 * RANGE - 50, "design", record))
    again, text = play_seeds(Request(RANGE // 2, 2 * RANGE + 50, "design", record))
    assert (first["histories"], first["played_before"], first["violations"]) == (2 * RANGE, 0, 0)
    assert (again["histories"], again["played_before"], again["first_seed"]) == (3 * RANGE, 2 * RANGE, 0)
    rows = rows_of(record)
    assert [row["first_seed"] for row in rows] == [0, RANGE, 2 * RANGE]
    here = play_range(RANGE, RANGE, "design")
    assert (rows[1]["contested"], rows[1]["moves"]) == (here.contested, here.moves), "other processes play the same"
    assert "0 lost data" in text
    without, _ = play_seeds(Request(0, 3 * RANGE, "design"))
    assert {**without, "cpu_ms": 0} == {**again, "played_before": 0, "cpu_ms": 0}, "nothing depends on the record"


def test_a_run_that_is_stopped_goes_on_with_the_rest_and_believes_no_other_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeds, "RANGE", 50)
    record = tmp_path / "record.jsonl"
    request = Request(0, 300, "design", record)
    with monkeypatch.context() as earlier:
        earlier.setattr(seeds, "code_sha256", lambda: "0" * 64)
        play_seeds(Request(0, 50, "design", record))

    def stopped(play: partial[object], work: list[int]) -> Iterator[object]:
        yield from map(play, work[:2])
        raise KeyboardInterrupt

    with monkeypatch.context() as stopping:
        stopping.setattr(seeds, "side_by_side", stopped)
        with pytest.raises(KeyboardInterrupt):
            play_seeds(request)
    with record.open("a") as torn:
        torn.write('{"mutant": "design", "code_sha')
    rest, _ = play_seeds(request)
    assert (rest["histories"], rest["played_before"]) == (300, 100)
    again, _ = play_seeds(request)
    assert again == {**rest, "played_before": 300}, "nothing is left to play, and the answer is the same"
    firsts = [row["first_seed"] for row in rows_of(record) if row["code_sha256"] == code_sha256()]
    assert sorted(firsts) == list(range(0, 300, 50)), "each range once"


@pytest.mark.parametrize("line", ["no json", "[1]", '{"mutant": "design"}', '{"mutant": "design", "code_sha256": "x"}'])
def test_what_is_no_record_is_not_written_to(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "record.jsonl"
    text = line.replace('"x"', f'"{code_sha256()}"') + "\n"
    record.write_text(text)
    assert main(["capture", "--seeds", "1000", "--record", str(record)]) == EXIT_USAGE
    assert f"{record}, line 1: not a range of seeds" in capsys.readouterr().err
    assert record.read_text() == text


def test_a_record_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    assert main(["capture", "--seeds", "1000", "--record", str(tmp_path)]) == EXIT_UNAVAILABLE


def test_violations_are_recorded_with_their_shortest_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "record.jsonl"
    assert main(["capture", "--seeds", "1000", "--record", str(record), "--mutant", "no-directories"]) == 3
    (row,) = rows_of(record)
    assert row["mutant"] == "no-directories"
    one = row["violations"][0]
    assert one["reason"] == "DEAD_NO_QUEUE"
    assert "crashes: off the online list, no crash procedure yet" in one["replay"]
    assert one["replay"] in capsys.readouterr().out
    assert main(["capture", "--seeds", "1000", "--record", str(record), "--mutant", "no-directories"]) == 3
    assert one["replay"] in capsys.readouterr().out, "from the record"


@pytest.mark.long
def test_queues_in_zookeeper_are_played_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeds, "RANGE", RANGE)
    record = tmp_path / "record.jsonl"
    arguments = ["capture", "--seeds", str(RANGE), "--record", str(record), "--queue-storage", "zookeeper"]
    assert main([*arguments, "--mutant", "zk-own-queues-only"]) == 3
    (row,) = rows_of(record)
    assert row["contested"] > 20
    assert "claims queue" in row["violations"][0]["replay"]
    assert row["violations"][0]["replay"] in capsys.readouterr().out


def test_one_history_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capture", "--replay", "7"]) == 0
    out = capsys.readouterr().out
    assert "Seed 7, mutant design" in out
    assert "capture: files" in out
    assert main(["capture", "--replay", "7", "--queue-storage", "zookeeper"]) == 0
    out = capsys.readouterr().out
    assert "Seed 7, mutant zk-design" in out
    assert "capture: queues-1, servers" in out


def test_the_capture_of_a_history_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "history"
    arguments = ["capture", "--replay", str(HISTORY), "--out", str(out)]
    assert main(arguments) == 0
    assert f"reconcile --snapshot {out}" in capsys.readouterr().out
    snapshot = parse_snapshot(json.loads((out / "snapshot.json").read_text()))
    made = captured(walk(HISTORY), snapshot.steps[-1].finished_at)
    assert replace(snapshot, contents={}) == made.snapshot
    assert snapshot.contents["files/part-00000.parquet"].rows == len(made.files)
    assert main(arguments) == EXIT_USAGE, "a snapshot is never written over"


def test_the_history_has_what_a_reader_wants_to_see() -> None:
    """Another model has other histories: then take another seed."""
    case = case_of(captured(walk(HISTORY), NOW))
    assert case.snapshot.peers
    assert {decide(file, view_of(case)).reason.value for file in case.files} == {
        "REPLICATED",
        "PENDING",
        "CLUSTER_MOVED",
    }


def test_a_mutant_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match=r"docs/proof\.md"):
        replay(1, "no-such-mutant")


@pytest.mark.parametrize(
    "wrong",
    [
        ["--seeds", "0"],
        ["--seeds", "5", "--first-seed", "-1"],
        [],
        ["--seeds", "1", "--replay", "2"],
        ["--seeds", "1", "--out", "y"],
        ["--replay", "1", "--record", "x"],
        ["--replay", "1", "--out", "y", "--mutant", "one-pass"],
        ["--replay", "1", "--out", "y", "--queue-storage", "zookeeper"],
        ["--replay", "1", "--mutant", "one-pass", "--queue-storage", "zookeeper"],
    ],
)
def test_wrong_usage_is_refused(wrong: list[str]) -> None:
    assert main(["capture", *wrong]) == 2


@pytest.mark.long
def test_rows_and_seeds_of_a_split_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*options: str) -> tuple[int, dict[str, Any]]:
        code = main(["split", *options, "--result", f"{tmp_path}/result.json"])
        return code, json.loads((tmp_path / "result.json").read_text())

    code, result = run("--rows", "F2", "F11", "--seeds", "600")
    assert (code, result["broken"]) == (0, 0)
    assert [one["subject"] for one in result["played"]] == ["F2", "F11", "seeds 0 to 499", "seeds 500 to 999"]
    code, result = run("--rows", "F11", "--design", "shipped")
    assert (code, result["played"][0]["broken"]) == (3, "STUCK")
    for options, words in (
        (("--rows", "F99"), "no row 'F99'"),
        (("--rows", "F2", "--design", "x"), "no design 'x'"),
        ((), "give --rows or --seeds"),
        (("--emit", f"{tmp_path}/x", "--seeds", "500"), "give --rows or --seeds"),
        (("--audits", f"{tmp_path}"), "not empty"),
        (("--rows", "F2", "--confirmed", "3"), "with --emit"),
        (("--emit", f"{tmp_path}/x", "--rows", "F2", "F32"), "cancelled as a whole"),
        (("--emit", f"{tmp_path}", "--groups", "3"), "a power of two"),
        (("--emit", f"{tmp_path}"), "not empty"),
    ):
        capsys.readouterr()
        assert run(*options)[0] == 2
        assert words in capsys.readouterr().err


def test_work_is_spread_over_processes_and_keeps_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = "echo $PPID"  # the process that asks
    monkeypatch.setattr(cores.os, "cpu_count", lambda: 2)
    assert str(os.getpid()) not in set(side_by_side(subprocess.getoutput, [asked, asked]))
    assert list(side_by_side(abs, range(-5, 0))) == [5, 4, 3, 2, 1]
    monkeypatch.setattr(cores.os, "cpu_count", lambda: None)
    assert set(side_by_side(subprocess.getoutput, [asked, asked])) == {str(os.getpid())}, "of one core: here"


def test_the_starter_is_a_program_with_one_object_on_standard_output() -> None:
    command = [sys.executable, "-m", "tests.models", "capture", "--seeds", "2000", "--output", "json"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert (answer["job"], answer["exit_code"], answer["histories"], answer["violations"]) == ("capture", 0, 2000, 0)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_model_says_what_the_overview_says_and_its_examples_are_taken(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = COMMANDS[name].load()
    with pytest.raises(SystemExit) as end:
        parse(["--help"])
    assert end.value.code == 0
    overview = capsys.readouterr().out
    assert COMMANDS[name].help in overview
    examples = re.findall(r"^ +\./tests/run --search ([^\n]*)", overview + model.DESCRIPTION, re.MULTILINE)
    assert len(examples) > 6
    for example in examples:
        parse(shlex.split(example, comments=True))  # SystemExit tells what it does not take


@pytest.mark.parametrize("words", [[], ["simulate"]])
def test_what_is_no_model_is_refused_with_those_there_are(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse(words)
    assert end.value.code == 2
    assert "Models: capture, split." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "started"),
    [
        (["--search", "capture", "--help"], ["-m", "tests.models", "capture", "--help"]),
        (["--search"], ["-m", "tests.models"]),
        (["--fast", "x y"], ["-m", "pytest", "-n", "2", "*", "--size", "fast", "x y"]),
    ],
)
def test_the_script_sets_up_and_starts_the_models_or_pytest(
    given: list[str], started: list[str], tmp_path: Path
) -> None:
    """With a set-up that only says so, and a Python that says what it was asked."""
    for folder in ("tests", "scripts", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(PROJECT / "tests" / "run", tmp_path / "tests" / "run")
    (tmp_path / "scripts" / "environment.sh").write_text(
        'set_up() { echo "set up $1"; }\nfind_java() { JAVA=/usr/bin/java; }\n'
    )
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text('#!/usr/bin/env bash\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    done = subprocess.run(
        [tmp_path / "tests" / "run", *given], capture_output=True, text=True, check=True, cwd=tmp_path.parent
    )
    head, *words = done.stdout.splitlines()
    assert head == "set up -dev"
    if "*" in started:
        place = started.index("*")
        assert words[:place] == started[:place]
        assert words[-len(started) + place + 1 :] == started[place + 1 :]
    else:
        assert words == started
