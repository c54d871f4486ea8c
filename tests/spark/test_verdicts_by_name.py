"""The Spark form gives the answers of the specification where queues in ZooKeeper list WALs by name."""

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from pipelines.common.instants import DAY_MS
from pipelines.common.spark.few_rows import for_few_rows
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.verdict import ArchivedFile, Reason, decide
from pipelines.snapshot.model import Backup
from tests.labs.spark.rule_answers import ViewAndFiles, agree, clusters_of, drawn, totals_agree
from tests.strategies import cluster_cases, view_of
from tests.strategies.clusters import NOW
from tests.strategies.zookeeper import ZooKeeperCase, view_of_zookeeper, znodes, zookeeper_cases, zookeeper_snapshot
from tests.suite.sizes import examples


@pytest.fixture(scope="session")
def from_zookeeper() -> list[ViewAndFiles]:
    """Drawn clusters whose queues are in ZooKeeper."""
    cases = drawn(examples(140), zookeeper_cases(), derandomize=True)
    return [(view_of_zookeeper(case), case.files) for case in cases]


def from_tables() -> list[ViewAndFiles]:
    """Drawn clusters whose queues are in `hbase:replication`."""
    return [(view_of(case), case.files) for case in drawn(3, cluster_cases(), derandomize=True)]


@pytest.mark.promise("fast-form-equals-the-rule")
@pytest.mark.parametrize("tables", [pytest.param(0, marks=pytest.mark.long), 3])
def test_spark_says_what_the_rule_says_of_queues_in_zookeeper(
    either: SparkSession, tables: int, from_zookeeper: list[ViewAndFiles]
) -> None:
    """Alone, and in one fleet with clusters whose queues are in tables."""
    agree(either, clusters_of([*from_zookeeper, *from_tables()[:tables]]))


@pytest.mark.slow("two plans, each over two clusters")
def test_a_wal_of_the_master_that_a_queue_lists_is_pending(either: SparkSession) -> None:
    """Without a queue, its name alone makes it deletable."""
    queued, other = (
        (f"pv2-{number:020d}.log", f"m%2C1%2C2.{number}$masterlocalwal$", f"m%2C1%2C2.{number}") for number in (7, 8)
    )
    queues = znodes({("m,1,2", "1"): dict.fromkeys(queued, b"")})
    files = tuple(ArchivedFile(f"oldWALs/{name}", 1, NOW - 30 * DAY_MS) for name in (*queued, *other))
    known = zookeeper_snapshot(("1",))
    for snapshot in (known, replace(known, backup=Backup(True, {"m:1": 9}, None))):
        view = view_of_zookeeper(ZooKeeperCase(snapshot, files, queues, queues, ReconcileSettings()))
        assert [decide(file, view).reason for file in files] == [
            *[Reason.PENDING] * 3,
            *(Reason.PROCEDURE_WAL, Reason.MASTER_LOCAL_WAL, Reason.NOT_QUEUED),
        ]
        young = [replace(file, modification_time=view.files_started) for file in files]
        assert {decide(file, view).reason for file in young} == {Reason.TOO_YOUNG}
        agree(either, clusters_of([(view, files), (view, young)]))


def test_what_is_archived_after_the_first_reading_began_may_have_been_in_a_queue(either: SparkSession) -> None:
    known = zookeeper_snapshot(("1",))
    snapshot = replace(known, retention=replace(known.retention, wal_ttl_ms=0))
    queues = znodes({("m,1,2", "1"): {"m%2C1%2C2.9": b""}})
    view = view_of_zookeeper(ZooKeeperCase(snapshot, (), queues, queues, ReconcileSettings()))
    start = view.files_started - 10
    view = replace(view, queued=replace(view.queued, read_from=start))
    files = tuple(ArchivedFile(f"oldWALs/m%2C1%2C2.{at}", 1, start + at - 2) for at in (1, 2, 3))
    reasons = [decide(file, view).reason for file in files]
    assert reasons == [Reason.NOT_QUEUED, Reason.QUEUE_READ_TOO_OLD, Reason.QUEUE_READ_TOO_OLD]
    agree(either, clusters_of([(view, files)]))


@pytest.mark.long
def test_totals_are_those_of_the_answers(spark: SparkSession, from_zookeeper: list[ViewAndFiles]) -> None:
    totals_agree(for_few_rows(spark), clusters_of([*from_zookeeper, *from_tables()]))
