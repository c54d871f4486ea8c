"""Implements the clean-up's audit tables in memory; an append is one step, like a commit of Delta."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from pipelines.cleanup.audit_ports import AttemptEnd, CleanupAttempt, DecidedRun, OpenIntent
from pipelines.cleanup.deletions import PLACING_OUTCOMES, CleanupAction, CleanupFile, FileOutcome, FileResult
from pipelines.lake.run_summary import RunKey
from tests.labs.cleanup.memory import Disk, Process

_LEFT_THE_QUARANTINE = (FileOutcome.RESTORED, FileOutcome.PURGED, FileOutcome.ARCHIVED)


@dataclass(frozen=True)
class Row:
    """A row of `deletions`: an intent if it has no result; `place` is that of the intent."""

    run: RunKey
    action: CleanupAction
    lease: int
    batch: int
    at: int
    subject: CleanupFile
    result: FileResult | None = None
    place: str | None = None

    @property
    def key(self) -> tuple[object, ...]:
        return (self.run, self.subject.path, self.action, self.lease, self.batch)


@dataclass
class Lake:
    """The tables of the lake.

    Attributes:
        endings: how the attempts ended, in their order.
        untrue: the outcomes that were false when a job was about to record them; must stay empty.
    """

    decided: dict[str, DecidedRun] = field(default_factory=dict)
    cleanups: list[tuple[CleanupAttempt, str]] = field(default_factory=list)
    deletions: list[Row] = field(default_factory=list)
    endings: list[AttemptEnd] = field(default_factory=list)
    untrue: list[tuple[CleanupAction, FileResult]] = field(default_factory=list)

    def actions(self, run: RunKey) -> frozenset[CleanupAction]:
        """Returns the actions that occur in the intents of a run, as `LakeAudit.actions` does."""
        return frozenset(row.action for row in self.deletions if row.run == run and row.result is None)

    def unsettled(self, run: RunKey) -> list[Row]:
        done = {row.key for row in self.deletions if row.result}
        found = [row for row in self.deletions if row.run == run and row.result is None and row.key not in done]
        return sorted(found, key=lambda row: (row.lease, row.batch, row.subject.path))

    def placed(self, run: RunKey) -> dict[str, Row]:
        """Returns, for each path, the last row that determines where the file is, as `LakeAudit.outcomes` does."""
        rows = [
            row for row in self.deletions if row.run == run and row.result and row.result.outcome in PLACING_OUTCOMES
        ]
        return {row.subject.path: row for row in sorted(rows, key=lambda row: (row.lease, row.batch, row.at))}


class MemoryAudit:
    """Implements `CleanupAudit` for one process; an append is one step, like a commit of Delta.

    Args:
        places: returns the files below oldWALs, and those of a run in quarantine.
    """

    def __init__(
        self, lake: Lake, disk: Disk, process: Process, places: Callable[[str], tuple[set[int], set[int]]]
    ) -> None:
        self._places = places
        self._lake = lake
        self._disk = disk
        self._process = process
        self._ensured = False

    def ensure(self) -> None:
        self._process.alive()
        self._ensured = True

    def decided(self, _cluster: str, run_id: str) -> DecidedRun | None:
        return self._lake.decided.get(run_id)

    def started(self, attempt: CleanupAttempt, _files: int, _size: int) -> None:
        assert self._ensured, "nobody made sure of the tables"
        self._process.step("started", lambda: self._lake.cleanups.append((attempt, "STARTED")))

    def ended(self, attempt: CleanupAttempt, ending: AttemptEnd) -> None:
        def append() -> None:
            self._lake.cleanups.append((attempt, ending.status))
            self._lake.endings.append(ending)

        self._process.step("ended", append)

    def intend(
        self, attempt: CleanupAttempt, batch: int, subjects: Sequence[CleanupFile], places: Sequence[str] | None = None
    ) -> None:
        named = [(one, None, at) for one, at in zip(subjects, places or [None] * len(subjects), strict=True)]
        self._append("intend", attempt, batch, attempt.lease, named)

    def record(
        self, attempt: CleanupAttempt, batch: int, results: Sequence[FileResult], *, lease: int | None = None
    ) -> None:
        home, resting = self._places(attempt.run.run_id)
        for one in results:
            number, clean = one.subject.modification_time, attempt.action is CleanupAction.CLEAN
            moved, gone = one.outcome is FileOutcome.MOVED, one.outcome is FileOutcome.ALREADY_GONE
            failed, done = one.outcome is FileOutcome.FAILED, one.outcome in _LEFT_THE_QUARANTINE
            untrue = (
                (moved and number not in resting)
                or (gone and number in (home if clean else resting))
                or (failed and number in resting and clean)
                or (failed and number not in resting and not clean)
                or (done and number in resting)
                or (done and one.outcome is not FileOutcome.RESTORED and number in home)
            )
            # who was taken over since its last look may write what was so then: the next holder's rows come after it
            if untrue and self._disk.taken.get(attempt.run.run_id, 0) <= attempt.lease:
                self._lake.untrue.append((attempt.action, one))
        named = [(one.subject, one, None) for one in results]
        self._append("record", attempt, batch, attempt.lease if lease is None else lease, named)

    def _append(
        self,
        step: str,
        attempt: CleanupAttempt,
        batch: int,
        lease: int,
        named: Iterable[tuple[CleanupFile, FileResult | None, str | None]],
    ) -> None:
        assert self._ensured, "nobody made sure of the tables"
        rows = [Row(attempt.run, attempt.action, lease, batch, self._disk.now, *one) for one in named]
        self._process.step(step, lambda: self._lake.deletions.extend(rows))

    def actions(self, run: RunKey) -> frozenset[CleanupAction]:
        return self._lake.actions(run)

    def unsettled(self, run: RunKey) -> list[OpenIntent]:
        self._process.alive()
        return [
            OpenIntent(row.action, row.lease, row.batch, row.subject, row.place) for row in self._lake.unsettled(run)
        ]

    def taken(self, run: RunKey) -> dict[str, CleanupFile | None]:
        self._process.alive()
        rows = [
            row
            for row in self._lake.deletions
            if row.run == run and row.action is CleanupAction.CLEAN and not row.result
        ]
        moved = {
            path: row.subject
            for path, row in self._lake.placed(run).items()
            if row.result and row.result.outcome is FileOutcome.MOVED
        }
        return {row.subject.path: moved.get(row.subject.path) for row in rows}

    def moved_at(self, run: RunKey) -> int | None:
        rows = self._lake.placed(run).values()
        return max((row.at for row in rows if row.result and row.result.outcome is FileOutcome.MOVED), default=None)
