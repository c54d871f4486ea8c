"""Where long lists are cut, and which partition takes which part."""

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
def test_the_number_of_parts_follows_from_the_number_of_lines(
    lines: int, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_parts, "LINES_PER_PART", 20)
    assert ListSize("a", lines).parts == parts


def test_each_part_of_each_list_has_a_partition_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_parts, "LINES_PER_PART", 20)
    sizes = [ListSize("a", 1), ListSize("long", 50), ListSize("b", 20), ListSize("unsampled", 30), ListSize("c", 1)]
    planned = part_plan(sizes, {"long": "abcdef"})
    first = {"a": 0, "long": 1, "b": 4, "unsampled": 5, "c": 6}
    assert planned == PartPlan(first, {"long": ("c", "e"), "unsampled": ()}, 7)
