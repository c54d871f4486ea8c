"""Every rule of a verification, broken one at a time."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from jobs.demo.cluster.snapshots import SAFE_FLAGS
from pipelines.common.errors import MalformedError
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell, GroupOffset, QueueId, parse_queue_cells, parse_queue_id
from pipelines.hbase.zookeeper.tree import Znode, parse_tree
from pipelines.queues.migration.before_and_after import (
    AfterMigration,
    BeforeMigration,
    rows_of,
    sequence_ids_of,
    states_of,
)
from pipelines.queues.migration.findings import verify_findings
from pipelines.queues.migration.plan import MigrationPeers, migration_rows
from pipelines.queues.migration.rows import LEGACY_PEER, MigrationRule
from pipelines.queues.migration.text import verify_lines
from pipelines.queues.migration.verify import verify
from pipelines.snapshot.model import MasterFlags, complete_before
from pipelines.snapshot.other_families import hfile_refs_of
from tests.labs.small_cluster import D1, H1, H2, NOW, group, wal
from tests.strategies.zookeeper import BASE, Queues, znodes

REGION = "0123456789abcdef0123456789abcdef"
P7 = bytes.fromhex("504255460807")
PEERS = (Peer("1", "ENABLED"), Peer("2", "DISABLED"))
QUEUES: Queues = {
    (str(H1), "1"): {wal(H1, 2): P7, wal(H1, 3): b""},
    (str(H1), f"2-{D1}"): {wal(D1, 1): P7},
    (str(H2), "2"): {wal(H2, 1): P7},
    (str(H2), "9"): {wal(H2, 1): P7},
}
OTHERS = [
    *(Znode(f"{BASE}/regions/{REGION[:2]}/{REGION[2:4]}/{REGION[4:]}-{peer}", P7, 0) for peer in "12"),
    *(Znode(f"{BASE}/hfile-refs/{peer}/f", b"", 0) for peer in "12"),
]
WALS = frozenset({wal(H1, 2), wal(D1, 1), wal(H2, 1)})
LATER = H1._replace(startcode=complete_before(NOW))
EARLIER = LATER._replace(startcode=LATER.startcode - 1)


def before(
    wals: frozenset[str] = WALS,
    listed_before: int = NOW,
    queues: Queues = QUEUES,
    peers: tuple[Peer, ...] = PEERS,
) -> BeforeMigration:
    tree, migrated = parse_tree([*znodes(queues), *OTHERS]), MigrationPeers.of(peers)
    rows = migration_rows(tree, migrated, dict.fromkeys(wals, 1), listed_before)
    return BeforeMigration(states_of(peers), migrated, rows, NOW)


def after(rows: Mapping[str, Mapping[str, str]] | None = None, **changes: object) -> AfterMigration:
    """What the migration leaves, with other rows or anything else changed."""
    whole = {
        f"1-{H1}": {group(H1): f"{wal(H1, 2)}:7"},
        f"2-{H1}/{D1}": {group(D1): f"{wal(D1, 1)}:7"},
        f"2-{H2}": {group(H2): f"{wal(H2, 1)}:7"},
        **(rows or {}),
    }
    cells = [
        Cell(row.encode(), b"queue", qualifier.encode(), value.encode())
        for row, offsets in whole.items()
        for qualifier, value in offsets.items()
    ]
    made = AfterMigration(
        states_of(PEERS), rows_of(parse_queue_cells(cells)), NOW, {(peer, REGION): 7 for peer in "12"},
        {peer: frozenset({"f"}) for peer in "12"}, WALS, (SAFE_FLAGS, SAFE_FLAGS),
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def differences(found: AfterMigration, was: BeforeMigration | None = None) -> set[tuple[str, str, str | None, str]]:
    checks = verify(was or before(), found)
    return {(one.rule, one.answer, one.severity, one.subject) for one in checks if one.severity is not None}


def without(found: AfterMigration, row: str) -> AfterMigration:
    return replace(found, rows={queue: groups for queue, groups in found.rows.items() if str(queue) != row})


def flags(**changes: bool | None) -> MasterFlags:
    return replace(SAFE_FLAGS, **changes)


def test_all_rules_hold_after_a_migration() -> None:
    checks = verify(before(), after())
    assert {one.severity for one in checks} == {None}
    asked = {one.rule for one in checks}
    assert {rule.value for rule in MigrationRule} - asked == {"NO_EXTRA_ROW", "NO_UNKNOWN_PEER"}, (
        "these two find, or do not ask"
    )
    assert verify_findings(checks) == ()


@pytest.mark.promise("migration-is-planned-and-verified")
@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        pytest.param(
            lambda: without(after(), f"2-{H2}"), ("ROW_WRITTEN", "MISSING", "error", f"2-{H2}"), id="a row is missing"
        ),
        pytest.param(
            lambda: without(after(), f"1-{H1}"),
            ("ROW_WRITTEN", "MISSING", "warning", f"1-{H1}"),
            id="of an enabled peer: it may have finished",
        ),
        pytest.param(
            lambda: after({f"2-{H2}": {"other": f"{wal(H2, 1)}:7"}}),
            ("OFFSET_EQUAL", "MISSING", "error", f"2-{H2}"),
            id="a group is missing",
        ),
        pytest.param(
            lambda: after({f"2-{H2}": {group(H2): f"{wal(H2, 1)}:8"}}),
            ("OFFSET_EQUAL", "AHEAD", "error", f"2-{H2}"),
            id="ahead in its WAL, and the peer was disabled",
        ),
        pytest.param(
            lambda: after({f"2-{H2}": {group(H2): f"{wal(H2, 1)}:-1"}}),
            ("OFFSET_EQUAL", "AHEAD", "error", f"2-{H2}"),
            id="its WAL is finished",
        ),
        pytest.param(
            lambda: after({f"1-{H1}": {group(H1): f"{wal(H1, 3)}:0"}}, listed=WALS | {wal(H1, 3)}),
            ("OFFSET_EQUAL", "AHEAD", "info", f"1-{H1}"),
            id="an enabled peer goes on",
        ),
        pytest.param(
            lambda: after({f"2-{H2}": {group(H2): f"{wal(H2, 1)}:6"}}),
            ("OFFSET_EQUAL", "BEHIND", "warning", f"2-{H2}"),
            id="behind is shipped again",
        ),
        pytest.param(
            lambda: after({f"2-{H2}": {group(H2): f"{wal(H2, 1)}:7", group(D1): f"{wal(D1, 1)}:0"}}),
            ("OFFSET_EQUAL", "EXTRA", "warning", f"2-{H2}"),
            id="a group too many",
        ),
        pytest.param(
            lambda: after({f"1-{H2}": {group(H2): f"{wal(H2, 1)}:7"}}),
            ("NO_EXTRA_ROW", "EXTRA", "error", f"1-{H2}"),
            id="a row too many",
        ),
        pytest.param(
            lambda: after({f"1-{H1}/{H2}": {str(H2): ":0"}}),
            ("NO_EXTRA_ROW", "PLACEHOLDER", "info", f"1-{H1}/{H2}"),
            id="the placeholder of a crash",
        ),
        pytest.param(
            lambda: after({f"1-{LATER}": {group(LATER): f"{wal(H1, 2)}:0"}}),
            ("NO_EXTRA_ROW", "NEW", "info", f"1-{LATER}"),
            id="a server that started later, by a clock that may be slow",
        ),
        pytest.param(
            lambda: after({f"1-{EARLIER}": {group(EARLIER): f"{wal(H1, 2)}:0"}}),
            ("NO_EXTRA_ROW", "EXTRA", "error", f"1-{EARLIER}"),
            id="a server that started earlier",
        ),
        pytest.param(
            lambda: after({f"9-{H2}": {group(H2): f"{wal(H2, 1)}:7"}}),
            ("NO_UNKNOWN_PEER", "EXTRA", "error", f"9-{H2}"),
            id="a row of a peer that is gone",
        ),
        pytest.param(
            lambda: after(sequence_ids={("1", REGION): 7, ("2", REGION): 7, ("9", REGION): 7}),
            ("NO_UNKNOWN_PEER", "EXTRA", "error", "9"),
            id="a sequence id of one",
        ),
        pytest.param(
            lambda: after(sequence_ids={("1", REGION): 7}),
            ("SEQUENCE_ID_EQUAL", "MISSING", "error", "2"),
            id="a sequence id is missing",
        ),
        pytest.param(
            lambda: after(sequence_ids={("1", REGION): 6, ("2", REGION): 7}),
            ("SEQUENCE_ID_EQUAL", "BEHIND", "error", "1"),
            id="a sequence id went back",
        ),
        pytest.param(
            lambda: after(sequence_ids={("1", REGION): 8, ("2", REGION): 7}),
            ("SEQUENCE_ID_EQUAL", "AHEAD", "info", "1"),
            id="a sequence id of an enabled peer",
        ),
        pytest.param(
            lambda: after(sequence_ids={("1", REGION): 7, ("2", REGION): 7, ("2", "f" * 32): 1}),
            ("SEQUENCE_ID_EQUAL", "EXTRA", "error", "2"),
            id="a sequence id too many",
        ),
        pytest.param(
            lambda: after(hfile_refs={"1": frozenset({"f"})}),
            ("HFILE_REF_EQUAL", "MISSING", "error", "2"),
            id="a reference is missing",
        ),
        pytest.param(
            lambda: after(hfile_refs={"1": frozenset({"f", "g"}), "2": frozenset({"f"})}),
            ("HFILE_REF_EQUAL", "EXTRA", "info", "1"),
            id="a bulk load since",
        ),
        pytest.param(
            lambda: after(listed=WALS - {wal(H2, 1)}),
            ("WAL_EXISTS", "MISSING", "error", f"2-{H2}"),
            id="the WAL is gone",
        ),
        pytest.param(
            lambda: after(flags=(SAFE_FLAGS, flags(zk_queue_data=True))),
            ("ZNODES_GONE", "DIFFERENT", "error", "zk_queue_data"),
            id="znodes are left",
        ),
        pytest.param(
            lambda: after(flags=(flags(zk_queue_data=None), SAFE_FLAGS)),
            ("ZNODES_GONE", "UNKNOWN", "error", "zk_queue_data"),
            id="nobody could ask ZooKeeper",
        ),
        pytest.param(
            lambda: after(flags=(flags(migration_pending=True), SAFE_FLAGS)),
            ("MIGRATION_ENDED", "DIFFERENT", "error", "migration_pending"),
            id="the migration is pending",
        ),
        pytest.param(
            lambda: after(states={"1": "DISABLED", "2": "DISABLED"}),
            ("PEER_AS_BEFORE", "DIFFERENT", "error", "1"),
            id="a peer was not enabled again",
        ),
        pytest.param(
            lambda: after(states={"1": "ENABLED"}),
            ("PEER_AS_BEFORE", "MISSING", "error", "2"),
            id="a peer is gone",
        ),
        pytest.param(
            lambda: after(states={"1": "ENABLED", "2": "DISABLED", "3": "ENABLED"}),
            ("PEER_AS_BEFORE", "NEW", "info", "3"),
            id="a peer is new",
        ),
    ],
)
def test_a_difference_is_told_by_rule_and_row(change: Callable[[], AfterMigration], wanted: tuple[str, ...]) -> None:
    found = differences(change())
    assert wanted in found
    worse = {one for one in found if one[2] == "error" and one != wanted}
    assert worse <= {("OFFSET_EQUAL", "MISSING", "error", f"2-{H2}")}, "nothing else is blamed"


def test_two_queues_of_a_dead_server_are_found_by_their_offsets() -> None:
    owners = (H1, H2)
    was = before(queues={(str(one), f"2-{D1}"): {wal(D1, at): b""} for one, at in zip(owners, (1, 3), strict=True)})
    restarted = [one._replace(startcode=one.startcode + 5) for one in owners]
    rows = {f"2-{one}/{D1}": {group(D1): f"{wal(D1, at)}:0"} for one, at in zip(restarted, (3, 1), strict=True)}
    found = after({f"1-{H1}": {}, f"2-{H1}/{D1}": {}, f"2-{H2}": {}, **rows}, listed=WALS | {wal(D1, 3)})
    assert differences(found, was) == set()


@pytest.mark.parametrize(
    ("peer", "wanted"),
    [
        ("1", {("NO_EXTRA_ROW", "PLACEHOLDER", "info", f"1-{H2}/{D1}")}),
        pytest.param("2", {("NO_EXTRA_ROW", "EXTRA", "error", f"2-{H2}/{D1}")}, id="a disabled peer ships nothing"),
    ],
)
def test_a_placeholder_grows_where_a_queue_was_empty(peer: str, wanted: set[tuple[str, ...]]) -> None:
    others = {key: wals for key, wals in QUEUES.items() if key != (str(H1), f"2-{D1}")}
    was = before(queues={**others, (str(D1), peer): {}})
    found = without(after({f"{peer}-{H2}/{D1}": {str(D1): ":0", group(D1): f"{wal(D1, 1)}:7"}}), f"2-{H1}/{D1}")
    assert differences(found, was) == wanted


def test_a_claimed_queue_is_found_under_its_new_owner() -> None:
    claimed = {f"2-{H1}/{H2}": {group(H2): f"{wal(H2, 1)}:7"}}
    found = without(after(claimed), f"2-{H2}")
    assert differences(found) == set()
    answers = {(one.answer, one.expected, one.found) for one in verify(before(), found)}
    assert ("CLAIMED", f"2-{H2}", f"2-{H1}/{H2}") in answers
    assert ("CLAIMED", f"{wal(H2, 1)}:7", f"{wal(H2, 1)}:7") in answers


@pytest.mark.parametrize(
    ("state", "wanted"),
    [
        (None, set()),
        ("ENABLED", {("PEER_AS_BEFORE", "DIFFERENT", "warning", LEGACY_PEER)}),
        ("DISABLED", {("PEER_AS_BEFORE", "DIFFERENT", "error", LEGACY_PEER)}),
    ],
)
def test_the_legacy_peer_must_be_gone(state: str | None, wanted: set[tuple[str, ...]]) -> None:
    left = states_of(PEERS) if state is None else {**states_of(PEERS), LEGACY_PEER: state}
    assert differences(after(states=left), before(peers=(*PEERS, Peer(LEGACY_PEER, "ENABLED")))) == wanted


@pytest.mark.parametrize(
    ("peer", "value", "severity"),
    [
        pytest.param("2", f"{wal(D1, 1)}:7", None, id="the earlier offset: nothing is lost"),
        pytest.param("2", f"{wal(D1, 3)}:0", "error", id="the later offset: edits are lost"),
        pytest.param("1", f"{wal(D1, 3)}:0", "error", id="the later offset: an enabled peer has not shipped up to it"),
        pytest.param("1", f"{wal(D1, 3)}:5", "info", id="an enabled peer may have gone on"),
    ],
)
def test_two_queues_that_became_one_row_need_the_earlier_offset(peer: str, value: str, severity: str | None) -> None:
    both = {(str(H1), f"{peer}-{D1}"): {wal(D1, 1): P7}, (str(H1), f"{peer}-{D1}-{H2}"): {wal(D1, 3): b""}}
    found = after({f"{peer}-{H1}/{D1}": {group(D1): value}}, listed=WALS | {wal(D1, 3)})
    wanted = {("OFFSET_EQUAL", "AHEAD", severity, f"{peer}-{H1}/{D1}")} if severity else set()
    assert differences(found, before(queues={**QUEUES, **both})) == wanted


def test_a_wal_that_was_missing_before_is_no_fault_of_the_migration() -> None:
    was = before(WALS - {wal(H2, 1)})
    (one,) = [one for one in verify(was, after(listed=WALS - {wal(H2, 1)})) if one.severity]
    assert (one.rule, one.severity) == ("WAL_EXISTS", "warning")
    finished = after({f"2-{H2}": {group(H2): f"{wal(H2, 1)}:-1"}}, listed=WALS - {wal(H2, 1)})
    assert not [one for one in verify(before(), finished) if one.rule == "WAL_EXISTS" and one.severity]


def test_a_wal_that_may_be_younger_than_the_listing_is_not_missing() -> None:
    young, old = (f"{group(H2)}.{NOW + later}" for later in (0, -1))
    severities = {
        name: [
            one.severity
            for one in verify(before(), after({f"2-{H2}": {group(H2): f"{name}:7"}}))
            if one.rule == "WAL_EXISTS" and one.subject == f"2-{H2}"
        ]
        for name in (young, old)
    }
    assert severities == {young: [], old: ["error"]}
    # it was not missing before either, so its loss since then is an error
    was = before(WALS - {wal(H2, 1)}, listed_before=0)
    (one,) = [one for one in verify(was, after(listed=WALS - {wal(H2, 1)})) if one.severity]
    assert (one.rule, one.severity) == ("WAL_EXISTS", "error")


def test_findings_are_one_for_each_rule_and_severity() -> None:
    lost = without(without(after(), f"2-{H2}"), f"2-{H1}/{D1}")
    (finding,) = verify_findings(verify(before(), lost))
    assert (finding.key, finding.severity, finding.peer_id) == ("MIGRATION_DIFFERENCE:ROW_WRITTEN", "error", "2")
    assert finding.message.startswith("2 differences by rule ROW_WRITTEN, such as ")
    (weaker,) = verify_findings(verify(before(), without(after(), f"1-{H1}")))
    assert (weaker.key, weaker.severity) == ("MIGRATION_DIFFERENCE:ROW_WRITTEN/warning", "warning")


def test_the_headline_counts_differences_and_not_rules() -> None:
    checks = verify(before(), without(without(after(), f"2-{H2}"), f"2-{H1}/{D1}"))
    assert len(verify_findings(checks)) == 1
    assert next(verify_lines("small", verified=False, checks=checks)).endswith(" NOT VERIFIED: 2 errors")


def test_cells_of_the_other_families() -> None:
    cells = [Cell(b"1", b"sid", b"r", (-1).to_bytes(8, "big", signed=True)), Cell(b"1", b"hfileref", b"f", b"")]
    assert sequence_ids_of(cells) == {("1", "r"): -1}
    assert hfile_refs_of(cells) == {"1": ("f",)}
    with pytest.raises(MalformedError, match=r"sid:b'r': not 8 bytes but 3"):
        sequence_ids_of([Cell(b"1", b"sid", b"r", b"443")])
    with pytest.raises(MalformedError, match="not UTF-8"):
        hfile_refs_of([Cell(b"\xff", b"hfileref", b"f", b"")])


def test_a_cell_that_was_scanned_twice_counts_as_it_was_last() -> None:
    queue = parse_queue_id(f"1-{H1}")
    cells = [Cell(f"1-{H1}".encode(), b"queue", b"g", value) for value in (b"a.1:1", b"a.1:2")]
    assert rows_of(parse_queue_cells(cells)) == {QueueId("1", queue.owner): {"g": GroupOffset("a.1", 2)}}
