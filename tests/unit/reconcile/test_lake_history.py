"""Offsets of an earlier night, from rows of `queue_offsets`."""

from pipelines.lake.run_summary import PastNeed
from pipelines.reconcile.lake_history import past_offsets
from pipelines.reconcile.past import PastOffset


def need(timestamp: int | None, wal: str | None = None, offset: int | None = None) -> PastNeed:
    return PastNeed("2", "h1,16020,5", "g", wal, offset, timestamp, 3)


def test_the_smallest_need_counts_and_all_files_are_added() -> None:
    rows = [need(7, "g.7", 10), need(5, "g.5", 4), need(5, "g.5"), need(6)]
    assert past_offsets(rows) == {("2", "h1,16020,5", "g"): PastOffset(5, "g.5", None, 12)}


def test_an_unknown_need_hides_no_known_one() -> None:
    assert past_offsets([need(None, "g.99999999999999999999"), need(5, "g.5", 4)]) == {
        ("2", "h1,16020,5", "g"): PastOffset(5, "g.5", 4, 6)
    }
    assert past_offsets([need(None, "g.99999999999999999999")]) == {}
