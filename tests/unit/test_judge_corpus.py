"""The judge's saved answers, without HBase: both rules agree with them, no mutant of either does (docs/judge.md)."""

import json

import pytest

from tests.judge.comparison import mismatches
from tests.judge.corpus import Entry, entries, words
from tests.judge.mutants import MUTANTS, caught_on
from tests.judge.record import BEGIN, END, PAGE, RECORD, block
from tests.judge.states import parse_state, state_document

CORPUS = entries()


@pytest.mark.parametrize("entry", CORPUS, ids=lambda entry: entry.name)
def test_both_rules_agree_with_the_recorded_answers(entry: Entry) -> None:
    assert [str(one) for one in mismatches(entry.state, entry.answers)] == []
    view = entry.state.view
    assert tuple(words(file, view) for file in entry.state.files) == entry.ours


def test_a_state_is_read_back_as_it_was_written() -> None:
    for entry in CORPUS:
        assert parse_state(json.loads(json.dumps(state_document(entry.state)))) == entry.state


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_caught(mutant: str) -> None:
    assert any(caught_on(mutant, entry.state, entry.answers) is not None for entry in CORPUS)


def test_the_page_shows_the_record() -> None:
    shown = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert f"{BEGIN}{shown}{END}" == block(json.loads(RECORD.read_text(encoding="utf-8")))
