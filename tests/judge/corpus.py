"""The saved states, each with what HBase and walsafe say.

For each kind of answer, which is our reason, HBase's answer and our transcription's, the smallest state that shows it;
for each mutant of a rule the smallest that tells it from the truth. `./tests/run --deep` adds what it meets for the
first time, and the shrunk state of a mismatch.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pipelines.domain.cleaner_rule import hbase_verdict
from pipelines.domain.cluster_view import ClusterView
from pipelines.domain.verdict import ArchivedFile, decide
from tests.judge.comparison import Answer
from tests.judge.states import JudgedState, one_line_each, parse_state, state_document

FOLDER = Path(__file__).resolve().parents[1] / "corpus" / "judge"


@dataclass(frozen=True)
class Entry:
    """One saved state.

    Attributes:
        name: of its file.
        answers: the real cleaner's, one for each file of the state.
        ours: `DELETABLE REPLICATED` and so on.
    """

    name: str
    state: JudgedState
    answers: tuple[Answer, ...]
    ours: tuple[str, ...]


def entries() -> list[Entry]:
    """All of the corpus."""
    return [_entry(path) for path in sorted(FOLDER.glob("*.json"))]


def _entry(path: Path) -> Entry:
    document = json.loads(path.read_text(encoding="utf-8"))
    return Entry(path.stem, parse_state(document), tuple(document["hbase"]), tuple(document["ours"]))


def save(name: str, state: JudgedState, answers: Sequence[Answer]) -> Path:
    """Write one state to the corpus."""
    view = state.view
    document = {
        **state_document(state),
        "hbase": list(answers),
        "ours": [words(file, view) for file in state.files],
    }
    path = FOLDER / f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}.json"
    path.write_text(one_line_each(document), encoding="utf-8")
    return path


def words(file: ArchivedFile, view: ClusterView) -> str:
    """Our answer on one file."""
    decision = decide(file, view)
    return f"{decision.verdict.value} {decision.reason.value}"


def kind_of_each(state: JudgedState, answers: Sequence[Answer]) -> list[str]:
    """The kind of answer on each file."""
    view = state.view
    doubled = any(len(view.queues(peer, source)) > 1 for peer in view.peer_ids for source in view.rows_of_source)
    found = []
    for file, real in zip(state.files, answers, strict=True):
        kind = f"{words(file, view)}, HBase {real}"
        transcribed = hbase_verdict(file.name, view).value
        if transcribed != real and (transcribed, real) != ("KEEP", "BLOCKED"):
            kind += f", transcribed {transcribed}{' of several rows' if doubled else ''}"
        found.append(kind)
    return found


def kinds(state: JudgedState, answers: Sequence[Answer]) -> Mapping[str, int]:
    """The kinds of answer in a state, each with the number of a file that shows it."""
    found: dict[str, int] = {}
    for number, kind in enumerate(kind_of_each(state, answers)):
        found.setdefault(kind, number)
    return found


def smallest(
    state: JudgedState,
    number: int,
    ask: Callable[[JudgedState], Sequence[Answer]],
    shows: Callable[[JudgedState, Sequence[Answer]], bool],
) -> tuple[JudgedState, Sequence[Answer]]:
    """The state without whatever it does not need to show it; one file is left.

    Args:
        state: shows it on one of its files.
        number: of that file.
        ask: the real cleaner.
        shows: whether a smaller state still does.
    """
    state = replace(state, files=(state.files[number],))
    answers = ask(state)
    shrunk = True
    while shrunk:
        shrunk = False
        for smaller in _smaller(state):
            answers_now = ask(smaller)
            if shows(smaller, answers_now):
                state, answers, shrunk = smaller, answers_now, True
                break
    return state, answers


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
