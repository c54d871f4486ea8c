"""Earlier nights, from rows of `runs` and `queue_offsets`."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from pipelines.common.instants import DAY_MS
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import PastNeed, RunKey
from pipelines.reconcile.lake_history import LakeHistory, past_offsets
from pipelines.reconcile.past import PastOffset

NIGHT = 1_790_000_000_000


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


class Runs:
    """A lake with rows of `runs` alone: days before tonight, cluster, peers."""

    def __init__(self, *rows: tuple[int, str, list[str] | None]) -> None:
        self._rows = rows

    def values(self, _table: object, row: Callable[..., Any], _condition: str) -> Iterator[tuple[RunKey, Any]]:
        for ago, cluster, peers in self._rows:
            at = NIGHT - ago * DAY_MS
            yield RunKey.of(cluster, f"night-{ago}", at), row(at, peers, 10 - ago)

    def by_run(self, *_: object) -> Mapping[RunKey, Any]:
        return {}


def test_a_peer_is_known_as_long_as_the_lake_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where fewer nights are compared than the peer is gone."""
    runs = Runs((1, "a", ["1"]), (2, "a", None), (3, "a", ["1", "gone"]), (2, "b", ["other"]))
    monkeypatch.setattr(LakeReader, "of", lambda *_: runs)
    past = LakeHistory(None, "").before({"a": NIGHT, "b": NIGHT}, 2)  # type: ignore[arg-type]
    assert [(one.run_id, one.files) for one in past["a"]] == [("night-1", 9), ("night-2", 8)]
    assert {one.peers_seen for one in past["a"]} == {frozenset({"1", "gone"})}
    assert {one.peers_seen for one in past["b"]} == {frozenset({"other"})}
