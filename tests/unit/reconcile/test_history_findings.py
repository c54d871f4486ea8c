"""QUEUE_TABLE_REWOUND: open until the queue is back where it stood, whatever lies between, and no longer."""

import json
from dataclasses import replace

import pytest

from pipelines.common.instants import DAY_MS
from pipelines.decide.rule.decision_table import decision_table
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.table_queue_storage import table_view
from pipelines.decide.rule.zookeeper_queue_storage import ZOOKEEPER
from pipelines.hbase.zookeeper.queued_wals import QueuedWals
from pipelines.lake.run_summary import FindingRow, PinnedRow, QueueOffsetRow
from pipelines.reconcile.findings import Evidence, findings
from pipelines.reconcile.past import PastFinding, PastNight, PastOffset, PastPeer
from tests.labs.small_cluster import D1, H1, NOW, group, small, timestamp, wal

KEY = ("1", str(H1), group(H1))
FINDING = f"QUEUE_TABLE_REWOUND:{'/'.join(KEY)}"


def stands(number: int, offset: int = 0) -> QueueOffsetRow:
    """Peer 1's queue of h1 at its numbered WAL."""
    return QueueOffsetRow(
        "1", True, str(H1), str(H1), False, group(H1), wal(H1, number), offset, timestamp(number), 0, 0
    )


def stood(number: int, offset: int = 0) -> PastOffset:
    return PastOffset(timestamp(number), wal(H1, number), offset, 0)


def night(ago: int, at: PastOffset, key: tuple[str, str, str] = KEY) -> PastNight:
    return PastNight(f"r{ago}", NOW - ago * DAY_MS, {key: at})


def evidence(queues: list[QueueOffsetRow], past: list[PastNight]) -> Evidence:
    snapshot = small("c").snapshot
    view = replace(table_view(snapshot, (), ReconcileSettings(), None, False), restless=None)
    return Evidence(snapshot, view, decision_table(view), ReconcileSettings(), (), queues, (), past=past)


def rewound(queues: list[QueueOffsetRow], past: list[PastNight]) -> list[FindingRow]:
    return [row for row in findings(evidence(queues, past)) if row.code == "QUEUE_TABLE_REWOUND"]


@pytest.mark.promise("a-date-is-one-night")
def test_a_run_by_hand_is_no_night() -> None:
    """Of a date, the last run counts; a run of this date is none before it."""
    half = DAY_MS // 2
    held = {"1": 1 << 30}
    stalled = replace(stands(2), wal=wal(H1, 2), offset=0, pending_files=1)
    at = replace(stood(2), pending_files=1)

    def run(ago_ms: int, size: int) -> PastNight:
        return PastNight("r", NOW - ago_ms, {KEY: at}, {"1": size * held["1"]})

    peer = PinnedRow("peer", "1", "ENABLED", None, None, None, 1, 9 << 30, 0, 0, 0, 0)

    def found(*past: PastNight) -> set[str]:
        all_ = replace(evidence([stalled], list(past)), pinned=(peer,))
        return {row.code for row in findings(all_)} & {"GROWTH", "QUEUE_STALLED"}

    nights = [run(1 * DAY_MS, 5), run(2 * DAY_MS, 4), run(3 * DAY_MS, 3)]
    assert found(*nights) == {"GROWTH", "QUEUE_STALLED"}
    today = run(1000, 8)
    assert found(today, *nights) == {"GROWTH", "QUEUE_STALLED"}
    assert found(today, *nights[:2]) == set(), "three runs, two nights"
    by_hand = run(2 * DAY_MS + half, 5)
    assert by_hand.files_started // DAY_MS in {one.files_started // DAY_MS for one in nights}
    assert found(nights[0], nights[1], by_hand) == set(), "three runs, two nights"


@pytest.mark.parametrize(
    ("state", "since_ago", "expected"),
    [("DISABLED", 9, 0), ("ENABLED", 9, 1), ("ENABLED", 3, 1), ("ENABLED", 2, 0)],
)
def test_a_peer_that_was_disabled_on_one_of_the_nights_is_not_stalled(
    state: str, since_ago: int, expected: int
) -> None:
    """It is enabled now, and had no time to move."""
    at, peer = replace(stood(2), pending_files=1), PastPeer("1", state, NOW - since_ago * DAY_MS, since_ago)
    past = [night(ago, at) for ago in (1, 2, 3)]
    past[0] = replace(past[0], peers={"1": peer})
    found = findings(evidence([replace(stands(2), pending_files=1)], past))
    assert sum(row.code == "QUEUE_STALLED" for row in found) == expected


