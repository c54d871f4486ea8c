"""Queues in the table `hbase:replication`, for the judge of HBase 3."""

from collections.abc import Iterator
from dataclasses import replace

from pipelines.decide.rule.cleaner_rule import hbase_verdict
from pipelines.decide.rule.verdict import ArchivedFile
from tests.judge.comparison import Answer, mismatches
from tests.judge.mutants import MUTANTS, caught_on
from tests.judge.record import TABLE
from tests.judge.states import JudgedState, judged_states, parse_state, state_document
from tests.judge.storage import Storage
from tests.labs.places import CORPUS


def _alone(state: JudgedState, number: int) -> JudgedState:
    return replace(state, files=(state.files[number],))


def _aside(state: JudgedState, file: ArchivedFile, real: Answer) -> str:
    view = state.view
    transcribed = hbase_verdict(file.name, view).value
    if transcribed == real or (transcribed, real) == ("KEEP", "BLOCKED"):
        return ""
    doubled = any(len(view.queues(peer, source)) > 1 for peer in view.peer_ids for source in view.rows_of_source)
    return f", transcribed {transcribed}{' of several rows' if doubled else ''}"


def _smaller(state: JudgedState) -> Iterator[JudgedState]:
    """The state without one of its parts."""
    for peer in state.peer_ids:
        yield replace(state, peer_ids=tuple(one for one in state.peer_ids if one != peer))
    for cell in state.cells:
        yield replace(state, cells=tuple(one for one in state.cells if one != cell))
    for directory in state.first.wal_directories:
        left = tuple(one for one in state.first.wal_directories if one != directory)
        yield replace(state, first=replace(state.first, wal_directories=left))
    for which, membership in (("first", state.first), ("second", state.second)):
        for kind in ("online", "crashing"):
            for server in sorted(getattr(membership, kind)):
                yield replace(state, **{which: replace(membership, **{kind: getattr(membership, kind) - {server}})})
    if state.barrier:
        yield replace(state, barrier=False)


QUEUE_TABLE = Storage(
    folder=CORPUS / "judge",
    place=TABLE,
    states=judged_states,
    parse=parse_state,
    document=state_document,
    alone=_alone,
    smaller=_smaller,
    aside=_aside,
    mismatches=mismatches,
    mutants=MUTANTS,
    caught_on=caught_on,
)
