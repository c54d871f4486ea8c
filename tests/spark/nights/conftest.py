"""The nights are reconciled once, and every test of this folder reads them."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from pipelines.common.instants import DAY_MS
from pipelines.common.job_result import JobResult
from pipelines.decide.rule import decision_table
from pipelines.decide.rule.cleaner_rule import HBaseVerdict
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.verdict import Decision, Reason, deletable
from pipelines.hbase.server_names import ServerName
from tests.labs.fleet_nights import CLUSTERS, CONFIG, NIGHTS
from tests.labs.small_cluster import DECIDED_AFTER_MS, NOW, Desk, small


@contextmanager
def mutants() -> Iterator[None]:
    """Either rule goes wrong, each for the cluster that is named after it."""
    ours, theirs = decision_table.decide_replication, decision_table.for_tracked_wal

    def rule(view: ClusterView, server: ServerName, group_: str, at: int) -> Decision:
        return deletable(Reason.REPLICATED) if view.cluster == "mutant-rule" else ours(view, server, group_, at)

    def cleaner_rule(view: ClusterView, server: ServerName, group_: str, at: int | None) -> HBaseVerdict:
        return HBaseVerdict.KEEP if view.cluster == "mutant-cleaner" else theirs(view, server, group_, at)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decision_table, "decide_replication", rule)
        patch.setattr(decision_table, "for_tracked_wal", cleaner_rule)
        yield


@pytest.fixture(scope="session")
def desk(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(spark, tmp_path_factory.mktemp("reconcile"))


@pytest.fixture(scope="session")
def nights(desk: Desk) -> list[JobResult]:
    """Every night of a fleet, each decided once by one reconcile."""
    outcomes = []
    with mutants():
        for night in range(NIGHTS):
            for cluster, change in CLUSTERS.items():
                desk.snapshot(change(small(cluster, night), night), f"night-{night}/{cluster}")
            fleet, now = desk.root / "snapshots" / f"night-{night}", NOW + night * DAY_MS + DECIDED_AFTER_MS
            outcomes.append(desk.reconcile(fleet=fleet, now=now, run_id=f"night-{night}", config=CONFIG))
    return outcomes
