"""Where long lists are cut, and which short ones share a partition."""

from collections.abc import Sequence

import pytest

from pipelines.reconcile import list_parts
from pipelines.reconcile.list_parts import ListSize, PartPlan, part_boundaries, part_plan


@pytest.mark.parametrize(
    ("sample", "parts", "cuts"),
    [
        ("dbac", 2, "c"),
        ("dbac", 4, "bcd"),
        (["\uffee", "\U0001f600", "z"], 3, ["\uffee", "\U0001f600"]),  # another order than that of UTF-16
        ("aaab", 4, "ab"),  # the same cut twice is one
        ("", 3, ""),
    ],
)
def test_a_cut_is_the_first_line_of_a_part(sample: Sequence[str], parts: int, cuts: Sequence[str]) -> None:
    assert part_boundaries(sample, parts) == tuple(cuts)


@pytest.mark.parametrize(("lines", "parts"), [(1, 1), (20, 1), (21, 2), (40, 2), (41, 3)])
def test_a_part_has_at_most_so_many_lines(lines: int, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_parts, "LINES_PER_PART", 20)
    assert ListSize("a", lines).parts == parts


def test_short_lists_share_a_partition_as_long_as_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_parts, "LINES_PER_PART", 20)
    sizes = [ListSize("a", 12), ListSize("b", 8), ListSize("c", 1)]
    assert part_plan(sizes, {}) == PartPlan({"a": 0, "b": 0, "c": 1}, {}, 2)


def test_a_long_list_shares_no_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_parts, "LINES_PER_PART", 20)
    sizes = [ListSize("a", 1), ListSize("long", 50), ListSize("b", 1), ListSize("unsampled", 30), ListSize("c", 1)]
    planned = part_plan(sizes, {"long": "abcdef"})
    assert planned.first == {"a": 0, "long": 1, "b": 4, "unsampled": 5, "c": 6}
    assert planned.cuts == {"long": ("c", "e"), "unsampled": ()}
    assert planned.partitions == 7


def test_a_plan_without_lists_has_one_partition() -> None:
    assert part_plan([], {}).partitions == 1
