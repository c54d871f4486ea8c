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


NO_BACKUP, A_BACKUP = Backup(False, {}, None), Backup(True, {"m:1": 9}, None)


def wals_of_the_master_that_a_queue_lists(backup: Backup) -> list[ViewAndFiles]:
    """They are pending; without a queue, their names alone make them deletable."""
    queued, other = (
        (f"pv2-{number:020d}.log", f"m%2C1%2C2.{number}$masterlocalwal$", f"m%2C1%2C2.{number}") for number in (7, 8)
    )
    queues = znodes({("m,1,2", "1"): dict.fromkeys(queued, b"")})
    files = tuple(ArchivedFile(f"oldWALs/{name}", 1, NOW - 30 * DAY_MS) for name in (*queued, *other))
    snapshot = replace(zookeeper_snapshot(("1",)), backup=backup)
    view = view_of_zookeeper(ZooKeeperCase(snapshot, files, queues, queues, ReconcileSettings()))
    assert [decide(file, view).reason for file in files] == [
        *[Reason.PENDING] * 3,
        *(Reason.PROCEDURE_WAL, Reason.MASTER_LOCAL_WAL, Reason.NOT_QUEUED),
    ]
    young = [replace(file, modification_time=view.files_started) for file in files]
    assert {decide(file, view).reason for file in young} == {Reason.TOO_YOUNG}
    return [(view, files), (view, young)]


def archived_after_the_first_reading_began() -> ViewAndFiles:
    """Such a file may have been in a queue."""
    known = zookeeper_snapshot(("1",))
    snapshot = replace(known, retention=replace(known.retention, wal_ttl_ms=0))
    queues = znodes({("m,1,2", "1"): {"m%2C1%2C2.9": b""}})
    view = view_of_zookeeper(ZooKeeperCase(snapshot, (), queues, queues, ReconcileSettings()))
    start = view.files_started - 10
    view = replace(view, queued=replace(view.queued, read_from=start))
    files = tuple(ArchivedFile(f"oldWALs/m%2C1%2C2.{at}", 1, start + at - 2) for at in (1, 2, 3))
    reasons = [decide(file, view).reason for file in files]
    assert reasons == [Reason.NOT_QUEUED, Reason.QUEUE_READ_TOO_OLD, Reason.QUEUE_READ_TOO_OLD]
    return view, files


@pytest.mark.parametrize("backup", [False, True])
def test_spark_says_what_the_rule_says_of_clusters_made_by_hand(either: SparkSession, *, backup: bool) -> None:
    """Where one cluster has a backup, the plan is another."""
    cases = [*wals_of_the_master_that_a_queue_lists(NO_BACKUP), archived_after_the_first_reading_began()]
    if backup:
        cases += wals_of_the_master_that_a_queue_lists(A_BACKUP)
    agree(either, clusters_of(cases))


@pytest.mark.long
def test_spark_says_what_the_rule_says_of_a_single_cluster(spark: SparkSession) -> None:
    for one in (archived_after_the_first_reading_began(), wals_of_the_master_that_a_queue_lists(A_BACKUP)[0]):
        agree(for_few_rows(spark), clusters_of([one]))


@pytest.mark.long
def test_totals_are_those_of_the_answers(spark: SparkSession, from_zookeeper: list[ViewAndFiles]) -> None:
    totals_agree(for_few_rows(spark), clusters_of([*from_zookeeper, *from_tables()]))
