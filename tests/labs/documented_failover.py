"""The worked example of HBase's replication documentation: servers A, B and C, and peer 2.

File names are in the document's short form, `address,port.timestamp`, without a start code.
"""

from pipelines.common.instants import DAY_MS
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.verdict import ArchivedFile
from tests.strategies.clusters import NOW
from tests.strategies.zookeeper import Queues, ZooKeeperCase, view_of_zookeeper, znodes, zookeeper_snapshot

A, B, C = "1.1.1.1,60020,123456780", "1.1.1.2,60020,123456790", "1.1.1.3,60020,123456630"
P = bytes.fromhex("5042554608bb03")
"""Position 443."""


def wals(address: str, *numbers: int, position: bytes = P) -> dict[str, bytes]:
    """Returns WALs with names in the document's short form; the first one has a position."""
    names = [f"{address}.{number}" for number in numbers]
    return {name: position if index == 0 else b"" for index, name in enumerate(names)}


# before anything happens; right before C cleans up after B; while A takes over from C, which died
START: Queues = {
    (A, "2"): wals("1.1.1.1,60020", 1234, 1265),
    (B, "2"): wals("1.1.1.2,60020", 1214, 1248, 1312),
    (C, "2"): wals("1.1.1.3,60020", 1280),
}
CLAIMED: Queues = {**START, (B, "lock"): {}, (C, f"2-{B}"): wals("1.1.1.2,60020", 1214, 1248, 1312)}
CLAIMED_AGAIN: Queues = {
    (A, "2"): wals("1.1.1.1,60020", 1378),
    (A, f"2-{C}"): wals("1.1.1.3,60020", 1325, 1401),
    (A, f"2-{B}-{C}"): wals("1.1.1.2,60020", 1312),
    (C, "lock"): {},
    (C, "2"): wals("1.1.1.3,60020", 1325, 1401),
    (C, f"2-{B}"): wals("1.1.1.2,60020", 1312),
}
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
