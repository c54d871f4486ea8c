"""What a row is, and what compaction does with it: the columns against the definition, and Pegasus's own code."""

import json
import re
from collections import Counter
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.common.errors import MalformedError, UnavailableError, UsageError
from pipelines.lake.findings import ERROR
from pipelines.pegasus.domain.keys import encode_key, key_hash
from pipelines.pegasus.domain.partitions import partition_index
from pipelines.pegasus.domain.rows import Placement, RowKind, kind_of
from pipelines.pegasus.domain.stale import FilterSettings, RowFate, fate_of, stale_findings, sum_by_fate
from pipelines.pegasus.domain.values import EPOCH_S, decode_value, is_expired
from pipelines.pegasus.domain.verify.compare import AFTER, BEFORE, Differences, compare_sums
from pipelines.pegasus.domain.verify.findings import verify_findings
from pipelines.pegasus.domain.verify.judge import DifferenceReason, KeyCopy, KeyFacts, key_problems
from pipelines.pegasus.transforms.row_tally import ExamineSettings, examine_rows
from pipelines.pegasus.use_cases.split_verify import ComparedSide, VerifyRequest, split_verify, verify_lines
from tests.labs.pegasus.split_rows import AT_S, Row, row_of, split, table_of, value_of
from tests.labs.pegasus.split_tallies import batch_of, tallied
from tests.labs.places import PROJECT

KEYS = st.one_of(st.binary(max_size=5), st.builds(encode_key, st.binary(max_size=3), st.binary(max_size=2)))
EXPIRY = st.sampled_from([0, 1, AT_S - EPOCH_S - 1, AT_S - EPOCH_S, AT_S - EPOCH_S + 1])
VALUES = st.one_of(
    st.binary(max_size=14),
    st.builds(lambda expiry, rest: expiry.to_bytes(4, "big") + rest, EXPIRY, st.binary(min_size=8, max_size=12)),
    st.builds(lambda expiry, rest: b"\x82" + expiry.to_bytes(4, "big") + rest, EXPIRY, st.binary(max_size=12)),
)
ROWS = st.lists(st.builds(Row, st.integers(-1, 9), KEYS, VALUES), max_size=40)
PLACEMENTS = st.sampled_from([(8, 8), (8, 4), (8, 2), (6, 3), (6, 6), (1, 1)])


def defined(row: Row, placement: Placement) -> tuple[RowKind, bool, bool, int]:
    """Kind, expired, forever and timetag of a row, one by one."""
    kind = kind_of(row.key, row.index, placement)
    try:
        value = decode_value(row.value, placement.data_version)
    except MalformedError:
        kind = RowKind.MALFORMED if kind > RowKind.EMPTY_WRITE else kind
        return kind, False, False, 0
    hashed = kind >= RowKind.FOREIGN
    tag = value.timetag.packed if value.timetag else 0
    return kind, hashed and is_expired(value.expire_ts, AT_S), hashed and value.expire_ts == 0, tag


@settings(deadline=None)  # the first call makes tables
@given(ROWS, PLACEMENTS, st.sampled_from([0, 1]), st.integers(1, 3))
def test_columns_count_rows_as_the_definition_says(
    rows: list[Row], counts: tuple[int, int], data_version: int, batches: int
) -> None:
    placement = Placement(*counts, data_version)
    found = tallied(rows, ExamineSettings(placement, 16, AT_S), batches)
    expected: Counter[tuple[int, int, RowKind, bool, bool]] = Counter()
    sizes: Counter[tuple[int, int, RowKind, bool, bool]] = Counter()
    for row in rows:
        kind, expired, forever, tag = defined(row, placement)
        group = partition_index(key_hash(row.key), 16) if kind >= RowKind.FOREIGN else -1
        place = (row.index, group, kind, expired, forever)
        expected[place] += 1
        sizes[place] += len(row.key) + len(row.value)
        assert examine_rows(batch_of([row]), ExamineSettings(placement, 16, AT_S)).timetags.tolist() == [tag]
    got = {(p.index, p.bucket, p.kind, p.expired, p.forever): tally for p, tally in found.items()}
    assert {place: tally.rows for place, tally in got.items()} == expected
    assert {place: tally.bytes for place, tally in got.items()} == sizes


