"""What clean, restore and purge did to a cluster, from the tables `cleanups` and `deletions`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from pipelines.common.instants import utc_day
from pipelines.lake.look_back import LOOK_BACK
from pipelines.lake.query import Query, day_literal, literal, rows_of
from pipelines.lake.run_summary import DONE, STARTED, STOPPED, RunKey
from schemas.cleanups import CLEANUPS
from schemas.deletions import DELETIONS

if TYPE_CHECKING:
    from pipelines.lake.reader import LakeReader

CLEAN, RESTORE, PURGE = "CLEAN", "RESTORE", "PURGE"
_ACTIONS = {"MOVED": CLEAN, "RESTORED": RESTORE, "PURGED": PURGE, "ARCHIVED": PURGE}
_COUNTED = frozenset({DONE, STOPPED})
"""An attempt that ended in another way may have touched files which its row of `cleanups` does not count."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The last row in `cleanups` of one attempt; fields are columns of the table. Instants in ms since the epoch."""

    action: str
    attempt: str
    status: str
    at: int
    done_files: int | None
    done_bytes: int | None
    left_files: int | None

    @property
    def emptied(self) -> bool:
        """Whether it left nothing of its run in the quarantine, whoever removed the files that it did not find."""
        return (self.action, self.status, self.left_files) == (PURGE, DONE, 0)

    def step(self, run: RunKey) -> "CleanupStep":
        """Returns what this row says about the files of a run."""
        return CleanupStep(
            run, self.action, self.status, self.at, self.done_files or 0, self.done_bytes or 0, self.emptied
        )


@dataclass(frozen=True, slots=True)
class CleanupStep:
    """The files that one attempt moved, restored, or purged.

    Attributes:
        run: whose list it worked on.
        action: CLEAN, RESTORE or PURGE.
        status: of the attempt; STARTED = it died, or still runs.
        at: when it wrote its last row, ms since the epoch.
        emptied: whether the attempt left nothing of the run in the quarantine.
    """

    run: RunKey
    action: str
    status: str
    at: int
    files: int
    bytes: int
    emptied: bool = False


@dataclass(frozen=True, slots=True)
class Quarantined:
    """What one run's clean-up has in the quarantine; `moved_at` = its last CLEAN, ms since the epoch."""

    files: int
    bytes: int
    moved_at: int


def cleanup_steps(lake: "LakeReader", cluster: str, last: date) -> tuple[CleanupStep, ...]:
    """Returns what was done with the lists of a cluster's runs up to a date, oldest first.

    However old a run is, its files may still rest in the quarantine. It counts by the rows of `cleanups`. Of a run with
    an attempt that did not end well it sums up `deletions`, which has every file; but not if its last attempt emptied
    the quarantine before the look-back (`LOOK_BACK`), because then nobody asks for its files any more.
    """
    last_rows = _last_rows(lake, cluster, last)
    last_attempts = dict(sorted(last_rows.values(), key=_order))
    over = {key for key, row in last_attempts.items() if row.emptied and utc_day(row.at) < last - LOOK_BACK}
    uncertain = {key for key, row in last_rows.values() if row.status not in _COUNTED} - over
    steps = [row.step(key) for key, row in last_rows.values() if key not in uncertain]
    if uncertain:
        steps += _from_files(lake, {name: one for name, one in last_rows.items() if one[0] in uncertain})
    return tuple(sorted(steps, key=lambda step: step.at))


def cleaned_last(lake: "LakeReader", condition: str) -> str | None:
    """Returns the id of the run whose files clean began to move last; the condition is on rows of `deletions`.

    Clean writes an INTENT row before it touches a file, and nobody else writes one for it. Its rows of `cleanups` do
    not say so much: an attempt may fail, or die, before it touches a file.
    """
    begun = f"{condition} AND phase = 'INTENT' AND action = '{CLEAN}'"
    # leases rise with every job; the clocks of two hosts may differ
    newest = "GROUP BY t.run_id ORDER BY max(t.lease) DESC NULLS LAST, max(t.at) DESC LIMIT 1"
    rows = lake.ask(Query(DELETIONS, "t.run_id", begun, newest)) if lake.has(DELETIONS) else []
    return next((row["run_id"] for row in rows), None)


def until(cluster: str, last: date) -> str:
    """Returns the condition for the rows of a cluster's runs up to a date, in `cleanups` and in `deletions`."""
    return f"cluster = {literal(cluster)} AND run_date <= {day_literal(last)}"


def _last_rows(lake: "LakeReader", cluster: str, last: date) -> dict[str, tuple[RunKey, _Attempt]]:
    """Returns the last row of each attempt, by the attempt's id."""
    rows = lake.values(CLEANUPS, _Attempt, until(cluster, last)) if lake.has(CLEANUPS) else ()
    return {row.attempt: (key, row) for key, row in sorted(rows, key=_order)}


def _order(row: tuple[RunKey, _Attempt]) -> tuple[int, bool]:
    """Returns the sort key: the terminal row of an attempt comes after its STARTED row, also at the same instant."""
    return row[1].at, row[1].status != STARTED


def _from_files(lake: "LakeReader", attempts: Mapping[str, tuple[RunKey, _Attempt]]) -> list[CleanupStep]:
    """Sums up the files of these attempts; what a later attempt settled for one that died counts as its own."""
    outcomes = ", ".join(f"'{outcome}'" for outcome in _ACTIONS)
    by = "cluster, run_id, run_date, attempt, outcome"
    condition = f"{rows_of({run for run, _ in attempts.values()})} AND phase = 'OUTCOME' AND outcome IN ({outcomes})"
    sums = f"{by}, count(*) AS files, sum(length) AS bytes, max(at) AS at"
    rows = lake.ask(Query(DELETIONS, sums, condition, f"GROUP BY {by}")) if lake.has(DELETIONS) else []
    counted = {row["attempt"] for row in rows}
    idle = [
        CleanupStep(key, row.action, row.status, row.at, 0, 0, row.emptied)
        for attempt, (key, row) in attempts.items()
        if attempt not in counted
    ]
    return idle + [
        CleanupStep(
            RunKey(row["cluster"], row["run_id"], row["run_date"]),
            _ACTIONS[row["outcome"]],
            attempts[row["attempt"]][1].status if row["attempt"] in attempts else STARTED,
            row["at"],
            row["files"],
            row["bytes"] or 0,
            row["attempt"] in attempts and attempts[row["attempt"]][1].emptied,
        )
        for row in rows
    ]


def quarantined(steps: Iterable[CleanupStep], until: int | None = None) -> Mapping[RunKey, Quarantined]:
    """Returns what each run has in the quarantine after all steps, or after those up to an instant (ms)."""
    found: dict[RunKey, Quarantined] = {}
    for step in steps:
        if until is not None and step.at > until:
            continue
        if step.emptied:
            found.pop(step.run, None)
        else:
            before = found.get(step.run, Quarantined(0, 0, step.at))
            sign = 1 if step.action == CLEAN else -1
            moved_at = max(before.moved_at, step.at) if step.action == CLEAN and step.files else before.moved_at
            found[step.run] = Quarantined(before.files + sign * step.files, before.bytes + sign * step.bytes, moved_at)
    return {run: rest for run, rest in found.items() if rest.files > 0}
