"""The gate: Great Expectations really evaluates, for every cluster at once, and nobody can overrule a proof."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pipelines.common.errors import UsageError
from pipelines.decide.gate import gate
from pipelines.decide.gate.gate import ACCEPTABLE, SHARE, check, check_acceptances, expectations
from pipelines.decide.gate.gate_metrics import ClusterMetrics
from pipelines.decide.gate.validation import ColumnAtMost, ColumnsEqual

SOUND = ClusterMetrics(
    cluster="prod-a",
    files=10,
    bytes=1000,
    listed_files=4,
    listed_bytes=400,
    verdict_files=10,
    verdict_bytes=1000,
    rows_promised=12,
    rows_read=12,
)
NOTHING: Mapping[str, str] = {}
BROKEN = {
    "listing_is_whole": {"rows_read": 11},
    "paths_are_unique": {"duplicate_paths": 1},
    "paths_lie_below_wal_root": {"bad_paths": 1},
    "lengths_and_times_are_known": {"bad_values": 2},
    "every_file_has_one_verdict": {"verdict_files": 11},
    "bytes_reconcile_with_listing": {"verdict_bytes": 999},
    "every_file_is_decided": {"undecided": 1},
    "deletable_lies_under_old_wals": {"deletable_outside": 1},
    "deletable_blocks_nobody": {"deletable_and_blocking": 1},
    "pending_has_holder": {"held_without_holder": 1},
    "deletable_within_hbase_delete": {"deletable_kept_by_hbase": 1},
    SHARE: {"listed_bytes": 951},
}


def failed(metrics: ClusterMetrics, accepted: Mapping[str, str] = NOTHING) -> list[str]:
    return [result.expectation for result in check([metrics], accepted, 0.95) if result.refuses]


def test_sound_cluster_passes_every_expectation() -> None:
    results = check([SOUND], NOTHING, 0.95)
    assert [result.expectation for result in results] == [rule.name for rule in expectations(0.95)]
    assert all(result.success and result.unexpected_count == 0 and result.description for result in results)


@pytest.mark.promise("gate-refuses-on-one-failure")
def test_every_expectation_is_broken_below() -> None:
    assert set(BROKEN) == {rule.name for rule in expectations(0.95)}


@pytest.mark.promise("gate-refuses-on-one-failure")
@pytest.mark.parametrize("name", BROKEN)
def test_breaking_one_number_fails_that_expectation_alone(name: str) -> None:
    assert failed(replace(SOUND, **BROKEN[name])) == [name]


def test_empty_cluster_passes() -> None:
    empty = ClusterMetrics("prod-a", 0, 0, 0, 0, 0, 0, 0, 0)
    assert failed(empty) == []


def test_numbers_beyond_double_precision_still_differ() -> None:
    size = 2**60
    assert failed(replace(SOUND, bytes=size, verdict_bytes=size + 1)) == ["bytes_reconcile_with_listing"]


def test_negative_counts_are_no_pass() -> None:
    assert failed(replace(SOUND, bad_paths=-1)) == ["paths_lie_below_wal_root"]


@pytest.mark.parametrize("missing", [None, float("nan"), True])
def test_a_missing_number_is_no_pass(missing: object) -> None:
    with pytest.raises(TypeError, match="bad_paths"):
        replace(SOUND, bad_paths=missing)


def test_results_name_the_cluster_and_the_count() -> None:
    clusters = [replace(SOUND, cluster="a"), replace(SOUND, cluster="b", bad_paths=7), replace(SOUND, cluster="c")]
    refused = [result for result in check(clusters, NOTHING, 0.95) if result.refuses]
    assert [(one.cluster, one.expectation, one.unexpected_count, one.observed) for one in refused] == [
        ("b", "paths_lie_below_wal_root", 7, "bad_paths=7")
    ]


def test_a_fleet_is_one_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 clusters are not checked one by one."""
    validate, sizes = gate._validate, list[int]()

    def counted(metrics: Sequence[ClusterMetrics], rules: Sequence[ColumnsEqual | ColumnAtMost]) -> Any:  # noqa: ANN401
        sizes.append(len(metrics))
        return validate(metrics, rules)

    monkeypatch.setattr(gate, "_validate", counted)
    fleet = [replace(SOUND, cluster=f"c{number}", undecided=int(number == 1999)) for number in range(2000)]
    refused = [result.cluster for result in check(fleet, NOTHING, 0.95) if result.refuses]
    assert refused == ["c1999"]
    assert sizes == [2000]


def test_share_can_be_accepted_and_the_words_are_kept() -> None:
    accepted = {SHARE: "first clean-up, checked by hand"}
    results = check([replace(SOUND, listed_bytes=999), replace(SOUND, cluster="b")], accepted, 0.95)
    share = [result for result in results if result.expectation == SHARE]
    assert [(one.success, one.accepted, one.accepted_reason, one.refuses) for one in share] == [
        (False, True, "first clean-up, checked by hand", False),
        (True, False, None, False),
    ]


@pytest.mark.parametrize(("size", "refuses"), [(999, False), (1000, True)])
def test_the_share_counts_from_some_size_on(size: int, refuses: bool) -> None:
    """A small cluster may have shipped everything; listing everything of a large one is worth a person's look."""
    shipped = replace(SOUND, bytes=size, verdict_bytes=size, listed_bytes=size, share_from_bytes=1000)
    assert [one.expectation for one in check([shipped], {}, 0.95) if one.refuses] == [SHARE] * refuses


@pytest.mark.promise("only-the-share-can-be-overruled")
@pytest.mark.parametrize("name", sorted(set(BROKEN) - ACCEPTABLE))
def test_a_proof_cannot_be_overruled(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be overruled"):
        check([SOUND], {name: "because"}, 0.95)


@pytest.mark.parametrize(
    ("name", "reason", "words"), [("nonsense", "x", "no such expectation"), (SHARE, " ", "say why")]
)
def test_accept_needs_a_known_name_and_a_reason(name: str, reason: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_acceptances({name: reason}, 0.95)
