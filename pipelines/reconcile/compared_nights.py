"""What changed in a cluster between two nights: its sizes, and its findings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipelines.lake.run_summary import DONE, FindingRow, NightTotal, RunSummary, by_reason


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
        sizes: the sizes that differ, largest difference first.
        new: findings that only this night has.
        ended: findings that only the night before had.
    """

    night: int
    sizes: Sequence[SizeChange]
    new: Sequence[FindingRow]
    ended: Sequence[FindingRow]


def changes(one: RunSummary) -> Changes | None:
    """Returns what changed since the night before; None if there is none, or if this run is not DONE."""
    if one.status != DONE or not one.history.nights:
        return None
    night = one.history.nights[-1]
    before = _sums(night, one.history.by_reason, "") | _sums(night, one.history.by_peer, "held by peer ")
    now = {f"{verdict} {reason}": size for (verdict, reason), (_, size) in by_reason(one.totals).items()}
    now |= {f"held by peer {row.peer_id}": row.bytes for row in one.holders("peer")}
    sizes = [SizeChange(what, before.get(what, 0), now.get(what, 0)) for what in sorted({*before, *now})]
    return Changes(
        night,
        sorted((row for row in sizes if row.before != row.now), key=lambda row: -abs(row.now - row.before)),
        only_in(one.findings, one.history.findings),
        only_in(one.history.findings, one.findings),
    )


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
