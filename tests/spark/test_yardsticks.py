"""The other engines of the benchmark answer as walsafe does, so that their times may be compared."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.bench import NOW, At
from benchmarks.generate import write
from benchmarks.polars_yardstick import PolarsDecision
from benchmarks.yardsticks import DuckDbDecision, rows_of, warm_seconds
from jobs.cli.config.configuration import Config
from pipelines.decide.spark import tables
from pipelines.decide.spark.decision_frames import decision_frames
from pipelines.decide.spark.verdicts import looked_up, with_answers
from pipelines.reconcile.cluster_cases import cluster_cases
from pipelines.snapshot.reader import SnapshotDirectories
from tests.models.large import Shape

pytestmark = pytest.mark.long

FILES = 12_000


def test_the_same_counts_and_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    snapshot, ours, theirs = tmp_path / "snapshot", tmp_path / "ours", tmp_path / "theirs.parquet"
    write(Shape("bench", FILES, 20, 4, 4, 1, NOW), snapshot, None)
    reader = SnapshotDirectories(spark)
    opened = reader.open([f"file:{snapshot}"])
    (case,) = cluster_cases(opened, None, Config().settings(), At(0).now_ms())
    assert case.view
    assert case.table
    frames = decision_frames(spark, [(case.view, case.table)])
    decided = with_answers(looked_up(reader.files(opened), frames), frames)
    tables.wal_verdicts(decided, [case.key]).write.parquet(f"file:{ours}")
    expected = dict(Counter(row["reason"] for row in spark.read.parquet(f"file:{ours}").select("reason").collect()))
    assert len(expected) > 4
    duckdb = DuckDbDecision(snapshot, frames, threads=2)
    assert len(warm_seconds(duckdb, expected, 2)) == 2
    assert warm_seconds(PolarsDecision(snapshot, frames, threads=2), expected, 1)
    duckdb.write_rows(theirs, "bench")
    print_of_ours = rows_of([str(file) for file in ours.glob("*.parquet")])
    assert print_of_ours.rows == FILES
    assert rows_of([str(theirs)]) == print_of_ours
    with pytest.raises(SystemExit, match="not comparable"):
        warm_seconds(duckdb, expected | {"PENDING": 1}, 0)