def filtered(row: Row, settings: FilterSettings) -> bool | None:
    """KeyWithTTLCompactionFilter::Filter, line by line; None where Pegasus asserts."""
    if row.value and len(row.value) < 12:
        return None
    expire_ts = decode_value(row.value).expire_ts if row.value else 0
    if len(row.key) < 2:
        return False
    if settings.default_ttl != 0 and expire_ts == 0:
        expire_ts = AT_S - EPOCH_S + settings.default_ttl
    if is_expired(expire_ts, AT_S):
        return True
    version = settings.version(row.index)
    if not settings.validate or len(row.key) < 2 or version < 0 or row.index > version:
        return False
    return key_hash(row.key) & version != row.index


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5), st.sampled_from([None, -1, 1])), max_size=30),
    st.sampled_from([(8, 4), (6, 3), (8, 8)]),
    st.booleans(),
    st.sampled_from([0, 60]),
    st.dictionaries(st.integers(0, 5), st.sampled_from([-1, 3, 7]), max_size=3),
)
def test_the_rehearsal_drops_what_the_filter_drops(
    made: list[tuple[int, int, int | None]],
    counts: tuple[int, int],
    validate: bool,
    default_ttl: int,
    versions: dict[int, int],
) -> None:
    settings = FilterSettings(Placement(*counts), validate, default_ttl, versions)
    rows = [
        Row(index, encode_key(f"k{number}".encode(), b""), value_of("x", expires_in=expires))
        for number, index, expires in made
    ]
    rows.append(Row(0, b"", b""))
    for row in rows:
        (place,) = tallied([row], ExamineSettings(settings.placement, settings.groups, AT_S))
        fate = fate_of(place, settings)
        assert fate.value.startswith("DROPPED") == filtered(row, settings), (row, fate)


def stale_of(rows: list[Row], settings: FilterSettings) -> list[tuple[str, str]]:
    found = tallied(rows, ExamineSettings(settings.placement, settings.groups, AT_S))
    assert sum(one.rows for one in sum_by_fate("t", found, settings)) == len(rows)
    return [(one.code, one.severity) for one in stale_findings("t", found, settings)]


def test_what_an_operator_is_told() -> None:
    whole, eight = split(table_of(4, 100), 4), Placement(8, 4)
    assert stale_of(whole, FilterSettings(eight, True)) == [("SPLIT_D4", "info")]
    assert stale_of(whole, FilterSettings(eight, False)) == [("SPLIT_C9", ERROR)]
    held = FilterSettings(eight, True, 0, dict.fromkeys(range(8), -1))
    assert stale_of(whole, held) == [("SPLIT_D4", "warning")]
    assert stale_of(split(table_of(4, 100), 4, copies=False), FilterSettings(eight, False)) == []
    assert stale_of(whole, FilterSettings(eight, True, 60)) == [("SPLIT_D4", "info")]
    assert stale_of(whole, FilterSettings(eight, False, 60)) == [("SPLIT_C9", ERROR)]
    odd = split(table_of(3, 100), 3)
    assert stale_of(odd, FilterSettings(Placement(6, 3), True))[0] == ("SPLIT_C1", ERROR)


