"""Turns a history of the model into the snapshot that its capture would write, for the jobs and for property tests."""

from collections.abc import Sequence
from dataclasses import replace

from jobs.demo.cluster.capture import in_scan_order
from jobs.demo.cluster.model import MIB, GeneratedCapture
from jobs.demo.cluster.snapshots import RETENTION
from pipelines.common.instants import DAY_MS
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.snapshot.model import CaptureStep
from tests.models.capture.capture import list_files
from tests.models.capture.game import Game, Plan, State
from tests.models.capture.ruling import LISTED_AT
from tests.models.capture.scope import Scope
from tests.models.capture.shrink import run
from tests.models.capture.turns import Move
from tests.models.capture.walk import Walk

_AGE_MS = 30 * DAY_MS
"""Of every listed WAL: older than any time to live."""


def captured(history: Walk[Scope, State], ended: int) -> GeneratedCapture:
    """Returns the result of a history's capture.

    A capture that stopped because nothing was left to lose is finished first.

    Args:
        history: a history of the design; a mutant reads in another order, which no snapshot may have.
        ended: the end of the capture, ms.
    """
    game = Game(Plan(history.scope))
    names, moves = game.judge.names, history.moves
    # the game forgets listed files that nobody needs
    listed = list_files(_after(game, moves[: moves.index(("files", ()))]).world)
    seen = game.seen(_read_on(game, _after(game, moves)))
    snapshot, _ = game.judge.snapshot(seen)
    later = ended - snapshot.steps[-1].finished_at
    snapshot = replace(
        snapshot,
        cluster=f"history-{history.seed}",
        cluster_id=None,
        retention=RETENTION,
        steps=tuple(CaptureStep(one.step, one.started_at + later, one.finished_at + later) for one in snapshot.steps),
    )
    files = (ArchivedFile(f"oldWALs/{names.wal(*wal)}", MIB, LISTED_AT + later - _AGE_MS) for wal in listed)
    return GeneratedCapture(
        snapshot,
        tuple(sorted(files, key=lambda file: file.path)),
        in_scan_order(cell for row in seen.queues_1 for cell in names.written(row)),
        in_scan_order(cell for row in seen.queues_2 for cell in names.written(row)),
    )


def _after(game: Game, moves: Sequence[Move]) -> State:
    state = run(game, moves)
    if state is None:
        raise ValueError(f"no history of {game.plan.scope.name}: {moves}")
    return state


def _read_on(game: Game, state: State) -> State:
    """Returns the state after the remaining reads; waits for a master that is loading, as the capture does."""
    while not game.is_over(state):
        after = game.look(state)
        if after is None:
            load = next(action for action in game.actions(state) if action[0].__name__ == "load")
            after = game.act(state, load)
        state = after
    return state
