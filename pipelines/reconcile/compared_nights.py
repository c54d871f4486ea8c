"""What changed in a cluster between two nights: its sizes, and its findings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipelines.lake.look_back import known_nights
from pipelines.lake.run_summary import DONE, HELD, EarlierNights, FindingRow, NightTotal, RunSummary, by_reason
from pipelines.reconcile.holdings import FREED_WHEN_FINISHED

WAITING = frozenset(f"{HELD} {reason}" for reason in FREED_WHEN_FINISHED)
"""What a file is that waits for a peer, as the groups of `EarlierNights.by_reason` say it."""


@dataclass(frozen=True, slots=True)
class SizeChange:
    """A size in bytes on both nights."""

    what: str
    before: int
    now: int


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences between two nights.

    Attributes:
        night: the night before, ms since the epoch.
        sizes: the sizes that differ, largest difference first; None = those of the night before are not known.
        new: findings that only this night has.
        ended: findings that only the night before had.
    """

    night: int
    sizes: Sequence[SizeChange] | None
    new: Sequence[FindingRow]
    ended: Sequence[FindingRow]


def changes(one: RunSummary) -> Changes | None:
    """Returns what changed since the night before; None if there is none, or if this run is not DONE."""
    if one.status != DONE or not one.history.nights:
        return None
    night = one.history.nights[-1]
    return Changes(
        night,
        _sizes(one, night) if night in known_nights(one.history) else None,
        only_in(one.findings, one.history.findings),
        only_in(one.history.findings, one.findings),
    )


def _sizes(one: RunSummary, night: int) -> Sequence[SizeChange]:
    before = _sums(night, one.history.by_reason, "")
    now = {f"{verdict} {reason}": size for (verdict, reason), (_, size) in by_reason(one.totals).items()}
    if night in nights_of_holders(one.history):
        before |= _sums(night, one.history.by_peer, "held by peer ")
        now |= {f"held by peer {row.peer_id}": row.bytes for row in one.holders("peer")}
    sizes = [SizeChange(what, before.get(what, 0), now.get(what, 0)) for what in sorted({*before, *now})]
    return sorted((row for row in sizes if row.before != row.now), key=lambda row: -abs(row.now - row.before))


def nights_of_holders(history: EarlierNights) -> list[int]:
    """Returns the nights of which it is known what each peer held: `maintain` may have removed their rows.

    Without a row of any peer, no file may have waited for one.
    """
    having = {one.files_started_ms for one in history.by_peer}
    waiting = {one.files_started_ms for one in history.by_reason if one.group in WAITING and one.files}
    counted = {*known_nights(history)} - waiting
    return [night for night in history.nights if night in having or night in counted]


def only_in(these: Iterable[FindingRow], those: Iterable[FindingRow]) -> list[FindingRow]:
    """Returns the findings of one night that another night does not have."""
    there = {row.key for row in those}
    return [row for row in these if row.key not in there]


def _sums(night: int, totals: Iterable[NightTotal], prefix: str) -> dict[str, int]:
    sums: dict[str, int] = {}
    for total in totals:
        if total.files_started_ms == night:
            what = f"{prefix}{total.group}"
            sums[what] = sums.get(what, 0) + total.bytes
    return sums
