"""No line of what decides and what cleans up can be changed without a test that fails, or a reason why none has to."""

import importlib
import subprocess
import sys

import pytest

from tests.labs.places import PROJECT
from tests.mutation.__main__ import main
from tests.mutation.mutants import Source
from tests.mutation.record import digest_of, read_record
from tests.mutation.targets import GROUPS, Group, Target

TARGETS = [target for group in GROUPS for target in group.targets]
RECORD = read_record()


@pytest.mark.parametrize("target", TARGETS, ids=lambda one: one.name)
def test_the_record_is_of_the_lines_that_are_there(target: Target) -> None:
    """A reason for a line that is gone, or reads differently now, explains nothing, and a new line was not tried."""
    mutants = {mutant.key for mutant in Source(importlib.import_module(target.module), target.words).mutants()}
    recorded = RECORD[target.name]
    assert recorded.digest == digest_of(mutants), (
        f"try it again: python -m tests.mutation --target {target.name} --record"
    )
    assert set(recorded.survivors) <= mutants
    assert [key for key, why in recorded.survivors.items() if not why.strip()] == []


def test_the_record_names_no_module_twice_and_none_that_is_not_judged() -> None:
    names = [target.name for target in TARGETS]
    assert len(set(names)) == len(names)
    assert len({target.module for target in TARGETS}) == len(names)
    assert set(RECORD) == set(names)


@pytest.mark.parametrize("option", ["--group", "--target"])
def test_an_unknown_name_is_refused(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["mutation", option, "typo"])
    with pytest.raises(SystemExit):
        main()
    assert "no such group or target" in capsys.readouterr().err


@pytest.mark.deep
@pytest.mark.parametrize("group", GROUPS, ids=lambda one: one.name)
def test_a_test_fails_with_every_change_that_the_record_does_not_explain(group: Group) -> None:
    command = [sys.executable, "-m", "tests.mutation", "--group", group.name]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
