"""What the audit in the lake says of a run, row by row, without a clean-up around it."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.cleanup.audit import LakeAudit
from pipelines.cleanup.audit_ports import CleanupAttempt
from pipelines.cleanup.deletions import CleanupAction, CleanupFile, FileOutcome, FileResult
from pipelines.lake.run_summary import RunKey
from schemas.registry import CLEANUP_TABLES
from tests.labs.small_cluster import NOW, At

RUN = RunKey.of("prod", "night", NOW)
A, B = CleanupFile("oldWALs/a.1", 10, NOW - 1), CleanupFile("oldWALs/b.2", 20, NOW - 2)


@dataclass
class Written:
    """An audit, and how to write to it."""

    audit: LakeAudit
    clock: At
    lease: int = 0

    def outcome(self, action: CleanupAction, subject: CleanupFile, outcome: FileOutcome, at: int) -> None:
        """One attempt on one file, ms."""
        self.lease += 1
        self.clock.instant = at
        attempt = CleanupAttempt(RUN, action, f"attempt {self.lease}", self.lease)
        self.audit.intend(attempt, 1, [subject])
        self.audit.record(attempt, 1, [FileResult(subject, outcome)])


@pytest.fixture
def written(spark: SparkSession, tmp_path: Path) -> Written:
    clock = At(NOW)
    audit = LakeAudit(spark, f"file://{tmp_path}", clock, "me", "edge1")
    audit.ensure()
    return Written(audit, clock)


@pytest.mark.long
def test_the_tables_are_made_before_the_first_row(written: Written, tmp_path: Path) -> None:
    assert {folder.name for folder in tmp_path.iterdir()} == {table.name for table in CLEANUP_TABLES}
    assert written.audit.actions(RUN) == frozenset()


@pytest.mark.long
def test_each_file_needs_its_place_in_the_archive(written: Written) -> None:
    attempt = CleanupAttempt(RUN, CleanupAction.PURGE, "attempt", 1)
    with pytest.raises(ValueError, match="shorter"):
        written.audit.intend(attempt, 1, [A, B], ["archive/a.1"])
    assert written.audit.unsettled(RUN) == []


def test_the_grace_counts_from_the_file_that_was_moved_last(written: Written) -> None:
    assert written.audit.moved_at(RUN) is None
    written.outcome(CleanupAction.CLEAN, A, FileOutcome.MOVED, NOW + 1_000)
    written.outcome(CleanupAction.CLEAN, B, FileOutcome.MOVED, NOW + 5_000)
    assert written.audit.moved_at(RUN) == NOW + 5_000
    # what was refused or failed since says nothing about where a file is, and what was put back does not rest
    written.outcome(CleanupAction.PURGE, A, FileOutcome.FAILED, NOW + 7_000)
    assert written.audit.moved_at(RUN) == NOW + 5_000
    written.outcome(CleanupAction.RESTORE, B, FileOutcome.RESTORED, NOW + 8_000)
    assert written.audit.moved_at(RUN) == NOW + 1_000


@pytest.mark.long
@pytest.mark.promise("settled-by-the-file-system")
def test_an_intent_is_open_until_its_own_outcome_is_written(written: Written) -> None:
    written.outcome(CleanupAction.CLEAN, A, FileOutcome.FAILED, NOW)
    again = CleanupAttempt(RUN, CleanupAction.CLEAN, "again", 9)
    written.audit.intend(again, 1, [A, B])
    assert [(one.lease, one.subject.path) for one in written.audit.unsettled(RUN)] == [(9, A.path), (9, B.path)]
    written.audit.record(again, 1, [FileResult(B, FileOutcome.MOVED)])
    assert [one.subject.path for one in written.audit.unsettled(RUN)] == [A.path]
    assert {row["path"]: row["outcome"] for row in written.audit.outcomes(RUN).collect()} == {B.path: "MOVED"}


def test_only_what_counts_as_moved_rests(written: Written) -> None:
    written.outcome(CleanupAction.CLEAN, A, FileOutcome.MOVED, NOW)
    written.outcome(CleanupAction.CLEAN, B, FileOutcome.MOVED, NOW)
    assert written.audit.taken(RUN) == {A.path: A, B.path: B}
    written.outcome(CleanupAction.RESTORE, B, FileOutcome.RESTORED, NOW + 1)
    assert written.audit.taken(RUN) == {A.path: A, B.path: None}
    written.outcome(CleanupAction.PURGE, A, FileOutcome.PURGED, NOW + 2)
    assert written.audit.taken(RUN) == {A.path: None, B.path: None}
    assert written.audit.moved_at(RUN) is None
