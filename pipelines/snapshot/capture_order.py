"""The order in which a capture reads the cluster, and checks of that order: the safety argument (docs/safety.md)."""

from collections.abc import Sequence
from itertools import pairwise

from pipelines.common.instants import format_instant
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import QueueId
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.model import CaptureStep, Membership, Snapshot

CAPTURE_ORDER = (
    "files",
    "wal_directories",
    "online",
    "crashing",
    "peers",
    "queues-1",
    "queues-2",
    "online-2",
    "crashing-2",
)
"""Each step's `finished_at` is at or before the next step's `started_at`, by one clock."""

ZOOKEEPER_CAPTURE_ORDER = ("files", "queues-1", "queues-2")
"""The steps needed for `queue_storage: zookeeper`; other steps may be absent, or appear in the order above.

HBase adds a WAL to a queue before it writes anything to the WAL. So if a WAL was archived before the queues are read
and is in no queue then, no queue still needs it. Peers and servers have no influence: the name alone decides.
"""


def order_fault(steps: Sequence[CaptureStep], needed: Sequence[str] = CAPTURE_ORDER) -> str | None:
    """Returns why these steps are not in the capture order, or None if they are.

    Args:
        steps: the steps as stamped.
        needed: the steps that must be present.
    """
    names = tuple(step.step for step in steps)
    missing = [name for name in needed if name not in names]
    if missing:
        return f"step {missing[0]!r} is missing"
    order = tuple(name for name in CAPTURE_ORDER if name in needed or name in names)
    if names != order:
        return f"the steps were taken in the order {', '.join(names)}; it must be {', '.join(order)}"
    for step in steps:
        if step.finished_at < step.started_at:
            return f"step {step.step!r} finished before it started"
    for before, after in pairwise(steps):
        if before.finished_at > after.started_at:
            return (
                f"step {after.step!r} started at {format_instant(after.started_at)}, before {before.step!r} had "
                f"finished ({format_instant(before.finished_at)})"
            )
    return None


def not_quiet_reason(snapshot: Snapshot, pass_1: frozenset[QueueId], pass_2: frozenset[QueueId]) -> str | None:
    """Returns why the capture was not *quiet*, or None if it was.

    A capture that was not quiet proves nothing about a missing queue of a fully dead server: a second claim may have
    moved the row from behind one scan to ahead of the next. For this, a server must have claimed the row and died
    during the capture. `capture` asks the master which servers came and died, and counts them as crashing in the second
    reading (`KnownServers.moved_since`). The other checks are for snapshots of other programs, which may not have
    asked.

    Args:
        snapshot: its two memberships are compared.
        pass_1: the queue rows of the first scan.
        pass_2: the queue rows of the second scan.
    """
    first, second = snapshot.membership, snapshot.membership_2
    if first is None or second is None:
        return "the membership was not read twice"
    left = sorted(first.online - second.online)
    if left:
        return f"server {left[0]} left while the cluster was read"
    if first.crashing != second.crashing:
        changed = sorted(first.crashing ^ second.crashing)
        return f"server {changed[0]} came, or its crash procedure started or ended, while the cluster was read"
    owned = sorted(str(queue) for queue in pass_1 | pass_2 if queue.owner in first.crashing)
    if owned:
        return f"queue {owned[0]} belongs to a server whose crash procedure is unfinished"
    if pass_1 != pass_2:
        return f"queue {min(str(queue) for queue in pass_1 ^ pass_2)} is in only one of the two passes"
    return None


def mixed_clusters_reason(
    membership: Membership,
    peers: Sequence[Peer],
    rows: frozenset[QueueId],
    later: frozenset[ServerName] = frozenset(),
) -> str | None:
    """Returns why the WAL root, HBase's answers and the queues cannot belong to one cluster, or None.

    Files of one cluster that are judged by another cluster's queues would all look deletable. Every online server keeps
    a WAL open, so it has a directory below `WALs/`. In a cluster with peers, some queue belongs to a server that HBase
    knows.

    Args:
        membership: the first reading.
        peers: all peers.
        rows: the queues of both scans.
        later: servers of the second reading; the queues may belong to a server that started in between.
    """
    directories = {directory.server for directory in membership.wal_directories}
    if membership.online and not directories:
        return (
            f"no server has a directory below WALs/, although {min(membership.online)} is online: wal_root belongs to "
            "another cluster than HBase's answers, or the listing leaves WALs/ out"
        )
    if membership.online and membership.online.isdisjoint(directories):
        return (
            f"no online server (such as {min(membership.online)}) has a directory below WALs/ (there is "
            f"{min(directories)}): wal_root belongs to another cluster than HBase's answers"
        )
    known = membership.online | membership.crashing | directories
    if peers and rows and known and not any(row.owner in known | later for row in rows):
        return (
            f"no queue (such as {min(map(str, rows))}) belongs to a server that HBase knows ({min(known)} …): "
            "queues are read from another cluster than HBase's answers"
        )
    return None


def foreign_listing_reason(snapshot: Snapshot, listed: frozenset[ServerName], queues: frozenset[QueueId]) -> str | None:
    """Returns why the listing does not belong to the cluster that gave the servers and queues, or None.

    This check applies to every snapshot that is decided on or audited, whichever program captured it. It cannot decide
    if the listing has no live WAL, or if the snapshot names no server.

    Args:
        snapshot: both memberships count; if the queues are in ZooKeeper, they may be absent.
        listed: servers with a file below `WALs/`.
        queues: the queues of both readings.
    """
    known = {queue.owner for queue in queues}
    for membership in (snapshot.membership, snapshot.membership_2):
        if membership is not None:
            known |= membership.online | membership.crashing
            known |= {directory.server for directory in membership.wal_directories}
    if not listed or not known or listed & known:
        return None
    return (
        f"the listing has files below WALs/{min(listed)}, and of no server that HBase or a queue names (such as "
        f"{min(known)}): the files are those of another cluster. Capture again, everything from one cluster"
    )
