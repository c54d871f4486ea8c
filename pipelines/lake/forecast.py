"""Forecasts when the capacity of oldWALs is used up, at the pace of the last nights."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from pipelines.common.instants import DAY_MS, format_instant, is_instant, utc_day
from pipelines.lake.cleanup_history import CleanupStep, quarantined
from pipelines.lake.look_back import known_nights
from pipelines.lake.run_summary import EarlierNights, NightTotal, VerdictTotal

NIGHTS = 14
"""Number of nights whose pace counts."""
LONGEST_DAYS = 3650
"""A disk that is full later than this is told without a date."""
FEWEST_NIGHTS = 3
QUARANTINE = "in the quarantine"
"""The group of a `NightTotal` that counts what rests in the quarantine: its bytes still fill the file system."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """When the capacity is used up.

    Attributes:
        nights: number of UTC days whose last listing counts.
        bytes: of the last night.
        capacity_bytes: that may be used in all; None = unknown.
        growth_per_day: bytes; negative = the bytes shrink; None with fewer than `FEWEST_NIGHTS` nights.
        days: from the last night until the capacity is used up; None = there is no forecast.
        full_at: the same as an instant, ms since the epoch.
        refusal: why there is no forecast, as a clause; None = there is one.
    """

    nights: int
    bytes: int
    capacity_bytes: int | None
    growth_per_day: int | None = None
    days: float | None = None
    full_at: int | None = None
    refusal: str | None = None

    @property
    def is_distant(self) -> bool:
        """Whether the disk is not full within ten years."""
        return self.days is not None and self.days > LONGEST_DAYS

    def document(self) -> dict[str, object]:
        """Returns it for JSON; `full_at` is None also if it is later than any instant that can be written."""
        at = self.full_at
        return {**asdict(self), "full_at": format_instant(at) if at is not None and is_instant(at) else None}


def days_until_full(totals: Iterable[NightTotal], capacity_bytes: int | None) -> Forecast:
    """Extends the line of least squares through the bytes of each night, from the last night's bytes on.

    Args:
        totals: of one cluster, in any order; the totals of one listing are added up. Of several listings of one UTC day
            the last one counts.
        capacity_bytes: that may be used in all; None = unknown.
    """
    listings: dict[int, int] = {}
    for total in totals:
        listings[total.files_started_ms] = listings.get(total.files_started_ms, 0) + total.bytes
    last_of_day = {utc_day(at): (at, listings[at]) for at in sorted(listings)}
    points = list(last_of_day.values())
    at, size = points[-1] if points else (0, 0)
    if len(points) < FEWEST_NIGHTS:
        seen = "1 night is" if len(points) == 1 else f"{len(points) or 'no'} nights are"
        return Forecast(len(points), size, capacity_bytes, refusal=f"{seen} too few, {FEWEST_NIGHTS} are needed")
    growth = _slope([(when / DAY_MS, float(bytes_)) for when, bytes_ in points])
    known = Forecast(len(points), size, capacity_bytes, round(growth))
    if capacity_bytes is None:
        return replace(known, refusal="the key capacity of the configuration is not set")
    if size >= capacity_bytes:
        return replace(known, days=0.0, full_at=at)
    if round(growth) <= 0:
        return replace(known, refusal="the bytes do not grow")
    days = (capacity_bytes - size) / growth
    return replace(known, days=days, full_at=at + round(days * DAY_MS))


def capacity_of(totals: Iterable[NightTotal], capacity_bytes: int | None, free_bytes: int | None) -> int | None:
    """Returns the bytes that may be used in all; None = unknown.

    Args:
        totals: of one cluster.
        capacity_bytes: as the configuration states it; it goes first.
        free_bytes: that the file system could still take at the last listing.
    """
    rows = list(totals)
    if capacity_bytes is not None or free_bytes is None or not rows:
        return capacity_bytes
    last = max(row.files_started_ms for row in rows)
    return free_bytes + sum(row.bytes for row in rows if row.files_started_ms == last)


def _slope(points: list[tuple[float, float]]) -> float:
    """Returns the slope of the line of least squares through points with different x."""
    middle = sum(x for x, _ in points) / len(points)
    mean = sum(y for _, y in points) / len(points)
    spread = sum((x - middle) ** 2 for x, _ in points)
    return sum((x - middle) * (y - mean) for x, y in points) / spread


def night_totals(
    files_started_ms: int,
    totals: Iterable[VerdictTotal],
    earlier: EarlierNights,
    steps: Sequence[CleanupStep],
) -> tuple[NightTotal, ...]:
    """Returns the totals of a run and of the nights before it, `NIGHTS` in all, and what the quarantine had each night.

    An empty night has a total too, that of its quarantine, so it counts as a night with 0 bytes. A night whose totals
    have been removed has none, so it does not count.

    Args:
        files_started_ms: the start of step `files` of the run, ms since the epoch.
        totals: of the run, which is DONE.
        earlier: at least `NIGHTS` - 1 nights before it, if there are so many.
        steps: what was done with the lists of the cluster, oldest first.
    """
    known = known_nights(earlier)
    recent = [night for night in earlier.nights[-(NIGHTS - 1) :] if night in known]
    found = [
        *(total for total in earlier.by_reason if total.files_started_ms in recent),
        *(NightTotal(files_started_ms, f"{r.verdict} {r.reason}", r.files, r.bytes) for r in totals),
    ]
    for at in (*recent, files_started_ms):
        resting = quarantined(steps, at).values()
        files, size = sum(one.files for one in resting), sum(one.bytes for one in resting)
        found.append(NightTotal(at, QUARANTINE, files, size))
    return tuple(found)
