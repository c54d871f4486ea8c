"""Findings before and after the migration of the queues to `hbase:replication`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pipelines.common.human import human_bytes, human_count
from pipelines.hbase.zookeeper.tree import ReplicationTree
from pipelines.lake.findings import ERROR, WARNING, finding
from pipelines.lake.run_summary import FindingRow
from pipelines.queues.migration.plan import MigrationPeers
from pipelines.queues.migration.rows import (
    Family,
    MigrationAction,
    MigrationCheck,
    MigrationReason,
    MigrationRow,
    MigrationRule,
)

_EXAMPLES = 10
_DELETE = "Look at what it is: if no such WAL is below WALs/ or oldWALs/, delete the znode before the upgrade."
_FOREVER = "the migration would throw on it and try again forever, with all peers disabled"
_ALONE = "alone, it becomes a row at which the cleaner of HBase 3 throws, and so deletes nothing"
_FAULTS = {
    MigrationReason.INVALID_WAL_NAME.value: (f"is no WAL by its name: {_FOREVER}", _DELETE),
    MigrationReason.WAL_TIMESTAMP.value: (
        f"has a timestamp of more than 64 bits: beside another WAL of its group, {_FOREVER}; {_ALONE}",
        _DELETE,
    ),
    MigrationReason.UNREADABLE_POSITION.value: (
        f"has a position that HBase cannot read: {_FOREVER}",
        "Set the znode's data to nothing before the upgrade: that is the beginning, and the WAL is shipped again.",
    ),
}


def plan_findings(
    rows: Sequence[MigrationRow], peers: MigrationPeers, tree: ReplicationTree, moved: str | None
) -> tuple[FindingRow, ...]:
    """Returns the findings before a migration; with an error, it must not begin.

    Args:
        rows: the plan.
        peers: as HBase 3 will see them.
        tree: the last reading of ZooKeeper.
        moved: why the two readings disagree; None = they agree.
    """
    return (
        *_blocked(rows),
        *_collapsed(rows),
        *_enabled(peers),
        *_drops(rows),
        *_missing_wals(rows),
        *_half_claimed(tree, peers),
        *_unsettled(moved),
    )


def verify_findings(checks: Iterable[MigrationCheck]) -> tuple[FindingRow, ...]:
    """Returns one finding per broken rule and severity; differences of severity info are left out."""
    broken: dict[tuple[str, str], list[MigrationCheck]] = {}
    for check in checks:
        if check.severity in (ERROR, WARNING):
            broken.setdefault((check.rule, check.severity), []).append(check)
    return tuple(_difference(MigrationRule(rule), level, found) for (rule, level), found in broken.items())


def _blocked(rows: Iterable[MigrationRow]) -> Iterator[FindingRow]:
    for row in rows:
        if row.action == MigrationAction.BLOCK.value:
            path = f"{row.znode}/{row.value}"
            fault, remedy = _FAULTS[row.reason or ""]
            yield finding(
                "MIGRATION_BLOCKED",
                ERROR,
                path,
                f"{path} {fault}.",
                remedy,
                peer_id=row.peer_id,
                server=row.owner,
                cause=row.reason,
            )


def _collapsed(rows: Iterable[MigrationRow]) -> Iterator[FindingRow]:
    cells: dict[tuple[str, str], list[MigrationRow]] = {}
    for row in rows:
        if row.reason == MigrationReason.COLLAPSED.value:
            cells.setdefault((row.row, row.qualifier or ""), []).append(row)
    for (key, group), found in sorted(cells.items()):
        yield finding(
            "MIGRATION_COLLAPSED_QUEUES",
            ERROR,
            f"{key}/{group}",
            f"{len(found)} queues become the one row {key}, with different offsets in group {group}: the last one "
            "written stands, and WALs before its offset are never shipped.",
            f"Let peer '{found[0].peer_id}' ship until one of them is gone, then capture and plan again.",
            peer_id=found[0].peer_id,
            server=found[0].owner,
            size=sum(row.bytes or 0 for row in found),
            znodes={row.znode: row.value for row in found},
        )


def _enabled(peers: MigrationPeers) -> Iterator[FindingRow]:
    if peers.enabled:
        names = ", ".join(f"'{peer}'" for peer in peers.enabled)
        yield finding(
            "MIGRATION_ENABLED_PEERS",
            WARNING,
            "",
            f"Peers {names} are enabled: HBase 3 disables them when the migration begins. A region server of "
            "HBase 3 that runs already fails to do so, because hbase:replication does not exist yet, and the migration "
            "hangs.",
            "Disable them before the upgrade, and enable them when verify-migration ends with exit code 0. If the "
            "migration hangs, restart the region servers.",
            peers=list(peers.enabled),
        )


def _drops(rows: Iterable[MigrationRow]) -> Iterator[FindingRow]:
    """Yields one finding per removed peer; queues of the legacy peer and empty queues are no loss."""
    dropped: dict[str, list[MigrationRow]] = {}
    for row in rows:
        if row.reason == MigrationReason.UNKNOWN_PEER.value:
            dropped.setdefault(row.peer_id, []).append(row)
    for peer, found in sorted(dropped.items()):
        count = {family: sum(row.family == family.value for row in found) for family in Family}
        size, files = sum(row.bytes or 0 for row in found), sum(row.wals or 0 for row in found)
        yield finding(
            "MIGRATION_DROPS",
            WARNING,
            peer,
            f"There is no peer '{peer}': {human_count(len({r.znode for r in found if r.wals}), 'queue')} of it with "
            f"{human_count(files, 'WAL')} ({human_bytes(size)}), {count[Family.SEQUENCE_ID]:,} sequence ids and "
            f"{count[Family.HFILE_REF]:,} HFile references are deleted without being written.",
            f"Right if '{peer}' was removed for good. HBase refuses to add peer '{peer}' again while its queues or "
            "HFile references exist. If its data are wanted, add a peer under another id, and before the upgrade copy "
            "to its cluster what it misses, with CopyTable or WALPlayer; VerifyReplication compares the tables.",
            peer_id=peer,
            files=files,
            size=size,
            znodes=sorted({row.znode for row in found})[:_EXAMPLES],
        )


def _missing_wals(rows: Iterable[MigrationRow]) -> Iterator[FindingRow]:
    for row in rows:
        if row.action == MigrationAction.WRITE.value and row.wal_listed is False:
            yield finding(
                "MIGRATION_MISSING_WAL",
                WARNING,
                f"{row.row}/{row.qualifier}",
                f"Row {row.row} would stand at {row.value}, but that WAL is neither below WALs/ nor below oldWALs/: "
                "HBase 3 goes on with the next one it finds.",
                "Its edits are lost already, unless they were shipped. Compare the tables with VerifyReplication.",
                peer_id=row.peer_id,
                server=row.owner,
                znode=row.znode,
            )


def _half_claimed(tree: ReplicationTree, peers: MigrationPeers) -> Iterator[FindingRow]:
    """Yields what an unfinished claim of HBase 1 leaves: a lock, or the same WALs in two queues."""
    for server, owner in sorted(tree.locks.items()):
        yield finding(
            "MIGRATION_HALF_CLAIMED",
            WARNING,
            f"rs/{server}/lock",
            f"The queues of {server} are locked by {owner or 'somebody'}: a claim is under way, or died. The migration "
            "takes what stands in both places, so that some WALs may be shipped twice.",
            "If no server is claiming them, delete the lock before the upgrade. Then have the queues claimed: "
            "restart a region server, which claims the queues of dead ones at its start; from HBase 2.5 on HBCK2 "
            f"'scheduleRecoveries {server}' does. Capture again.",
            server=str(server),
        )
    holders: Mapping[tuple[str, str], list[str]] = _holders(tree, peers)
    twice: dict[tuple[str, ...], list[str]] = {}
    for (_, wal), places in holders.items():
        if len(places) > 1:
            twice.setdefault(tuple(places), []).append(wal)
    for queues, wals in sorted(twice.items()):
        yield finding(
            "MIGRATION_HALF_CLAIMED",
            WARNING,
            queues[0],
            f"{human_count(len(wals), 'WAL')} stand in {' and in '.join(queues)}: a claim that copies died before it "
            "deleted. Each queue gets its row, and the WALs are shipped twice.",
            "Let the peer ship one of the queues before the upgrade, or bear with edits that come twice.",
            files=len(wals),
            queues=list(queues),
        )


def _holders(tree: ReplicationTree, peers: MigrationPeers) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for queue in tree.queues:
        if queue.queue.peer_id in peers.migrated:
            for wal in queue.wals:
                found.setdefault((queue.queue.peer_id, wal), []).append(f"rs/{queue.owner}/{queue.queue.text}")
    return found


def _unsettled(moved: str | None) -> Iterator[FindingRow]:
    if moved is not None:
        yield finding(
            "MIGRATION_UNSETTLED",
            WARNING,
            "",
            f"The two readings of ZooKeeper do not agree ({moved}): this plan is of a moment.",
            "Capture again when no server is being claimed, as close to the upgrade as you can.",
        )


def _difference(rule: MigrationRule, severity: str, found: Sequence[MigrationCheck]) -> FindingRow:
    first = found[0]
    place = "/".join(filter(None, (first.subject, first.qualifier)))
    return finding(
        "MIGRATION_DIFFERENCE",
        severity,
        rule.value if severity == ERROR else f"{rule.value}/{severity}",
        f"{human_count(len(found), 'difference')} by rule {rule.value}, such as {place}: {first.answer}, expected "
        f"{first.expected or 'nothing'}, found {first.found or 'nothing'}.",
        "docs/migration.md says what each rule and answer means, and the way out.",
        peer_id=first.peer_id if len({one.peer_id for one in found}) == 1 else None,
        rule=rule.value,
        examples=[f"{one.subject}/{one.qualifier}" if one.qualifier else one.subject for one in found[:_EXAMPLES]],
    )
