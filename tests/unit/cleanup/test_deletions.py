"""The sums of the clean-up: every outcome counts as done, as left or as gone."""

import pytest

from pipelines.cleanup.deletions import (
    DONE_OUTCOMES,
    LEFT_OUTCOMES,
    PLACING_OUTCOMES,
    CleanupFile,
    CleanupTally,
    FileOutcome,
    FileResult,
)

GONE = {FileOutcome.ALREADY_GONE}


def test_every_outcome_is_of_one_kind_and_only_what_was_left_is_where_it_was() -> None:
    assert len(DONE_OUTCOMES) + len(LEFT_OUTCOMES) + len(GONE) == len(FileOutcome)
    assert set(FileOutcome) == DONE_OUTCOMES | LEFT_OUTCOMES | GONE
    assert set(FileOutcome) - LEFT_OUTCOMES == PLACING_OUTCOMES


@pytest.mark.parametrize("outcome", FileOutcome)
def test_a_result_is_added_to_the_sums_of_its_kind(outcome: FileOutcome) -> None:
    tally = CleanupTally(1, 10, 2, 20, 3).plus(
        [FileResult(CleanupFile("a", 5, 0), outcome), FileResult(CleanupFile("b", 7, 0), outcome)]
    )
    if outcome in DONE_OUTCOMES:
        assert tally == CleanupTally(3, 22, 2, 20, 3)
    elif outcome in LEFT_OUTCOMES:
        assert tally == CleanupTally(1, 10, 4, 32, 3)
    else:
        assert tally == CleanupTally(1, 10, 2, 20, 5)
    assert tally.files == 8


def test_nothing_is_counted_before_there_is_a_result() -> None:
    assert CleanupTally().plus([]) == CleanupTally(0, 0, 0, 0, 0)
