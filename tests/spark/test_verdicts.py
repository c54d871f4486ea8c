"""The Spark form gives the answers of the specification, field by field, over generated clusters with all the traps."""

from dataclasses import replace
from datetime import datetime, timezone

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from pipelines.domain.cleaner_rule import hbase_verdict
from pipelines.domain.cluster_view import ClusterView
from pipelines.domain.decision_table import decision_table
from pipelines.domain.verdict import ArchivedFile, decide
from pipelines.domain.wal_names import parse_wal_name
from pipelines.transforms.decision_frames import decision_frames
from pipelines.transforms.local_frames import local_frame
from pipelines.transforms.verdicts import looked_up, with_answers
from tests.strategies import ClusterCase, cluster_cases, view_of

FILES = StructType(
    [
        StructField("cluster", StringType()),
        StructField("path", StringType()),
        StructField("length", LongType()),
        StructField("modification_time", TimestampType()),
    ]
)


def expected(file: ArchivedFile, view: ClusterView) -> tuple[object, ...]:
    decision = decide(file, view)
    wal = parse_wal_name(file.name)
    return (
        decision.verdict.value,
        decision.reason.value,
        hbase_verdict(file.name, view).value,
        wal.group if wal else None,
        wal.timestamp if wal else None,
        [
            (one.peer_id, str(one.owner) if one.owner else None, str(one.source), one.wal, one.offset)
            for one in decision.blocking
        ],
    )


def agree(spark: SparkSession, drawn: list[ClusterCase]) -> None:
    """Both forms on the files of all these clusters, in one Spark plan."""
    cases = {f"c{number}": case for number, case in enumerate(drawn)}
    views: dict[str, ClusterView] = {}
    tables = []
    bucket = 0
    for cluster, case in cases.items():
        views[cluster] = replace(view_of(case), cluster=cluster)
        tables.append((views[cluster], decision_table(views[cluster], bucket)))
        bucket = tables[-1][1].next_bucket
    rows = [
        (cluster, file.path, file.length, datetime.fromtimestamp(file.modification_time / 1000, timezone.utc))
        for cluster, case in cases.items()
        for file in case.files
    ]
    frames = decision_frames(spark, tables)
    answers = with_answers(looked_up(local_frame(spark, rows, FILES), frames), frames).collect()
    assert len(answers) == len(rows)
    found = {(row["cluster"], row["path"]): row for row in answers}
    for cluster, case in cases.items():
        for file in case.files:
            row = found[cluster, file.path]
            answer = (
                row["verdict"],
                row["reason"],
                row["hbase_verdict"],
                row["wal_group"],
                row["wal_timestamp"],
                [tuple(holder) for holder in row["blocking"]],
            )
            assert answer == expected(file, views[cluster]), (file, case.snapshot.peers, views[cluster].rows)


# shrinking would start a Spark job for each step; the cluster named in the message is small already
ONE_PLAN_EACH = settings(deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


@given(st.lists(cluster_cases(), min_size=40, max_size=40))
@settings(ONE_PLAN_EACH, max_examples=4, derandomize=True)
def test_spark_says_what_the_rule_says(spark: SparkSession, drawn: list[ClusterCase]) -> None:
    agree(spark, drawn)


@pytest.mark.deep
@given(st.lists(cluster_cases(min_files=10, malformed=True, control_characters=True), min_size=60, max_size=60))
@settings(ONE_PLAN_EACH, max_examples=60)
def test_spark_says_what_the_rule_says_of_thousands_of_clusters(spark: SparkSession, drawn: list[ClusterCase]) -> None:
    agree(spark, drawn)
