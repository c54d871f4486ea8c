"""The Spark form gives the answers of the specification, field by field, over generated clusters with all the traps."""

from dataclasses import replace
from datetime import datetime, timezone

import pytest
from hypothesis import HealthCheck, Phase, given, settings
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


def agree(spark: SparkSession, clusters: list[ClusterCase]) -> None:
    """Both forms on the files of all these clusters, in one Spark plan."""
    cases = {f"c{number}": case for number, case in enumerate(clusters)}
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


def drawn(count: int, *, derandomize: bool = False, malformed: bool = False, min_files: int = 0) -> list[ClusterCase]:
    """Clusters drawn one by one: a list of them in one draw is soon too large for hypothesis to finish.

    They are compared afterwards, many in one plan, so none is shrunk; the one named in a message is small already.
    """
    cases: list[ClusterCase] = []

    @given(cluster_cases(min_files=min_files, malformed=malformed, control_characters=malformed))
    @settings(
        max_examples=count,
        deadline=None,
        derandomize=derandomize,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def collect(case: ClusterCase) -> None:
        cases.append(case)

    collect()
    return cases


def test_spark_says_what_the_rule_says(spark: SparkSession) -> None:
    cases = drawn(200, derandomize=True)
    agree(spark, cases[:100])
    agree(spark, cases[100:])


@pytest.mark.deep
def test_spark_says_what_the_rule_says_of_thousands_of_clusters(spark: SparkSession) -> None:
    cases = drawn(3_000, malformed=True, min_files=10)
    for start in range(0, len(cases), 150):
        agree(spark, cases[start : start + 150])