@pytest.mark.promise("rewound-stays-open")
def test_a_queue_that_went_back_is_told_until_it_stands_where_it_stood() -> None:
    """Night after night, far beyond the nights that are read: each one remembers by the finding of the one before."""
    places = [*[stands(2)] * 5, stands(3, 99), stands(4, 6)]
    past = [night(1, stood(4, 7))]
    for number, place in enumerate(places):
        (found,) = rewound([place], past)
        assert (found.key, found.is_new, found.nights) == (FINDING, number == 0, number + 1)
        assert found.first_seen == NOW
        assert found.message.startswith(f"Peer 1 stood at {wal(H1, 4)}:7, and is back at {place.wal}:{place.offset}")
        known = PastFinding(found.key, found.evidence, NOW, found.nights)
        at = PastOffset(place.need_timestamp or 0, place.wal, place.offset, 0)
        past = [replace(night(1, at), findings={FINDING: known}), night(2, at)]
    for caught_up in (stands(4, 7), stands(5)):
        assert rewound([caught_up], past) == []
    assert rewound([], past) == [], "it is gone"


def test_a_night_without_the_row_forgets_nothing() -> None:
    """Where the row was on its way, the nights before it are looked at."""
    past = [PastNight("r1", NOW - DAY_MS), night(2, stood(2)), night(3, stood(4))]
    (found,) = rewound([stands(2)], past)
    assert json.loads(found.evidence)["stood"]["wal"] == wal(H1, 4)


def test_a_finding_of_an_older_walsafe_remembers_nothing() -> None:
    older = PastFinding(FINDING, json.dumps({"before": "a:1", "now": "b:1"}), NOW - DAY_MS, 1)
    past = [replace(night(1, stood(2)), findings={FINDING: older})]
    assert rewound([stands(2)], past) == []


def test_of_two_rows_the_one_that_needs_most_counts() -> None:
    first, second = stands(4, 5), replace(stands(4, 3), owner=str(D1))
    for rows in ([first, second], [second, first]):
        (found,) = rewound(rows, [night(1, stood(4, 5))])
        assert found.message.endswith(f"is back at {wal(H1, 4)}:3.")


# the row of a server that was taken for dead


def of_dead(number: int, owner: str) -> QueueOffsetRow:
    """A queue of the dead server's WALs."""
    row = QueueOffsetRow("1", True, owner, str(D1), owner != str(D1), group(D1), None, 0, timestamp(number), 0, 0)
    return replace(row, wal=wal(D1, number))


DEAD = ("1", str(D1), group(D1))
CLAIMED, WRITTEN = of_dead(3, str(H1)), of_dead(1, str(D1))
BEFORE = night(2, PastOffset(timestamp(3), wal(D1, 3), 0, 0), key=DEAD)
SINCE = night(1, PastOffset(timestamp(1), wal(D1, 1), 0, 0), key=DEAD)


def test_what_a_server_taken_for_dead_wrote_is_told_for_one_night() -> None:
    assert len(rewound([CLAIMED, WRITTEN], [BEFORE])) == 1
    assert rewound([CLAIMED, WRITTEN], [SINCE, BEFORE]) == []


@pytest.mark.parametrize(
    "queues",
    [
        pytest.param([WRITTEN], id="no-other-row"),
        pytest.param([of_dead(2, str(H1)), WRITTEN], id="the-other-row-is-behind-as-well"),
        pytest.param([replace(CLAIMED, owner="h9,1,1"), of_dead(1, str(H1))], id="the-owner-is-online"),
        pytest.param([replace(CLAIMED, peer_id="2"), WRITTEN], id="of-another-peer"),
    ],
)
def test_any_other_row_that_is_behind_stays_told(queues: list[QueueOffsetRow]) -> None:
    assert [row.subject for row in rewound(queues, [SINCE, BEFORE])] == ["/".join(DEAD)]


def test_with_queues_in_zookeeper_there_is_no_such_row() -> None:
    made = evidence([CLAIMED, WRITTEN], [SINCE, BEFORE])
    made = replace(made, view=replace(made.view, storage=ZOOKEEPER, queued=QueuedWals(NOW)))
    found = [row for row in findings(made) if row.code == "QUEUE_TABLE_REWOUND"]
    assert [row.remedy.startswith("The queues in ZooKeeper were restored") for row in found] == [True]


def test_a_row_whose_peer_is_gone_waits_for_nobody() -> None:
    gone = replace(stands(2), peer_exists=False)
    assert len(rewound([gone], [night(1, stood(4))])) == 1
    assert rewound([gone], [night(1, stood(2)), night(2, stood(4))]) == []
