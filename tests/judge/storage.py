"""What the judges of both queue storages share: saved states, kinds of answer, and how a state is made small.

For each kind of answer, which is our reason, HBase's answer and our transcription's, the corpus keeps the smallest
state that shows it; for each mutant of a rule the smallest that tells it from the truth. `./tests/run --deep` adds what
it meets for the first time, and the shrunk state of a mismatch.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from hypothesis.strategies import SearchStrategy

from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.verdict import ArchivedFile, decide
from tests.judge.comparison import Answer, Mismatch
from tests.judge.record import Place
from tests.judge.states import one_line_each


class State(Protocol):
    """A fabricated state of a cluster, and files to ask about."""

    @property
    def view(self) -> ClusterView:
        """What our rules see of it."""

    @property
    def files(self) -> tuple[ArchivedFile, ...]:
        """The files, all in oldWALs."""


StateT = TypeVar("StateT", bound=State)


@dataclass(frozen=True)
class Entry(Generic[StateT]):
    """One saved state.

    Attributes:
        name: of its file.
        answers: the real cleaner's, one for each file of the state.
        ours: `DELETABLE REPLICATED` and so on.
    """

    name: str
    state: StateT
    answers: tuple[Answer, ...]
    ours: tuple[str, ...]


@dataclass(frozen=True)
class Storage(Generic[StateT]):
    """One queue storage, as its judge sees it.

    Attributes:
        folder: of the corpus.
        place: of the record of the last long run.
        states: hypothesis' strategy.
        parse: a state from its document.
        document: the inverse.
        alone: the state with one of its files only, by number.
        smaller: the state without one of its parts, for each part.
        aside: what a kind says besides of a file and the real answer: where the transcription differs.
        mismatches: every file on which a rule and the real cleaner differ without a reason.
        mutants: by name.
        caught_on: the number of a file on which a mutant differs from the real answers without a reason, or None.
    """

    folder: Path
    place: Place
    states: Callable[[], SearchStrategy[StateT]]
    parse: Callable[[Mapping[str, Any]], StateT]
    document: Callable[[StateT], Mapping[str, object]]
    alone: Callable[[StateT, int], StateT]
    smaller: Callable[[StateT], Iterator[StateT]]
    aside: Callable[[StateT, ArchivedFile, Answer], str]
    mismatches: Callable[[StateT, Sequence[Answer]], list[Mismatch]]
    mutants: Collection[str]
    caught_on: Callable[[str, StateT, Sequence[Answer]], int | None]

    def entries(self) -> list[Entry[StateT]]:
        """All of the corpus."""
        return [self._entry(path) for path in sorted(self.folder.glob("*.json"))]

    def _entry(self, path: Path) -> Entry[StateT]:
        document = json.loads(path.read_text(encoding="utf-8"))
        return Entry(path.stem, self.parse(document), tuple(document["hbase"]), tuple(document["ours"]))

    def save(self, name: str, state: StateT, answers: Sequence[Answer]) -> Path:
        """Write one state to the corpus."""
        ours = [words(file, state.view) for file in state.files]
        path = self.folder / f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}.json"
        path.parent.mkdir(exist_ok=True)
        document = {**self.document(state), "hbase": list(answers), "ours": ours}
        path.write_text(one_line_each(document), encoding="utf-8")
        return path

    def kind_of_each(self, state: StateT, answers: Sequence[Answer]) -> list[str]:
        """The kind of answer on each file."""
        return [
            f"{words(file, state.view)}, HBase {real}{self.aside(state, file, real)}"
            for file, real in zip(state.files, answers, strict=True)
        ]

    def kinds(self, state: StateT, answers: Sequence[Answer]) -> Mapping[str, int]:
        """The kinds of answer in a state, each with the number of a file that shows it."""
        found: dict[str, int] = {}
        for number, kind in enumerate(self.kind_of_each(state, answers)):
            found.setdefault(kind, number)
        return found

    def smallest(
        self,
        state: StateT,
        number: int,
        ask: Callable[[StateT], Sequence[Answer]],
        shows: Callable[[StateT, Sequence[Answer]], bool],
    ) -> tuple[StateT, Sequence[Answer]]:
        """The state without whatever it does not need to show it; one file is left.

        Args:
            state: shows it on one of its files.
            number: of that file.
            ask: the real cleaner.
            shows: whether a smaller state still does.
        """
        state = self.alone(state, number)
        answers, shrunk = ask(state), True
        while shrunk:
            shrunk = False
            for smaller in self.smaller(state):
                answers_now = ask(smaller)
                if shows(smaller, answers_now):
                    state, answers, shrunk = smaller, answers_now, True
                    break
        return state, answers


def words(file: ArchivedFile, view: ClusterView) -> str:
    """Our answer on one file."""
    decision = decide(file, view)
    return f"{decision.verdict.value} {decision.reason.value}"
