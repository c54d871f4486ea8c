"""Which two nights `explain --since` compares."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from pipelines.common.errors import UsageError
from pipelines.common.instants import DAY_MS, format_instant, utc_day
from pipelines.lake.lake_records import RunRecord
from pipelines.lake.look_back import LOOK_BACK
from pipelines.lake.night_changes import has_verdicts
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import DONE, RunKey
from pipelines.reconcile.explain.runs import AnsweringRun, Json


@dataclass(frozen=True, slots=True)
class Since:
    """From when changes are asked for: a UTC day (its first night is compared), or an instant, ms since the epoch."""

    at: int
    is_day: bool


def since_of(text: str) -> Since:
    """Reads a day like 2026-11-20, or an instant like 2026-11-20T14:00Z; without a zone it is UTC.

    Raises:
        UsageError: the text is neither.
    """
    try:
        with suppress(ValueError):
            return Since(_millis(datetime.combine(date.fromisoformat(text), time())), is_day=True)
        return Since(_millis(datetime.fromisoformat(text.upper())), is_day=False)
    except ValueError:
        raise UsageError(
            f"--since {text}: neither a day like 2026-11-20 nor an instant like 2026-11-20T14:00Z"
        ) from None


def _millis(instant: datetime) -> int:
    there = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return int(there.timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class Nights:
    """Two DONE runs of one cluster.

    Attributes:
        before: the earlier one.
        after: the later one.
        note: says that the earlier one is not the one that was asked for, or that its verdicts are not known any more.
        between: the DONE runs between them, oldest first.
        verdicts_known: whether the lake still has the verdicts on the files of the earlier one.
    """

    before: RunRecord
    after: AnsweringRun
    note: str | None = None
    between: tuple[RunRecord, ...] = ()
    verdicts_known: bool = True

    @property
    def runs(self) -> tuple[RunRecord, RunRecord]:
        """The earlier run and the later one."""
        return self.before, self.after.record

    @property
    def keys(self) -> tuple[RunKey, RunKey]:
        """The keys of both."""
        return self.before.key, self.after.record.key

    def json(self) -> Json:
        """Returns the fields that begin every answer about changes."""
        return {
            **self.after.json(),
            "since": format_instant(self.before.night),
            "since_run_id": self.before.run_id,
            "since_note": self.note,
            "since_verdicts_known": self.verdicts_known,
        }


def nights_since(since: Since, run: AnsweringRun, lake: LakeReader) -> Nights:
    """Returns the run that answers, and the DONE run with which it is compared.

    That is the first run of the day, or the last one before it or before the instant. If the `LOOK_BACK` before the
    lake's last run has none, it is the oldest one in it.

    Raises:
        UsageError: no run was DONE since then, or there is only one.
    """
    newest = run.record
    done = sorted(
        (one for one in lake.newest_runs(newest.cluster) if one.status == DONE and one.night <= newest.night),
        key=lambda one: one.order,
    )
    earlier = [one for one in done if one.run_id != newest.run_id]
    until = since.at + DAY_MS - 1 if since.is_day else since.at
    if newest.night <= since.at or newest.status != DONE or not earlier:
        raise UsageError(
            f"cluster {newest.cluster} has no two DONE runs to compare since then: its newest run, {newest.run_id}, is "
            f"of {format_instant(newest.night)}; give an earlier --since, or let reconcile write another run"
        )
    of_day = [one for one in earlier if since.is_day and utc_day(one.night) == utc_day(since.at)]
    before = [one for one in earlier if one.night <= until]
    compared = (of_day or before[-1:] or earlier)[0]
    asked = format_instant(since.at)
    notes = []
    if not before:
        notes.append(
            f"explain looks back {LOOK_BACK.days} days, and they have no DONE run of {newest.cluster} before {asked}: "
            "the oldest one in them is compared"
        )
    known = has_verdicts(lake, compared)
    if not known:
        notes.append(
            f"the lake no longer has the verdicts of run {compared.run_id} (maintain.keep.wal_verdicts), so what was "
            "then of single files and their servers is not known"
        )
    between = tuple(one for one in earlier if one.night > compared.night)
    return Nights(compared, run, "; ".join(notes) or None, between, known)
