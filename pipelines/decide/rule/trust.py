"""Decides whether a snapshot can be trusted at all (reason SNAPSHOT_UNTRUSTED)."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from pipelines.common.conditions import Condition
from pipelines.decide.rule.settings import Release
from pipelines.hbase.peers import ambiguous_peer
from pipelines.hbase.replication_queues import QueueCell
from pipelines.snapshot.capture_order import CAPTURE_ORDER, mixed_clusters_reason, order_fault
from pipelines.snapshot.extras import KNOWN_EXTRAS, named_extras
from pipelines.snapshot.model import MasterFlags, Snapshot
from pipelines.snapshot.syncup_facts import EXTRA as SYNC_UP

Doubts: TypeAlias = Iterator[tuple[Condition, str | None]]
"""Questions of trust in the order in which they are asked: the name for a doubt, and its sentence; None = no doubt."""


def first_doubt(doubts: Doubts) -> tuple[Condition, str] | None:
    """Returns the first doubt, or None; nothing behind it is asked."""
    return next(((condition, why) for condition, why in doubts if why is not None), None)


def doubts(snapshot: Snapshot, passes: Sequence[Sequence[QueueCell]], release: Release) -> Doubts:
    """Yields why nothing in this snapshot can be trusted, and what to do about it.

    Args:
        snapshot: its form is checked; storage `table`.
        passes: parsed cells of queues-1 and queues-2.
        release: opt-ins of the configuration.
    """
    yield from doubts_of_reading(snapshot)
    for flags in (snapshot.flags, snapshot.flags_2):
        if flags is None:
            yield Condition.SNAPSHOT_UNTRUSTED, "the master's flags were not read twice. Capture again"
        else:
            yield Condition.MIGRATION_PENDING, _migration(flags)
            yield Condition.QUEUE_TABLE_MISSING, _no_table(flags, has_peers=bool(snapshot.peers))
    yield Condition.SNAPSHOT_UNTRUSTED, _rows(snapshot, passes, release)
    yield Condition.MIXED_CLUSTERS, _mixed_clusters_reason(snapshot, passes)


def doubts_of_reading(snapshot: Snapshot) -> Doubts:
    """Yields the first of `doubts`, which precede flags and rows, on a snapshot with storage `table`."""
    yield extra_condition(snapshot), unknown_extra(snapshot)
    yield Condition.SNAPSHOT_OUT_OF_ORDER, wrong_order(snapshot, CAPTURE_ORDER)
    yield Condition.PEER_ID_AMBIGUOUS, ambiguous_peer(snapshot.peers)
    yield Condition.MASTER_CHANGED, _master(snapshot)


def extra_condition(snapshot: Snapshot) -> Condition:
    """Returns the name for what `unknown_extra` says."""
    return Condition.CLUSTER_DOWN if SYNC_UP in named_extras(snapshot) else Condition.FORMAT_UNKNOWN


def unknown_extra(snapshot: Snapshot) -> str | None:
    """Returns why an extra rules out trust, or None. An extra may turn DELETABLE into HELD, so none is passed over."""
    extras = named_extras(snapshot)
    if SYNC_UP in extras:
        return (
            "the cluster was down when it was captured, so nobody knows whose crash was unfinished. Such a snapshot is "
            "for plan-syncup; capture again once HBase runs"
        )
    unknown = sorted(extras - KNOWN_EXTRAS)
    return (
        f"extra {unknown[0]!r} is not known to this walsafe; use the version that the capture was made for"
        if unknown
        else None
    )


def wrong_order(snapshot: Snapshot, needed: Sequence[str]) -> str | None:
    """Returns why the steps cannot be trusted, or None. Every step of `needed` must be present."""
    order = order_fault(snapshot.steps, needed)
    if order is None:
        return None
    return f"not the capture order: {order}. Capture again with walsafe or with the export script it ships"


def _master(snapshot: Snapshot) -> str | None:
    first, second = snapshot.membership, snapshot.membership_2
    if first is None or second is None or first.active_master is None or second.active_master is None:
        return (
            "nothing proves that the active master was initialized while procedures were read (a loading master "
            "answers with none). Capture again once the master is up"
        )
    if first.active_master != second.active_master:
        return (
            f"the active master changed from {first.active_master} to {second.active_master} during the capture. "
            "Capture again"
        )
    return None


def unfinished_migration_reason(snapshot: Snapshot) -> str | None:
    """Returns why the queues may be in two places, or None: the migration from ZooKeeper is not known to have ended.

    Every job that reads queues then refuses (docs/migration.md), except plan-migration and verify-migration.
    """
    return next(filter(None, (_migration(flags) for flags in (snapshot.flags, snapshot.flags_2) if flags)), None)


def _migration(flags: MasterFlags) -> str | None:
    if flags.migration_pending is not False:
        known = "is pending" if flags.migration_pending else "may be pending (unknown)"
        return f"a migration of the replication queues from ZooKeeper {known}. Wait until it has finished"
    if flags.zk_queue_data is not False:
        known = "is still" if flags.zk_queue_data else "may still be (unknown)"
        return f"replication queue data {known} in ZooKeeper: the migration has not finished. Wait, then capture again"
    return None


def _no_table(flags: MasterFlags, *, has_peers: bool) -> str | None:
    if has_peers and flags.queue_table_exists is not True:
        known = "does not exist" if flags.queue_table_exists is False else "may not exist (unknown)"
        return f"hbase:replication {known} although peers do; HBase's own cleaner would delete everything"
    return None


def _rows(snapshot: Snapshot, passes: Sequence[Sequence[QueueCell]], release: Release) -> str | None:
    rows = {cell.queue for cells in passes for cell in cells}
    peers = {peer.peer_id for peer in snapshot.peers}
    online = snapshot.membership.online if snapshot.membership else frozenset()
    adding = any(flags.add_peer_running is not False for flags in (snapshot.flags, snapshot.flags_2) if flags)
    # AddPeer, which runs or may run, has perhaps written no row yet; then ADD_PEER_RUNNING holds every file
    if peers and online and not adding and not any(row.peer_id in peers for row in rows):
        return (
            f"{len(peers)} peers and {len(online)} online servers, but no row of any of these peers: AddPeer writes "
            "rows for every server, so the scan of hbase:replication missed them"
        )
    if rows and not peers and not release.orphan_queues:
        return (
            f"{len(rows)} queue rows but no peer: peers may have been read from the wrong place. If a RemovePeer "
            "is running, wait until it has ended and capture again. If none is and the peers really were removed, "
            "say so with release.orphan_queues: true"
        )
    return None


def _mixed_clusters_reason(snapshot: Snapshot, passes: Sequence[Sequence[QueueCell]]) -> str | None:
    if snapshot.membership is None:
        return None
    rows = frozenset(cell.queue for cells in passes for cell in cells)
    second = snapshot.membership_2
    later = second.online | second.crashing if second else frozenset()
    strange = mixed_clusters_reason(snapshot.membership, snapshot.peers, rows, later)
    return None if strange is None else f"{strange}. Capture again, everything from one cluster"
