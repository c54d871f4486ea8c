"""Checks whether the table has what ZooKeeper had: every rule of `MigrationRule` for every row (docs/migration.md).

It distinguishes progress from faults: queues of a peer that was enabled in either capture may have moved on; those of
a peer that was disabled in both captures must not have moved.
"""

from collections.abc import Iterator

from pipelines.lake.findings import ERROR, INFO, WARNING
from pipelines.queues.migration.before_and_after import AfterMigration, BeforeMigration, may_have_moved
from pipelines.queues.migration.rows import CheckAnswer, Family, MigrationCheck, MigrationRule
from pipelines.queues.migration.verify_queues import queue_checks
from pipelines.snapshot.model import too_new


def verify(before: BeforeMigration, after: AfterMigration) -> tuple[MigrationCheck, ...]:
    """Returns all checks, in the order of the rules."""
    checks = (
        *_ended(after),
        *queue_checks(before, after),
        *_sequence_ids(before, after),
        *_hfile_refs(before, after),
        *_unknown_peers(before, after),
        *_wals(before, after),
        *_peers(before, after),
    )
    order = list(MigrationRule)
    return tuple(
        sorted(checks, key=lambda one: (order.index(MigrationRule(one.rule)), one.subject, one.qualifier or ""))
    )


def _ended(after: AfterMigration) -> Iterator[MigrationCheck]:
    for rule, name in (
        (MigrationRule.MIGRATION_ENDED, "migration_pending"),
        (MigrationRule.ZNODES_GONE, "zk_queue_data"),
    ):
        values = [None if flags is None else getattr(flags, name) for flags in after.flags]
        found = None if None in values else any(values)
        answer = CheckAnswer.UNKNOWN if found is None else CheckAnswer.DIFFERENT if found else CheckAnswer.SAME
        severity = None if answer is CheckAnswer.SAME else ERROR
        shown = "unknown" if found is None else str(found).lower()
        yield MigrationCheck(rule.value, answer.value, severity, None, name, None, "false", shown)


def _sequence_ids(before: BeforeMigration, after: AfterMigration) -> Iterator[MigrationCheck]:
    """Sequence ids must be unchanged; a serial peer that ships raises them."""
    expected = {(row.peer_id, row.qualifier or ""): int(row.value or 0) for row in before.written(Family.SEQUENCE_ID)}
    for peer, region in sorted({*expected, *(key for key in after.sequence_ids if key[0] in before.peers.migrated)}):
        old, new = expected.get((peer, region)), after.sequence_ids.get((peer, region))
        severity: str | None = INFO if may_have_moved(before, after, peer) else ERROR
        if old == new:
            answer, severity = CheckAnswer.SAME, None
        elif old is None:
            answer = CheckAnswer.EXTRA
        elif new is None:
            answer, severity = CheckAnswer.MISSING, ERROR
        elif new > old:
            answer = CheckAnswer.AHEAD
        else:
            answer, severity = CheckAnswer.BEHIND, ERROR
        yield MigrationCheck(
            MigrationRule.SEQUENCE_ID_EQUAL.value, answer.value, severity, peer, peer, region, _shown(old), _shown(new)
        )


def _hfile_refs(before: BeforeMigration, after: AfterMigration) -> Iterator[MigrationCheck]:
    """All references must still exist; new ones are bulk loads since then, whatever the peer's state."""
    expected: dict[str, set[str]] = {}
    for row in before.written(Family.HFILE_REF):
        expected.setdefault(row.peer_id, set()).add(row.qualifier or "")
    for peer in sorted(before.peers.migrated):
        old, new = expected.get(peer, set()), set(after.hfile_refs.get(peer, ()))
        for name in sorted(old | new):
            if name in old and name in new:
                answer, severity = CheckAnswer.SAME, None
            elif name in old:
                answer, severity = CheckAnswer.MISSING, WARNING if may_have_moved(before, after, peer) else ERROR
            else:
                answer, severity = CheckAnswer.EXTRA, INFO
            yield MigrationCheck(
                MigrationRule.HFILE_REF_EQUAL.value, answer.value, severity, peer, peer, name,
                "there" if name in old else None, "there" if name in new else None,
            )  # fmt: skip


def _unknown_peers(before: BeforeMigration, after: AfterMigration) -> Iterator[MigrationCheck]:
    """There must be no rows of unknown peers: they pin WALs, or prevent a new peer with this id from being added."""
    known = {*before.peers.migrated, *after.states} - before.peers.legacy
    rows = [(queue.peer_id, str(queue), ", ".join(map(str, groups.values()))) for queue, groups in after.rows.items()]
    rows += [(peer, peer, "sequence ids") for peer in {key[0] for key in after.sequence_ids}]
    rows += [(peer, peer, "HFile references") for peer in after.hfile_refs]
    for peer, row, found in sorted(rows):
        if peer not in known:
            yield MigrationCheck(
                MigrationRule.NO_UNKNOWN_PEER.value, CheckAnswer.EXTRA.value, ERROR, peer, row, None, None, found
            )


def _wals(before: BeforeMigration, after: AfterMigration) -> Iterator[MigrationCheck]:
    """The WAL of every unfinished offset must be below `WALs/` or `oldWALs/`, if it is not younger than the listing."""
    missing_before = {
        row.value.rpartition(":")[0] for row in before.written(Family.QUEUE) if row.value and row.wal_listed is False
    }
    for queue, offsets in after.rows.items():
        for group, offset in offsets.items():
            if not offset.wal or offset.offset < 0:
                continue
            if offset.wal in after.listed:
                answer, severity = CheckAnswer.SAME, None
            elif too_new(offset.wal, after.complete_before):
                continue
            else:
                answer, severity = CheckAnswer.MISSING, WARNING if offset.wal in missing_before else ERROR
            yield MigrationCheck(
                MigrationRule.WAL_EXISTS.value, answer.value, severity, queue.peer_id, str(queue), group, offset.wal,
                offset.wal if severity is None else None,
            )  # fmt: skip


def _peers(before: BeforeMigration, after: AfterMigration) -> Iterator[MigrationCheck]:
    for peer in sorted({*before.states, *after.states}):
        old, new = before.states.get(peer), after.states.get(peer)
        legacy = peer in before.peers.legacy
        if (new is None) if legacy else (old == new):
            answer, severity = CheckAnswer.SAME, None
        elif old is None:
            answer, severity = CheckAnswer.NEW, INFO
        elif new is None:
            answer, severity = CheckAnswer.MISSING, ERROR
        else:
            answer, severity = CheckAnswer.DIFFERENT, ERROR if new == "DISABLED" else WARNING
        yield MigrationCheck(
            MigrationRule.PEER_AS_BEFORE.value, answer.value, severity, peer, peer, None, None if legacy else old, new
        )


def _shown(value: int | None) -> str | None:
    return None if value is None else str(value)
