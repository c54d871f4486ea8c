"""The archived files of the documented failover, and the view of its cluster at one of its steps."""

from pipelines.common.instants import DAY_MS
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.verdict import ArchivedFile
from tests.strategies.clusters import NOW
from tests.strategies.zookeeper import Queues, ZooKeeperCase, view_of_zookeeper, znodes, zookeeper_snapshot

ARCHIVED = {
    "1.1.1.1,60020": (1234, 1265, 1378),
    "1.1.1.2,60020": (1214, 1248, 1312),
    "1.1.1.3,60020": (1280, 1325, 1401),
}
FILES = tuple(
    ArchivedFile(f"oldWALs/{address}.{number}", 1, NOW - DAY_MS)
    for address, numbers in ARCHIVED.items()
    for number in numbers
)


def seen(first: Queues, second: Queues | None = None, **cversions: int) -> ClusterView:
    """Returns the view of a cluster with peer 2; both readings are equal unless a second one is given."""
    passes = znodes(first, **cversions), znodes(first if second is None else second, **cversions)
    return view_of_zookeeper(ZooKeeperCase(zookeeper_snapshot(["2"]), FILES, *passes, ReconcileSettings()))
