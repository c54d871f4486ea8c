"""Checks the queues of a verification, group by group, also in rows of servers that claimed them since."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pipelines.common.errors import MalformedError
from pipelines.hbase.replication_queues import GroupOffset, QueueId, parse_queue_id
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import wal_timestamp
from pipelines.lake.findings import ERROR, INFO, WARNING
from pipelines.queues.migration.before_and_after import AfterMigration, BeforeMigration, may_have_moved
from pipelines.queues.migration.plan import offset_of
from pipelines.queues.migration.rows import CheckAnswer, Family, MigrationCheck, MigrationReason, MigrationRule
from pipelines.snapshot.model import complete_before

Offsets = Mapping[str, GroupOffset]


@dataclass(frozen=True, slots=True)
class _Expected:
    """One row that should have been written, with the possible offsets of each group.

    Attributes:
        queue: its key.
        groups: the offsets that lose nothing.
        later: of queues that became this row (COLLAPSED), the offsets after the first: the WALs between are lost.
    """

    queue: QueueId
    groups: dict[str, list[GroupOffset]]
    later: dict[str, list[GroupOffset]]


def queue_checks(before: BeforeMigration, after: AfterMigration) -> Iterator[MigrationCheck]:
    """Checks ROW_WRITTEN, OFFSET_EQUAL and NO_EXTRA_ROW.

    A row is looked up by its key, then by peer and source: a server that has claimed the queue since has it under
    another key.
    """
    expected = _expected(before)
    others: dict[tuple[str, ServerName], list[QueueId]] = {}
    for other in after.rows.keys() - {one.queue for one in expected}:
        others.setdefault((other.peer_id, other.wals_of), []).append(other)
    empty = before.empty_queues()
    matched: set[QueueId] = set()
    for one in expected:
        same = others.get((one.queue.peer_id, one.queue.wals_of), ())
        free = [other for other in same if other not in matched]
        queue = one.queue if one.queue in after.rows else _claimed(one, after, free)
        if queue is None:
            yield from _missing(one, may_have_moved(before, after, one.queue.peer_id))
            continue
        matched.add(queue)
        yield from _groups(one, queue, after.rows[queue], may_have_moved(before, after, one.queue.peer_id))
    for queue, offsets in after.rows.items():
        # rows of unknown peers are checked by NO_UNKNOWN_PEER
        if queue not in matched and queue.peer_id in {*before.peers.migrated, *after.states}:
            may_have_grown = (queue.peer_id, str(queue.wals_of)) in empty and may_have_moved(
                before, after, queue.peer_id
            )
            yield _extra(queue, offsets, before, may_have_grown)


def _expected(before: BeforeMigration) -> list[_Expected]:
    rows: dict[QueueId, _Expected] = {}
    for row in before.written(Family.QUEUE):
        offset = offset_of(row.value)
        if offset is not None and row.qualifier is not None:
            queue = parse_queue_id(row.row)
            one = rows.setdefault(queue, _Expected(queue, {}, {}))
            offsets = one.groups.setdefault(row.qualifier, [])
            offsets.append(offset)
            if row.reason == MigrationReason.COLLAPSED.value:
                # the queues lose edits unless the table has the smallest of their offsets
                every = [*offsets, *one.later.get(row.qualifier, ())]
                first = min(map(_place, every))
                one.groups[row.qualifier] = [value for value in every if _place(value) == first]
                one.later[row.qualifier] = [value for value in every if _place(value) > first]
    return [rows[queue] for queue in sorted(rows, key=str)]


def _claimed(wanted: _Expected, after: AfterMigration, free: Iterable[QueueId]) -> QueueId | None:
    """Returns one of the rows of the same peer for the same WALs that are neither expected nor already matched.

    Of several, it is one with the expected offsets if there is one.
    """
    return min(free, key=lambda queue: (not _has_offsets(wanted, after.rows[queue]), str(queue)), default=None)


def _has_offsets(wanted: _Expected, found: Offsets) -> bool:
    return all(found.get(group) in offsets for group, offsets in wanted.groups.items())


def _missing(one: _Expected, may_have_finished: bool) -> Iterator[MigrationCheck]:
    for group, offsets in sorted(one.groups.items()):
        severity = WARNING if may_have_finished else ERROR
        yield _check(MigrationRule.ROW_WRITTEN, CheckAnswer.MISSING, severity, one.queue, group, _shown(offsets), None)


def _groups(one: _Expected, queue: QueueId, found: Offsets, moves: bool) -> Iterator[MigrationCheck]:
    same = CheckAnswer.SAME if queue == one.queue else CheckAnswer.CLAIMED
    yield _check(MigrationRule.ROW_WRITTEN, same, None, one.queue, None, str(one.queue), str(queue))
    for group, offsets in sorted(one.groups.items()):
        offset = found.get(group)
        if offset is None:
            yield _check(MigrationRule.OFFSET_EQUAL, CheckAnswer.MISSING, ERROR, queue, group, _shown(offsets), None)
            continue
        goes_on = moves and offset not in one.later.get(group, ())
        answer, severity = _compared(offsets, offset, goes_on)
        answer = same if answer is CheckAnswer.SAME else answer
        yield _check(MigrationRule.OFFSET_EQUAL, answer, severity, queue, group, _shown(offsets), str(offset))
    for group, offset in sorted(found.items()):
        if group not in one.groups:
            odd = not _is_placeholder(queue, group, offset)
            answer, severity = (CheckAnswer.EXTRA, WARNING) if odd else (CheckAnswer.PLACEHOLDER, INFO)
            yield _check(MigrationRule.OFFSET_EQUAL, answer, severity, queue, group, None, str(offset))


def _compared(expected: list[GroupOffset], found: GroupOffset, moves: bool) -> tuple[CheckAnswer, str | None]:
    """An offset ahead means lost edits, unless the peer was enabled meanwhile; an offset behind is shipped again."""
    if found in expected:
        return CheckAnswer.SAME, None
    if _place(found) > max(map(_place, expected)):
        return CheckAnswer.AHEAD, INFO if moves else ERROR
    return CheckAnswer.BEHIND, WARNING


def _place(offset: GroupOffset) -> tuple[int, bool, int]:
    """Sort key of an offset: the timestamp of its WAL, then the position; a negative position is the end of the WAL."""
    try:
        return wal_timestamp(offset.wal), offset.offset < 0, offset.offset
    except MalformedError:
        return -1, False, offset.offset


def _extra(queue: QueueId, offsets: Offsets, before: BeforeMigration, may_have_grown: bool) -> MigrationCheck:
    """Returns the check of a row that no written queue of ZooKeeper explains.

    Args:
        queue: its key.
        offsets: its offsets.
        before: the content of ZooKeeper.
        may_have_grown: whether its queue was empty then, and the peer may have shipped since, so that its placeholder
            has offsets.
    """
    answer: CheckAnswer
    severity: str
    if queue.peer_id not in before.peers.migrated or queue.wals_of.startcode >= complete_before(before.read_at):
        answer, severity = CheckAnswer.NEW, INFO
    elif may_have_grown or all(_is_placeholder(queue, group, offset) for group, offset in offsets.items()):
        answer, severity = CheckAnswer.PLACEHOLDER, INFO
    else:
        answer, severity = CheckAnswer.EXTRA, ERROR
    shown = ", ".join(str(offset) for _, offset in sorted(offsets.items()))
    return _check(MigrationRule.NO_EXTRA_ROW, answer, severity, queue, None, None, shown)


def _is_placeholder(queue: QueueId, group: str, offset: GroupOffset) -> bool:
    """Tell whether this is the row that a crash procedure writes for a peer without a queue of the server.

    Such a placeholder makes the peer read every WAL.
    """
    return not offset.wal and group == str(queue.wals_of)


def _check(
    rule: MigrationRule,
    answer: CheckAnswer,
    severity: str | None,
    queue: QueueId,
    group: str | None,
    expected: str | None,
    found: str | None,
) -> MigrationCheck:
    return MigrationCheck(rule.value, answer.value, severity, queue.peer_id, str(queue), group, expected, found)


def _shown(offsets: list[GroupOffset]) -> str:
    return " or ".join(dict.fromkeys(map(str, offsets)))
