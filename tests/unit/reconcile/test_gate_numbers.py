"""The gate compares two counts: that of the decision, and that of the listing when its snapshot was opened."""

from dataclasses import replace

import pytest

from pipelines.decide.gate.gate import check
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.totals import BucketTotal
from pipelines.hbase.replication_queues import parse_queue_cells
from pipelines.reconcile.cluster_cases import cluster_cases
from pipelines.reconcile.rows import ClusterTotals, gate_metrics
from pipelines.snapshot.model import SnapshotFile
from pipelines.snapshot.opened_snapshot import ListingTotals, OpenedSnapshot
from tests.labs.small_cluster import NOW, small

ARCHIVED = BucketTotal("prod", True, "HELD", "TOO_YOUNG", "KEEP", None, 5, 50, 1, 1, 0, 0)
LIVE = replace(ARCHIVED, archived=False, files=2, bytes=9)


def refusing(*decided: BucketTotal) -> list[str]:
    """Returns the expectations that fail for a listing of seven rows, of which five are below oldWALs, 50 bytes."""
    made = small("prod")
    known = replace(made.snapshot, contents={"files/part-0.parquet": SnapshotFile(7, "")})
    passes = (parse_queue_cells(made.pass_1), parse_queue_cells(made.pass_2))
    listing = ListingTotals(rows=7, archived_files=5, archived_bytes=50)
    one = OpenedSnapshot("file:///prod", "0" * 64, known, listing_readable=True, listing=listing, passes=passes)
    (case,) = cluster_cases([one], None, ReconcileSettings(), NOW)
    metrics = gate_metrics(case, ClusterTotals(decided), 0, ReconcileSettings())
    return [result.expectation for result in check([metrics], {}, 0.95) if result.refuses]


def test_a_decision_on_every_row_passes() -> None:
    assert refusing(ARCHIVED, LIVE) == []


@pytest.mark.parametrize("decided", [(ARCHIVED,), (ARCHIVED, replace(LIVE, files=1)), (ARCHIVED, LIVE, LIVE)])
def test_live_rows_that_are_lost_or_doubled_refuse_the_cluster(decided: tuple[BucketTotal, ...]) -> None:
    assert refusing(*decided) == ["listing_is_whole"]


@pytest.mark.parametrize("files", [4, 6])
def test_archived_rows_that_are_lost_or_doubled_refuse_the_cluster(files: int) -> None:
    assert refusing(replace(ARCHIVED, files=files), LIVE) == ["listing_is_whole", "every_file_has_one_verdict"]


def test_bytes_that_are_lost_refuse_the_cluster() -> None:
    assert refusing(replace(ARCHIVED, bytes=49), LIVE) == ["bytes_reconcile_with_listing"]
