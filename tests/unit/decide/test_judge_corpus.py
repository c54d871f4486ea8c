"""The judges' saved answers, without HBase: both rules agree with them, no mutant of either does (docs/judge.md)."""

import json
from typing import Any

import pytest

from tests.judge.corpus import QUEUE_TABLE
from tests.judge.record import block
from tests.judge.storage import Entry, Storage, words
from tests.judge.zookeeper_corpus import QUEUE_ZNODES

STORAGES: dict[str, Storage[Any]] = {"table": QUEUE_TABLE, "zookeeper": QUEUE_ZNODES}
CORPUS: dict[str, list[Entry[Any]]] = {name: storage.entries() for name, storage in STORAGES.items()}
ENTRIES = [(name, entry) for name, entries in CORPUS.items() for entry in entries]
MUTANTS = [(name, mutant) for name, storage in STORAGES.items() for mutant in storage.mutants]


@pytest.mark.promise("real-cleaner-judges-made-up-states")
@pytest.mark.parametrize(("name", "entry"), ENTRIES, ids=lambda one: one if isinstance(one, str) else one.name)
def test_both_rules_agree_with_the_recorded_answers(name: str, entry: Entry[Any]) -> None:
    assert [str(one) for one in STORAGES[name].mismatches(entry.state, entry.answers)] == []
    assert tuple(words(file, entry.state.view) for file in entry.state.files) == entry.ours


@pytest.mark.parametrize("name", STORAGES)
def test_a_state_is_read_back_as_it_was_written(name: str) -> None:
    storage = STORAGES[name]
    for entry in CORPUS[name]:
        assert storage.parse(json.loads(json.dumps(storage.document(entry.state)))) == entry.state


@pytest.mark.promise("mutants-make-the-gate-fire")
@pytest.mark.parametrize(("name", "mutant"), MUTANTS)
def test_a_mutant_is_caught(name: str, mutant: str) -> None:
    assert any(STORAGES[name].caught_on(mutant, entry.state, entry.answers) is not None for entry in CORPUS[name])


def test_the_corpus_of_queues_in_zookeeper_has_what_matters_in_it() -> None:
    kinds = {kind for entry in CORPUS["zookeeper"] for kind in QUEUE_ZNODES.kinds(entry.state, entry.answers)}
    wanted = {"DELETABLE NOT_QUEUED, HBase DELETE", "HELD PENDING, HBase KEEP", "HELD PENDING, HBase DELETE"}
    assert kinds >= {*wanted, "HELD SNAPSHOT_UNTRUSTED, HBase BLOCKED"}


@pytest.mark.parametrize("name", STORAGES)
def test_the_page_shows_the_record(name: str) -> None:
    place = STORAGES[name].place
    assert place.shown() == block(json.loads(place.path.read_text(encoding="utf-8")), place)