@pytest.mark.parametrize("validate", [True, False])
def test_rows_that_no_split_has_left_are_not_called_copies(validate: bool) -> None:
    rows = [row._replace(index=2) if row.index == 1 else row for row in table_of(8, 100)]
    gone = row_of(8, "user5", value_of("x", expires_in=-1))
    rows.append(gone._replace(index=(gone.index + 1) % 8))
    lost = sum(row.index == 1 and row.key != b"" for row in table_of(8, 100))
    for version in (7, -1):
        settings = FilterSettings(Placement(8, 8), validate, 0, dict.fromkeys(range(8), version))
        found = tallied(rows, ExamineSettings(settings.placement, settings.groups, AT_S))
        (only,) = stale_findings("t", found, settings)
        assert (only.key, only.severity) == (f"SPLIT_D3:t/{lost}", ERROR)
        assert json.loads(only.evidence) == {"rows": lost, "partitions": [2]}
        assert "they may be the only ones" in only.message
        assert only.remedy.startswith("Do not compact.")
        assert "another table that was split (duplication), give the init_partition_count of that table" in only.remedy


@pytest.mark.parametrize(("old", "new"), [(4, 8), (3, 6)])
def test_without_a_power_of_two_nobody_is_told_to_compact(old: int, new: int) -> None:
    settings = FilterSettings(Placement(new, old), validate=False)
    rows = tallied(split(table_of(old, 100), old), ExamineSettings(settings.placement, 8, AT_S))
    (found,) = stale_findings("t", rows, settings)
    assert found.code == "SPLIT_C9"
    assert "compaction does not remove as copies" in found.message, "a TTL may still remove them"
    if new == 6:
        assert found.remedy.startswith("Leave the env off")
    else:
        order = ["split-verify", "split-stale", "set the env", "and compact"]
        assert sorted(order, key=found.remedy.index) == order


def test_versions_that_no_partition_has_are_refused() -> None:
    for wrong in ({0: 4}, {8: 7}, {0: -2}):
        with pytest.raises(UsageError, match=r"partition_version|partition"):
            FilterSettings(Placement(8, 4), True, 0, wrong)
    with pytest.raises(UsageError, match="was not created with 3"):
        Placement(8, 3)
    with pytest.raises(UsageError, match="at most 1048576"):
        Placement(1 << 21, 1 << 21)
    with pytest.raises(UsageError, match="was not created with 4: each split doubles"):
        Placement(12, 4)


def test_sums_that_differ_say_where_to_look() -> None:
    before, after = table_of(4, 100), split(table_of(4, 100), 4)
    question, wide = (ExamineSettings(Placement(count, 4), 8, AT_S, 16) for count in (4, 8))
    same = compare_sums("t", 8, tallied(before, question), tallied(after, wide))
    assert (same.differing, same.wanted) == (frozenset(), frozenset())
    lost = row_of(8, "user5", b"")
    bucket = partition_index(key_hash(lost.key), 8 * 16)
    less = [row for row in after if (row.index, row.key) != (lost.index, lost.key)]
    found = compare_sums("t", 8, tallied(before, question), tallied(less, wide))
    assert (found.differing, found.wanted) == ({lost.index}, {bucket}), "of its partition, a sixteenth is compared"
    assert found.places(BEFORE, {bucket}, ()) == {lost.index % 4}
    assert found.places(AFTER, {bucket}, ()) <= {lost.index, (lost.index + 4) % 8}
    assert found.places(AFTER, (), {RowKind.EMPTY_WRITE}) == set(range(8))
    newer = [
        row._replace(value=value_of("x", at_us=1_800_000_000_000_000))
        if row.key == lost.key and row.index != lost.index
        else row
        for row in after
    ]
    found = compare_sums("t", 8, tallied(before, question), tallied(newer, wide))
    assert (found.differing, found.wanted) == (frozenset(), {bucket})


def test_a_lake_that_cannot_be_written_costs_no_comparison() -> None:
    side = ComparedSide("rows", Placement(8, 4))
    rows, lake = Mock(), Mock()
    lake.ensure.side_effect = UnavailableError("/proc/x")
    with pytest.raises(UnavailableError, match="/proc/x"):
        split_verify(VerifyRequest("t", side, side, AT_S * 1000), rows, Mock(), lake)
    rows.tally.assert_not_called()


