"""What a night changed: the comparison of few files, and Spark's of many, on the same two nights."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from pipelines.common.spark.few_rows import FEW, at_hand
from pipelines.common.spark.local_frames import local_frame
from pipelines.lake.night_changes import VerdictChange
from pipelines.lake.run_summary import RunKey
from pipelines.reconcile.lake_history import LakeHistory, VerdictOfFile
from pipelines.reconcile.past import PastNight
from pipelines.reconcile.verdict_changes import verdict_changes

NIGHT = 1_790_000_000_000
NAMES = ("cluster", "path", "verdict", "reason", "length")
FILES = StructType([StructField(name, LongType() if name == "length" else StringType()) for name in NAMES])
HELD, FREE = ("HELD", "PENDING"), ("DELETABLE", "REPLICATED")
File = tuple[str, str, str, str, int | None]
BEFORE: list[File] = [
    ("a", "stays", *HELD, 1),
    ("a", "freed", *HELD, 2),
    ("a", "freed too", *HELD, 4),
    ("a", "gone", *FREE, 8),
    ("b", "freed", *FREE, 16),
    ("unknown", "stays", *HELD, 1),
]
NOW: list[File] = [
    ("a", "stays", *HELD, 1),
    ("a", "freed", *FREE, 2),
    ("a", "freed too", *FREE, 5),  # it grew; the bytes of this night count
    ("a", "new", "HELD", "TOO_YOUNG", None),
    ("b", "freed", *HELD, 16),
    ("unknown", "stays", *FREE, 1),  # not asked for
    ("lost", "new", *FREE, 1),  # what it had before is no longer in the lake
    ("first", "new", *FREE, 32),
]
EXPECTED = {
    "a": {
        VerdictChange("r", None, None, "HELD", "TOO_YOUNG", 1, 0),
        VerdictChange("r", *HELD, *FREE, 2, 7),
        VerdictChange("r", *FREE, None, None, 1, 8),
    },
    "b": {VerdictChange("r", *FREE, *HELD, 1, 16)},
    "first": {VerdictChange("r", None, None, *FREE, 1, 32)},
}


@dataclass
class Lake(LakeHistory):
    """The verdicts of the night before, without tables."""

    frame: DataFrame

    def verdicts(self, keys: Collection[RunKey]) -> DataFrame:
        assert {key.run_date for key in keys} == {date(2026, 9, 20)}
        return self.frame.filter(self.frame["cluster"].isin([key.cluster for key in keys]))

    def verdicts_of_files(self, keys: Collection[RunKey]) -> Iterator[tuple[str, VerdictOfFile]]:
        for row in self.verdicts(keys).collect():
            yield row["cluster"], VerdictOfFile(row["path"], row["verdict"], row["reason"], row["length"])


def nights(files: int) -> Mapping[str, PastNight]:
    found = {"a": 4, "b": 1, "lost": files, "first": 0}
    return {cluster: PastNight("r", NIGHT - 80_000_000, files=count) for cluster, count in found.items()}


@pytest.mark.parametrize("files", [1, FEW], ids=["few", "many"])
def test_both_ways_count_the_same(spark: SparkSession, files: int) -> None:
    lake = Lake(local_frame(spark, BEFORE, FILES))
    found = verdict_changes(local_frame(spark, NOW, FILES), len(NOW), nights(files), lake)
    assert {cluster: set(rows) for cluster, rows in found.items()} == EXPECTED


def test_few_files_at_hand_need_no_job(spark: SparkSession) -> None:
    frame = at_hand(local_frame(spark, NOW, FILES).repartition(2), len(NOW))
    lake = Lake(local_frame(spark, BEFORE, FILES))
    context = spark.sparkContext
    context.setJobGroup("changes", "what a night changed")
    try:
        assert verdict_changes(frame, len(NOW), nights(1), lake)
        assert context.statusTracker().getJobIdsForGroup("changes") == []
        frame.repartition(2).collect()
        assert len(context.statusTracker().getJobIdsForGroup("changes")) >= 1, "a job would be seen"
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def test_a_first_night_changes_nothing(spark: SparkSession) -> None:
    assert verdict_changes(local_frame(spark, NOW, FILES), len(NOW), {}, Lake(local_frame(spark, [], FILES))) == {}
