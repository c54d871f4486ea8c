"""How far back every job reads the lake for what happened before, and which runs count as nights.

A date with several runs is one night: a run by hand between two nights is none of its own.
"""

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from typing import TypeVar

from pipelines.lake.run_summary import EarlierNights

LOOK_BACK = timedelta(days=40)
"""Rows of an older `run_date` are ignored: they are no earlier night, no earlier audit and no earlier finding."""

_R = TypeVar("_R")


def of_last_nights(runs: Iterable[_R], day_of: Callable[[_R], date], today: date, nights: int) -> list[_R]:
    """Returns the runs of a date and of the last dates before it that have a run, in the order given.

    Args:
        runs: of one cluster.
        day_of: the UTC date of a run.
        today: the date of the run that looks back.
        nights: the number of earlier dates.
    """
    rows = list(runs)
    days = {*sorted({day_of(run) for run in rows if day_of(run) < today}, reverse=True)[:nights], today}
    return [run for run in rows if day_of(run) in days]


def last_of_each_night(runs: Iterable[_R], day_of: Callable[[_R], date], today: date) -> list[_R]:
    """Returns the last run of each date before `today`.

    Args:
        runs: of one cluster, newest first.
        day_of: the UTC date of a run.
        today: the date of the run that looks back, which is the last run of this date.
    """
    last: dict[date, _R] = {}
    for run in runs:
        if day_of(run) < today:
            last.setdefault(day_of(run), run)
    return list(last.values())


def known_nights(earlier: EarlierNights) -> list[int]:
    """Returns the nights whose totals by reason are known, oldest first: `maintain` may have removed others."""
    known = earlier.empty.union(total.files_started_ms for total in earlier.by_reason)
    return [night for night in earlier.nights if night in known]