def test_a_text_names_only_tables_that_need_a_lake_with_the_option() -> None:
    compared = compare_sums("t", 64, tallied(table_of(64), ExamineSettings(Placement(64, 64), 64, AT_S)), {})
    counts = {(number, "lost", AFTER): 1 for number in range(64)}
    said = "\n".join(verify_lines("t", compared, Differences(counts, ())))
    assert "more; with --lake, table split_verify has every one" in said
    assert "64 differences more; with --lake, table split_diff has them" in said
    remedies = [one.remedy for one in verify_findings("t", compared, counts)]
    assert all("with --lake" in words for words in (*said.splitlines(), *remedies) if "table split_" in words)


def test_more_rows_than_were_acknowledged_are_another_finding() -> None:
    compared = compare_sums("t", 8, {}, {})

    def keys(rows: int) -> set[str]:
        counts = {(0, "lost", AFTER): rows, (1, "lost", AFTER): 1, (2, "malformed", BEFORE): rows}
        return {one.key for one in verify_findings("t", compared, counts)}

    assert keys(2) == {"SPLIT_D1:t/lost/after/3", "SPLIT_D6:t/malformed/before"}
    assert keys(2_000) == {"SPLIT_D1:t/lost/after/2001", "SPLIT_D6:t/malformed/before"}


def test_a_key_that_agrees_is_no_difference() -> None:
    live = KeyCopy(1, 5, 77, expired=False, timetag=9)
    old = live._replace(digest=1, timetag=3, lies_in=1)
    assert list(key_problems(KeyFacts(live, live, KeyCopy()))) == []
    assert list(key_problems(KeyFacts(live, live, old))) == [], "an older copy is what a split leaves"
    gone = live._replace(expired=True)
    assert list(key_problems(KeyFacts(gone, KeyCopy(), KeyCopy()))) == []
    assert list(key_problems(KeyFacts(KeyCopy(), gone, KeyCopy()))) == []
    assert [one.reason for one in key_problems(KeyFacts(live, KeyCopy(), old))] == [DifferenceReason.LOST]


@pytest.mark.parametrize("timetag", [0, 9], ids=["without a timetag", "with a timetag"])
def test_the_only_copy_is_a_difference_whether_or_not_its_value_has_a_time(timetag: int) -> None:
    copy = KeyCopy(1, 1, 77, expired=False, timetag=timetag)
    assert [one.reason for one in key_problems(KeyFacts(KeyCopy(), KeyCopy(), copy))] == [DifferenceReason.STALE_NEWER]
    owner = copy._replace(lies_in=5, digest=78)
    expected = [] if timetag else [DifferenceReason.STALE_NEWER]  # without a time, the parent may have taken a write
    assert [one.reason for one in key_problems(KeyFacts(owner, owner, copy))] == expected
    left = [one.reason for one in key_problems(KeyFacts(owner._replace(digest=77), owner, copy))]
    assert left == [DifferenceReason.VALUE], "the split has left it, and the owner has taken a write"
    assert list(key_problems(KeyFacts(owner, owner, copy, frozenset({77})))) == [], "an earlier split has left it"
    assert list(key_problems(KeyFacts(KeyCopy(), KeyCopy(), copy._replace(expired=True)))) == []
    deleted = KeyFacts(KeyCopy(), KeyCopy(), copy, frozenset({77}))
    assert list(key_problems(deleted)) == [], "an earlier split has left it, and its owner deleted the row"


def test_the_pages_name_every_fate_and_reason() -> None:
    docs = PROJECT / "docs"
    stale = set(re.findall(r"`([A-Z]+_[A-Z_]+)`", (docs / "split-stale.md").read_text(encoding="utf-8")))
    assert {fate.value for fate in RowFate} <= stale
    verify = (docs / "split-verify.md").read_text(encoding="utf-8")
    assert {reason.value for reason in DifferenceReason} <= set(re.findall(r"^\| ([a-z-]+) \|", verify, re.MULTILINE))
