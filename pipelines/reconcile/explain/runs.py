"""The runs that explain compares, the one that answers and those of `--since`; errors for names that are not clear."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from pipelines.common.errors import UsageError
from pipelines.common.instants import DAY_MS, format_instant, utc_day
from pipelines.lake.findings import Acknowledgement
from pipelines.lake.lake_records import RunRecord, runs_by_cluster
from pipelines.lake.look_back import LOOK_BACK
from pipelines.lake.night_changes import has_verdicts
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import DONE, RunKey
from pipelines.reconcile.explain.words import Json
from pipelines.reconcile.pause import Pause, pauses_after

NIGHTS = 14
"""Number of nights that trends look back."""
SHOWN = 8
"""Number of names that an error lists."""


@dataclass(frozen=True, slots=True)
class AnsweringRun:
    """The run that answers for a cluster, a newer run that is not DONE, and the current pause of the clean-up."""

    record: RunRecord
    newer: RunRecord | None
    pause: Pause | None = None

    def json(self) -> Json:
        """Returns the fields that begin every answer."""
        note = None
        if self.record.status != DONE:
            note = f"no run of this cluster is DONE; this one was {self.record.status}: {self.record.reason}"
        elif self.newer is not None:
            note = f"a newer run, {self.newer.run_id}, was {self.newer.status}: {self.newer.reason}"
        return {
            "cluster": self.record.cluster,
            "run_id": self.record.run_id,
            "listed_at": format_instant(self.record.night),
            "note": note,
            "paused": self.pause.document() if self.pause else None,
        }


def deciding_runs(
    cluster: str | None, lake: LakeReader, now: int, acknowledged: Sequence[Acknowledgement] = ()
) -> dict[str, AnsweringRun]:
    """Returns the newest DONE run of each cluster, or its newest run if none is DONE."""
    found = runs_by_cluster(lake.newest_runs(cluster))
    if not found:
        there = sorted({record.cluster for record in lake.newest_runs(None)}) if cluster else []
        known = f"; this lake knows {first_names(there)}" if there else "; let reconcile write a run first"
        raise UsageError(f"no finished run of {f'cluster {cluster}' if cluster else 'any cluster'} in this lake{known}")
    pauses = pauses_after((records[0] for records in found.values()), lake, now, acknowledged)
    runs: dict[str, AnsweringRun] = {}
    for name, records in found.items():
        done = next((record for record in records if record.status == DONE), records[0])
        runs[name] = AnsweringRun(done, records[0] if records[0] is not done else None, pauses.get(name))
    return runs


def one_of(what: str, choices: Sequence[str], unknown: str, *, are_all: bool = True) -> str:
    """Returns the only choice.

    Args:
        what: a person asked for.
        choices: what it may mean.
        unknown: the message if there is no choice.
        are_all: whether no choice but these exists; otherwise the message does not count those that it leaves out.

    Raises:
        UsageError: there is no choice, or there are several.
    """
    if not choices:
        raise UsageError(unknown)
    if len(choices) > 1:
        raise UsageError(
            f"{what} is ambiguous: {first_names(choices, are_all=are_all)}; give --cluster or more of the name"
        )
    return choices[0]


def first_names(names: Sequence[str], *, are_all: bool = True) -> str:
    """Joins the first few names, and says how many more there are, if these are all."""
    rest = f"{len(names) - SHOWN} more" if are_all else "more"
    return ", ".join(names[:SHOWN]) + (f" and {rest}" if len(names) > SHOWN else "")


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
