"""HBase backup's boundaries, barriers of serial peers, and the extras of a snapshot that hold them."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.capture.sources.hbase_neighbours import barriers_of
from pipelines.common.errors import SnapshotError
from pipelines.common.forms import value_of
from pipelines.decide.rule.settings import Release
from pipelines.decide.rule.trust import unknown_extra
from pipelines.decide.rule.verdict import Reason, decide
from pipelines.hbase.replication_queues import Cell, CellVersion
from pipelines.hbase.server_names import MAX_LONG
from pipelines.hbase.zookeeper.tree import ReplicationTree
from pipelines.snapshot.backup import (
    BUFFER_MS,
    COMPLETE,
    RUNNING,
    BackupSession,
    backup_of,
    boundary_sessions,
    session_document,
)
from pipelines.snapshot.barriers import (
    Barrier,
    RegionBarriers,
    barriers_document,
    region_barriers,
    serial_gaps,
)
from pipelines.snapshot.extras import BACKUP, BARRIERS, SPACE, Extras
from pipelines.snapshot.extras_lines import REGION as REGION_LINE
from pipelines.snapshot.extras_lines import SESSION as SESSION_LINE
from pipelines.snapshot.extras_lines import parse_extras
from pipelines.snapshot.model import Backup, Snapshot, SnapshotFile
from pipelines.snapshot.other_families import OtherFamilyCells, beside_rows, beside_znodes
from tests.labs.small_cluster import small
from tests.models.capture.trust import distrust_reason
from tests.strategies.clusters import ClusterCase, cluster_cases, view_of

A, B = "a.example.org:16020", "b.example.org:16020"
T0 = 1_763_690_000_000


def session(backup_id: str, state: str = COMPLETE, started: int = T0, root: str = "r", **rolled: int) -> BackupSession:
    boundaries = {{"a": A, "b": B}[name]: at for name, at in rolled.items()}
    return BackupSession(
        backup_id, root, "FULL", state, started, None, {"t": min(rolled.values(), default=0)}, boundaries
    )


# backup


def test_the_newest_complete_backup_of_each_root_counts_and_all_that_run() -> None:
    old, new = session("old", started=T0, a=1), session("new", started=T0 + 1, a=2)
    twin, other = session("twin", started=T0 + 1, a=3), session("other", root="s", a=4)
    running, failed = session("running", RUNNING, T0 + 9), session("failed", "FAILED", T0 + 9, a=9)
    assert boundary_sessions([old, new, twin, other, running, failed]) == (new, twin, other, running)


def test_the_smallest_boundary_of_all_roots_counts() -> None:
    found = backup_of([session("x", a=T0, b=T0 + 5), session("y", root="s", a=T0 + 7, b=T0 + 3)])
    assert found.boundaries == {A: T0, B: T0 + 3}
    assert found.others == T0 - BUFFER_MS
    assert (found.boundary(A), found.boundary("c:1")) == (T0, T0 - BUFFER_MS)


def test_a_server_that_one_root_has_not_met_is_held_for_that_root() -> None:
    """Its next incremental backup takes what lies behind its start code; the cleaner of 2.6.1 deletes it."""
    found = backup_of([session("x", a=T0, b=T0 + 5), session("y", root="s", a=T0 - 9)])
    assert found.boundaries == {A: T0 - 9, B: T0 - 9 - BUFFER_MS}


@pytest.mark.promise("running-backup-holds")
def test_a_running_backup_holds_what_was_written_since_an_hour_before_its_start() -> None:
    assert backup_of([session("x", RUNNING, T0)]) == Backup(True, {}, T0 - BUFFER_MS)
    both = backup_of([session("x", a=T0 + 9), session("y", RUNNING, T0)])
    assert (both.boundaries, both.others) == ({A: T0 - BUFFER_MS}, T0 - BUFFER_MS)


def test_without_any_backup_nothing_is_held() -> None:
    assert backup_of([]) == Backup(True, {}, MAX_LONG)


@pytest.mark.promise("unknown-backup-holds-everything")
def test_a_backup_that_does_not_say_where_it_ends_holds_everything() -> None:
    assert backup_of([session("x", a=T0), session("y", root="s")]) == Backup(True)


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 9), st.sampled_from(["r", "s"])), max_size=5))
def test_another_root_never_frees_anything(rolled: list[tuple[str, int, str]]) -> None:
    """More backups in sight hold more: a boundary only sinks."""
    sessions = [session(str(n), root=f"{root}{n}", **{name: T0 + at}) for n, (name, at, root) in enumerate(rolled)]
    for upto in range(len(sessions)):
        before, after = backup_of(sessions[:upto]), backup_of(sessions[: upto + 1])
        for address in (A, B, "c:1"):
            assert (after.boundary(address) or 0) <= (before.boundary(address) or 0)


@pytest.mark.promise("extra-releases-backup-alone")
@given(case=cluster_cases(), sessions=st.booleans())
def test_an_extra_releases_backup_and_nothing_else(case: ClusterCase, sessions: bool) -> None:
    """The decisions on any cluster with what its backups say: BACKUP, or as if there were no backup."""
    view = view_of(case)
    known = replace(view, backup=backup_of([session("x", a=T0)] if sessions else []))
    without = replace(view, backup=Backup(False))
    for file in case.files:
        decision = decide(file, known)
        assert decision.reason is Reason.BACKUP or decision == decide(file, without)


# barriers


def region(*barriers: int) -> RegionBarriers:
    return region_barriers("f00", "t", [(one, T0 + one) for one in barriers])


@pytest.mark.parametrize(
    ("barriers", "pushed", "stops_at"),
    [
        ((10,), -1, None),  # the first range may always be pushed
        ((10, 20), 19, None),
        ((10, 20), 25, None),
        ((10, 20), 18, 20),
        ((20, 10), -1, 20),
        ((10, 20, 30), 19, 30),
        ((10, 20, 30), 12, 20),
        ((10, 20, 30), 29, None),
    ],
)
def test_a_later_range_waits_for_the_one_before(barriers: tuple[int, ...], pushed: int, stops_at: int | None) -> None:
    """`SerialReplicationChecker.isRangeFinished`: the last id before the barrier must be pushed."""
    ids = {} if pushed < 0 else {("1", "f00"): pushed, ("2", "f00"): 99}
    gaps = serial_gaps("1", [region(*barriers)], ids)
    assert [gap.barrier.sequence_id for gap in gaps] == ([] if stops_at is None else [stops_at])
    assert all(gap.pushed == pushed for gap in gaps)


def test_gaps_come_oldest_first() -> None:
    young, old = region_barriers("a", "t", [(1, 0), (5, 9)]), region_barriers("b", "t", [(1, 0), (5, 3)])
    assert [gap.region for gap in serial_gaps("1", [young, old], {})] == ["b", "a"]


def test_regions_are_told_by_the_rows_of_meta() -> None:
    row = b"ns:t,start.key,1763690000000.d41d8cd98f00b204e9800998ecf8427e."
    versions = [CellVersion(row, T0 + 1, (20).to_bytes(8, "big")), CellVersion(row, T0, (10).to_bytes(8, "big"))]
    assert barriers_of(versions) == (
        RegionBarriers("d41d8cd98f00b204e9800998ecf8427e", "ns:t", (Barrier(10, T0), Barrier(20, T0 + 1))),
    )


def test_what_is_no_barrier_is_passed_over_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    row, one = b"t,,1.f00.", (1).to_bytes(8, "big")
    odd = [
        CellVersion(b"", T0, one),
        CellVersion(b"t,,1..", T0, one),
        CellVersion(b",,1.f00.", T0, one),
        CellVersion(row, T0, one[1:]),
        CellVersion(row, T0, b"\xff" * 8),
        CellVersion(row, (1 << 63) - 1, one),
    ]
    assert all(not region.barriers for region in barriers_of(odd))
    assert "hbase:meta: 6 cells of rep_barrier are not barriers" in caplog.text
    assert barriers_of([*odd, CellVersion(row, T0, one)]) == (RegionBarriers("f00", "t", (Barrier(1, T0),)),)


# beside the queues


def test_references_and_sequence_ids_stand_beside_the_queues() -> None:
    def cells(*refs: str, pushed: int) -> OtherFamilyCells:
        notes = OtherFamilyCells()
        scan = [Cell(b"9", b"hfileref", name.encode(), b"") for name in refs]
        scan += [
            Cell(b"1", b"sid", b"f00", pushed.to_bytes(8, "big")),
            Cell(b"1", b"sid", b"bad", b"x"),
            Cell(b"1-h,1,1", b"queue", b"g", b"w:1"),
        ]
        assert list(notes.watched(scan)) == scan
        return notes

    both = beside_rows([cells("x", "y", pushed=900), cells("y", pushed=899)])
    assert both.hfile_refs == {"9": 1}
    assert both.pushed == {("1", "f00"): 900}
    assert beside_rows([cells("x", pushed=1), cells(pushed=1)]).hfile_refs == {}


def test_the_second_reading_of_zookeeper_has_more_than_queues() -> None:
    first = ReplicationTree((), 1, 1)
    second = replace(first, hfile_refs={"9": ("x", "y"), "8": ()}, sequence_ids={("f00", "1"): 900})
    both = beside_znodes([first, second])
    assert (both.hfile_refs, both.pushed) == ({"9": 2}, {("1", "f00"): 900})


# extras


def with_extras(*names: str, backup: Backup | None = None) -> Snapshot:
    made = small("c").snapshot
    contents = {f"extras/{name}.jsonl": SnapshotFile(1, "0" * 64) for name in names}
    return replace(made, extras=names, contents=contents, backup=backup or made.backup)


def lines(*documents: object) -> list[tuple[str, str]]:
    return [(json.dumps(one), f"extras/x.jsonl, line {number}") for number, one in enumerate(documents, 1)]


SESSION, REGION = session("x", a=T0), region(10, 20)
HONEST = with_extras(BACKUP, backup=Backup(True, {A: T0}))


def test_extras_are_read_as_they_were_written() -> None:
    snapshot = replace(HONEST, extras=(BACKUP, BARRIERS, SPACE))
    written = {
        BACKUP: lines(session_document(SESSION)),
        BARRIERS: lines(barriers_document(REGION)),
        SPACE: lines({"free_bytes": 5}),
    }
    assert parse_extras(snapshot, written) == Extras((SESSION,), (REGION,), 5)
    assert parse_extras(small("c").snapshot, {}) == Extras()


@given(
    st.builds(
        BackupSession,
        *[st.text(min_size=1, max_size=5)] * 2,
        st.sampled_from(["FULL", "INCREMENTAL"]),
        st.sampled_from([RUNNING, COMPLETE]),
        st.integers(0, 4_000_000_000_000),
        st.none() | st.integers(0, 4_000_000_000_000),
        *[st.dictionaries(st.text("ab:", min_size=1, max_size=3), st.integers(0, 4_000_000_000_000), max_size=2)] * 2,
    )
)
def test_any_session_goes_there_and_back(one: BackupSession) -> None:
    assert value_of(SESSION_LINE, json.loads(json.dumps(session_document(one))), "x") == one


DOCUMENT = session_document(SESSION)


@pytest.mark.parametrize(
    ("snapshot", "found", "words"),
    [
        (HONEST, {}, "do not agree on it"),
        (replace(HONEST, extras=()), {BACKUP: lines(DOCUMENT)}, "do not agree on it"),
        (replace(HONEST, backup=Backup(False)), {BACKUP: lines(DOCUMENT)}, "do not give the boundaries"),
        (replace(HONEST, backup=Backup(True, {A: T0 + 1})), {BACKUP: lines(DOCUMENT)}, "do not give the boundaries"),
        (replace(HONEST, backup=None), {BACKUP: lines(DOCUMENT)}, "do not give the boundaries"),
        (replace(HONEST, steps=HONEST.steps[:1]), {BACKUP: lines(DOCUMENT)}, "step 'peers'"),
        (HONEST, {BACKUP: lines({**DOCUMENT, "root": ""})}, r"line 1: 'root' must have at least 1 character"),
        (HONEST, {BACKUP: lines({**DOCUMENT, "state": "FAILED"})}, "one of RUNNING, COMPLETE"),
        (HONEST, {BACKUP: lines({**DOCUMENT, "boundaries": {A: "1"}})}, "must be a valid integer"),
        (HONEST, {BACKUP: lines({**DOCUMENT, "started_at": "noon"})}, "line 1: 'started_at': not an instant"),
        (HONEST, {BACKUP: lines({**DOCUMENT, "extra": 1})}, "unknown key 'extra'"),
        (HONEST, {BACKUP: [("{", "extras/x.jsonl, line 1")]}, "line 1: truncated or not JSON"),
        (with_extras(SPACE), {SPACE: lines({"free_bytes": -1})}, "must be greater than or equal to 0"),
        (with_extras(SPACE), {SPACE: []}, "space.jsonl: has 0 lines, not one"),
        (with_extras(BARRIERS), {BARRIERS: lines({"region": "x", "table": "t"})}, "key 'barriers' is missing"),
        (
            with_extras(BARRIERS),
            {BARRIERS: lines({**barriers_document(REGION), "barriers": [{"sequence_id": -1, "opened_at": "x"}]})},
            "must be greater than or equal to 0",
        ),
    ],
)
def test_an_extra_that_is_not_what_was_captured_is_refused(
    snapshot: Snapshot, found: dict[str, list[tuple[str, str]]], words: str
) -> None:
    with pytest.raises(SnapshotError, match=words):
        parse_extras(snapshot, found)


def test_barriers_go_there_and_back() -> None:
    assert value_of(REGION_LINE, json.loads(json.dumps(barriers_document(REGION))), "x") == REGION


def test_known_extras_are_believed_and_no_others() -> None:
    assert unknown_extra(with_extras(BACKUP, BARRIERS)) is None
    for name in ("syncup2", "backup/../x"):
        assert f"extra {name!r} is not known" in str(unknown_extra(with_extras(name)))
    assert "is not known" in str(distrust_reason(with_extras("syncup2"), (), Release()))
