"""A cluster as the rule sees it: both readings count, and of the two the one that frees less."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from jobs.demo.cluster.snapshots import SAFE_FLAGS
from pipelines.common.instants import DAY_MS
from pipelines.decide.rule.cluster_view import DEFAULT_CLEANERS, ClusterView, merge_passes
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.decide.rule.table_queue_storage import table_view
from pipelines.hbase.replication_queues import NEEDS_ALL, QueueCell, parse_offset, parse_queue_id
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.model import Backup, MasterFlags, Membership, Snapshot, WalDirectory
from tests.strategies.clusters import MASTER, NOW, STEP_MS, snapshot_of

H1, H2, H3, H4 = (ServerName.parse(f"h{number},16020,5") for number in (1, 2, 3, 4))
OWN, OTHER = "1-h1,16020,5", "1-h2,16020,5"


def cells(rows: Mapping[str, Mapping[str, str]]) -> list[QueueCell]:
    return [
        QueueCell(parse_queue_id(key), group, parse_offset(offset))
        for key, offsets in rows.items()
        for group, offset in offsets.items()
    ]


def merged(*passes: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    rows = merge_passes([cells(one) for one in passes])
    return {str(row.queue): {group: str(offset) for group, offset in row.offsets.items()} for row in rows}


def test_of_two_readings_of_a_row_the_smaller_need_counts() -> None:
    for first, second in (({"g": "g.7:9"}, {"g": "g.8:0"}), ({"g": "g.8:0"}, {"g": "g.7:9"})):
        assert merged({OWN: first}, {OWN: second}) == {OWN: {"g": "g.7:9"}}
    assert merged({OWN: {"g": "g.7:-1"}}, {OWN: {"g": "g.7:0"}}) == {OWN: {"g": "g.7:0"}}
    assert merged({OWN: {"g": "x:0"}}, {OWN: {"g": "g.0:0"}}) == {OWN: {"g": "x:0"}}
    assert merged({OWN: {"g": "g.7:9"}}, {OWN: {"g": "g.7:5"}}) == {OWN: {"g": "g.7:5"}}


def test_a_row_of_either_reading_counts_and_a_group_only_if_both_have_it() -> None:
    first, second = {OWN: {"g": "g.7:0", "k": "k.7:0"}}, {OTHER: {"g": "g.8:0"}, OWN: {"g": "g.7:0"}}
    assert merged(first, second) == {OWN: {"g": "g.7:0"}, OTHER: {"g": "g.8:0"}}
    assert list(merged(second, first)) == [OWN, OTHER]
    (row,) = merge_passes([cells(first)])
    assert (row.need("g"), row.need("none")) == (7, NEEDS_ALL)
    twice = [*cells({OWN: {"g": "g.9:0"}}), *cells({OWN: {"g": "g.7:0"}})]
    (row,) = merge_passes([twice])
    assert row.need("g") == 7


FIRST = Membership(MASTER, frozenset({H1}), frozenset({H2}), (WalDirectory(H3, 1, NOW),))
SECOND = Membership(MASTER, frozenset({H2}), frozenset({H4}))
SNAPSHOT = snapshot_of(("2", "1"), FIRST, SECOND)


def seen(
    snapshot: Snapshot = SNAPSHOT, *, settings: ReconcileSettings | None = None, unparsable: bool = False
) -> ClusterView:
    rows = cells({OWN: {"g": "g.7:0"}})
    return table_view(snapshot, [rows, rows], settings or ReconcileSettings(), None, unparsable)


def test_who_is_alive_in_either_reading_is_alive() -> None:
    view = seen()
    assert view.online == {H1, H2}
    assert view.crashing == {H2, H4}
    assert view.wal_directories == {H3}
    assert view.not_fully_dead == {H1, H2, H3, H4}
    assert view.hbase_not_fully_dead == {H1, H2}, "HBase's cleaner reads once, and no directory"
    turned = replace(SNAPSHOT, peers=tuple(reversed(SNAPSHOT.peers)))
    assert view.peer_ids == seen(turned).peer_ids == ("1", "2")
    assert (view.files_started, view.files_finished) == (NOW, NOW + STEP_MS)
    alone = seen(replace(SNAPSHOT, membership_2=None))
    assert (alone.online, alone.crashing) == ({H1}, {H2})
    assert alone.restless is not None
    nobody = seen(replace(SNAPSHOT, membership=None, membership_2=None))
    assert nobody.not_fully_dead == frozenset()


def test_a_quiet_capture_has_the_same_rows_twice() -> None:
    quiet = snapshot_of(("1",), FIRST, replace(FIRST, wal_directories=()))
    rows, none = cells({OWN: {"g": "g.7:0"}}), cells({})
    for passes, restless in (([rows, rows], False), ([rows, none], True), ([none, rows], True), ([], False)):
        assert (table_view(quiet, passes, ReconcileSettings(), None, unparsable=False).restless is not None) == restless


@pytest.mark.parametrize(
    ("entries", "age", "counts"),
    [(0, DAY_MS + 1, False), (0, DAY_MS, True), (1, DAY_MS + 1, True), (0, 0, True)],
)
def test_an_old_empty_directory_is_no_life_only_where_a_person_says_so(entries: int, age: int, *, counts: bool) -> None:
    first = replace(FIRST, wal_directories=(WalDirectory(H3, entries, NOW - age),))
    snapshot = replace(SNAPSHOT, membership=first)
    opted = ReconcileSettings(release=Release(empty_wal_directories=True))
    assert seen(snapshot).wal_directories == {H3}
    assert seen(snapshot, settings=opted).wal_directories == ({H3} if counts else frozenset())
    assert seen(snapshot, settings=opted).release is opted.release


@pytest.mark.parametrize("place", ["flags", "flags_2"])
@pytest.mark.parametrize(
    ("flag", "value", "adding", "absent", "keeps"),
    [
        ("add_peer_running", True, True, False, True),
        ("add_peer_running", None, True, False, True),
        ("migration_pending", True, False, False, True),
        ("migration_pending", None, False, False, True),
        ("queue_table_exists", False, False, True, False),
        ("queue_table_exists", None, False, True, False),
    ],
)
def test_the_unsafe_value_of_either_reading_of_a_flag_counts(
    place: str, flag: str, value: bool | None, *, adding: bool, absent: bool, keeps: bool
) -> None:
    flags: MasterFlags = replace(SAFE_FLAGS, **{flag: value})
    view = seen(replace(SNAPSHOT, **{place: flags}))  # type: ignore[arg-type]
    assert (view.add_peer_running, view.queue_table_absent, view.hbase_keeps_all) == (adding, absent, keeps)


def test_safe_flags_and_a_row_that_hbase_throws_on() -> None:
    view = seen()
    assert (view.add_peer_running, view.queue_table_absent, view.hbase_keeps_all) == (False, False, False)
    assert seen(unparsable=True).hbase_keeps_all is True


FOREIGN = "org.example.Cleaner"


@pytest.mark.parametrize(
    ("plugins", "stated", "harmless", "why"),
    [
        (sorted(DEFAULT_CLEANERS), None, (), None),
        ((), None, (), None),
        ((FOREIGN,), None, (), FOREIGN),
        ((FOREIGN,), (), (), FOREIGN),
        ((FOREIGN,), None, (FOREIGN,), None),
        (("b.B", FOREIGN, "a.A"), None, (FOREIGN, "a.A"), "b.B"),
        (("b.B", "a.A"), None, (), "a.A and b.B"),
        (None, None, (), "the list of log-cleaner plugins is unknown"),
        (None, (), (), None),
        (None, (FOREIGN,), (), FOREIGN),
    ],
)
def test_a_cleaner_that_nobody_knows_could_need_any_file(
    plugins: Sequence[str] | None, stated: tuple[str, ...] | None, harmless: tuple[str, ...], why: str | None
) -> None:
    snapshot = replace(SNAPSHOT, log_cleaner_plugins=None if plugins is None else tuple(plugins))
    found = seen(
        snapshot, settings=ReconcileSettings(log_cleaner_plugins=stated, harmless_cleaners=harmless)
    ).foreign_cleaner
    assert (found is None) == (why is None)
    assert found is None or why is None or why in found


def test_whether_backup_is_on_must_be_known() -> None:
    unknown = replace(SNAPSHOT, backup=None)
    assert seen(unknown).foreign_cleaner == "whether HBase backup is enabled is unknown"
    assert seen(unknown, settings=ReconcileSettings(backup_enabled=False)).foreign_cleaner is None
    assert seen(unknown, settings=ReconcileSettings(backup_enabled=False)).backup == Backup(enabled=False)
    on = Backup(enabled=True, boundaries={"h1:16020": 7})
    assert seen(replace(SNAPSHOT, backup=on)).backup is on


def test_what_if_a_peer_were_gone() -> None:
    rows = cells({OWN: {"g": "g.7:0"}, "2-h1,16020,5": {"g": "g.7:0"}, OTHER: {"g": "g.7:0"}})
    view = table_view(SNAPSHOT, [rows, rows], ReconcileSettings(), None, unparsable=False)
    without = view.without_peer("1")
    assert without.peer_ids == ("2",)
    assert [str(row.queue) for row in without.rows] == ["2-h1,16020,5"]
    assert without.queues("1", H1) == ()
    assert [str(row.queue) for row in view.queues("1", H1)] == [OWN]
    assert {server: len(found) for server, found in view.rows_of_source.items()} == {H1: 2, H2: 1}
