"""A history of the model as a snapshot: decided on like any other, as the model itself decides on it."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

from jobs.demo.cluster.model import GeneratedCapture
from pipelines.decide.rule.verdict import Decision, Reason, decide
from pipelines.snapshot.snapshot_json import parse_snapshot, snapshot_document
from tests.models.capture.captured import captured
from tests.models.capture.game import Game, Plan
from tests.models.capture.walk import Walk, walk
from tests.strategies import view_of
from tests.strategies.clusters import NOW
from tests.strategies.generated import case_of

SEEDS = range(0, 20_000, 50)


@cache
def histories() -> tuple[tuple[Walk, GeneratedCapture], ...]:
    found = [walk(seed) for seed in SEEDS]
    return tuple((one, captured(one, NOW)) for one in found)


def decisions(made: GeneratedCapture) -> dict[str, Decision]:
    view = view_of(case_of(made))
    return {file.path: decide(file, view) for file in made.files}


def of_the_model(history: Walk) -> Iterator[tuple[str, Decision]]:
    """What the search has decided on: the listed WALs that are needed."""
    game = Game(Plan(history.scope))
    if game.is_over(history.state):
        seen = game.seen(history.state)
        for wal in game.files(history.state):
            yield f"oldWALs/{game.judge.names.wal(*wal)}", game.judge.decide(seen, wal)


def test_a_snapshot_of_a_history_is_decided_on_as_the_model_decides() -> None:
    compared = 0
    for history, made in histories():
        found = decisions(made)
        for path, decision in of_the_model(history):
            assert found[path] == decision, (history.seed, path)
            compared += 1
    assert compared > 300


def test_it_has_files_that_nobody_needs_too_and_every_reason_that_the_model_can_give() -> None:
    reasons = Counter(one.reason for _, made in histories() for one in decisions(made).values())
    assert {Reason.REPLICATED, Reason.DEAD_NO_QUEUE, Reason.PENDING, Reason.QUEUE_MISSING} <= set(reasons)
    assert {Reason.CLUSTER_MOVED, Reason.ADD_PEER_RUNNING, Reason.SNAPSHOT_UNTRUSTED} <= set(reasons)


def test_it_ends_when_it_is_told_to_and_its_document_is_read_back() -> None:
    for _, made in histories():
        assert made.snapshot.steps[-1].finished_at == NOW
        assert parse_snapshot(snapshot_document(made.snapshot)) == made.snapshot
