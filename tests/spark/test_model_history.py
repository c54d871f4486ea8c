"""What the capture of a history of the model found is a snapshot like any other."""

import time
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import SystemClock
from pipelines.common.errors import EXIT_DONE, EXIT_PARTIAL
from pipelines.decide.rule.verdict import decide
from tests.labs.small_cluster import NOW, Desk
from tests.models.capture.captured import captured
from tests.models.capture.walk import walk
from tests.models.commands.seeds import write_history
from tests.strategies import view_of
from tests.strategies.generated import case_of

pytestmark = pytest.mark.deep

HISTORY = 755
"""The cluster moves during the capture; files that are REPLICATED can be deleted nevertheless."""


def test_the_capture_of_a_history_is_a_snapshot_that_reconcile_decides_on(spark: SparkSession, tmp_path: Path) -> None:
    write_history(HISTORY, "design", tmp_path / "history", SystemClock())
    outcome = Desk(spark, tmp_path).reconcile(tmp_path / "history", now=time.time_ns() // 1_000_000)
    case = case_of(captured(walk(HISTORY), NOW))
    expected = Counter(decide(file, view_of(case)).reason.value for file in case.files)
    assert outcome.exit_code in (EXIT_DONE, EXIT_PARTIAL)
    assert Counter(row["reason"] for row in Desk(spark, tmp_path).rows("wal_verdicts")) == expected
