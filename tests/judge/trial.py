"""A real cleaner asked about states: each answer is checked, and what is new goes into the corpus."""

import os
import time
from collections.abc import Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

from hypothesis import HealthCheck, given, seed, settings

from tests.judge.comparison import Answer
from tests.judge.record import Record
from tests.judge.storage import StateT, Storage

SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck))
STATES_PER_ROUND = 500
SECONDS_ENV = "WALSAFE_JUDGE_SECONDS"
AskedT_contra = TypeVar("AskedT_contra", contravariant=True)


class RealCleaner(Protocol[AskedT_contra]):
    """HBase's ReplicationLogCleaner in a real cluster."""

    def answers(self, state: AskedT_contra) -> Sequence[Answer]:
        """Its answers on the files of a state that is made first, in their order."""


class Trial(Generic[StateT]):
    """One storage before its judge."""

    def __init__(self, storage: Storage[StateT], judge: RealCleaner[StateT]) -> None:
        self._storage, self._judge = storage, judge

    def check(self, state: StateT, answers: Sequence[Answer]) -> None:
        """No rule differs from the real answers; of a shrunk mismatch the last is the smallest, and stays saved."""
        found = self._storage.mismatches(state, answers)
        if found:
            kept = self._storage.save("found", state, answers)
            raise AssertionError("\n".join((*map(str, found), f"kept as {kept.name}")))

    def random_states(self, count: int) -> None:
        """Ask about so many states."""

        @settings(SETTINGS, max_examples=count)
        @given(self._storage.states())
        def every(state: StateT) -> None:
            self.check(state, self._judge.answers(state))

        every()

    def many_random_states(self, hbase: str) -> None:
        """A round for each seed, until the time is over; what was met is written down, new kinds are saved.

        Args:
            hbase: its version.
        """
        limit = int(os.environ.get(SECONDS_ENV, "1800"))
        first = number = int(time.time()) // 86_400 * 100_000
        record = Record(hbase=hbase, states_per_round=STATES_PER_ROUND)
        new = _Novelties(self._storage, self._judge)
        faults: list[str] = []
        started = time.monotonic()
        while time.monotonic() - started < limit:
            try:
                self._round(record, new, number)
            except AssertionError as error:
                faults.append(f"seed {number}: {error}")
            number += 1
        record.seeds = (first, number - 1)
        record.seconds = round(time.monotonic() - started)
        record.mismatches = len(faults)
        record.finished = time.strftime("%Y-%m-%d", time.gmtime())
        record.write(self._storage.place)
        assert not faults, "\n".join(faults)

    def _round(self, record: Record, new: "_Novelties[StateT]", number: int) -> None:
        @seed(number)
        @settings(SETTINGS, max_examples=STATES_PER_ROUND, database=None)
        @given(self._storage.states())
        def every(state: StateT) -> None:
            answers = self._judge.answers(state)
            record.states += 1
            record.files += len(state.files)
            record.kinds.update(self._storage.kind_of_each(state, answers))
            self.check(state, answers)
            new.look_for(state, answers)

        every()


class _Novelties(Generic[StateT]):
    """What the corpus has no state for yet: kinds of answer, and mutants that none of its states catches."""

    def __init__(self, storage: Storage[StateT], judge: RealCleaner[StateT]) -> None:
        self._storage, self._judge = storage, judge
        corpus = storage.entries()
        self._kinds = {kind for entry in corpus for kind in storage.kinds(entry.state, entry.answers)}
        self._at_large = [
            mutant
            for mutant in storage.mutants
            if all(storage.caught_on(mutant, entry.state, entry.answers) is None for entry in corpus)
        ]

    def look_for(self, state: StateT, answers: Sequence[Answer]) -> None:
        """Adds the state to the corpus, made small, once for each thing that it is the first to show."""
        for kind, number in self._storage.kinds(state, answers).items():
            if kind not in self._kinds:
                self._kinds.add(kind)
                self._save(kind, state, number, partial(self._shows, kind))
        for mutant in tuple(self._at_large):
            caught = self._storage.caught_on(mutant, state, answers)
            if caught is not None:
                self._at_large.remove(mutant)
                self._save(f"mutant {mutant}", state, caught, partial(self._tells, mutant))

    def _save(self, name: str, state: StateT, number: int, shows: "partial[bool]") -> None:
        self._storage.save(name, *self._storage.smallest(state, number, self._judge.answers, shows))

    def _shows(self, kind: str, state: StateT, answers: Sequence[Answer]) -> bool:
        return kind in self._storage.kinds(state, answers)

    def _tells(self, mutant: str, state: StateT, answers: Sequence[Answer]) -> bool:
        return self._storage.caught_on(mutant, state, answers) is not None
