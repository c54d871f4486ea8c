"""Takes pieces out of the rule: it changes the question, or the answers of the rows of a view.

None of this copies the rule: each weakening changes the input of the real functions, or the result of one of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pipelines.decide.rule.cluster_view import ClusterView, MergedQueueRow
from pipelines.hbase.replication_queues import NEEDS_ALL, GroupOffset, QueueCell
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import wal_timestamp
from pipelines.snapshot.capture_order import not_quiet_reason
from pipelines.snapshot.model import Snapshot
from tests.models.capture.judge import Passes, Seen, Weakening


def asks_again(
    change: Callable[[Snapshot], Snapshot] | None = None, *, union: bool = False, owners: bool = False
) -> Weakening:
    """Weakens `restlessness`.

    It is asked about a changed snapshot or changed passes, so that one of its clauses cannot fire.

    Args:
        change: changes the snapshot.
        union: whether both passes get the rows of either.
        owners: whether rows of crashing servers are left out.
    """

    def restless(snapshot: Snapshot, passes: Passes) -> str | None:
        crashing = snapshot.membership.crashing if snapshot.membership else frozenset()
        one, two = (frozenset(cell.queue for cell in cells) for cells in passes)
        if owners:
            one, two = (frozenset(queue for queue in ids if queue.owner not in crashing) for ids in (one, two))
        if union:
            one = two = one | two
        return not_quiet_reason(change(snapshot) if change else snapshot, one, two)

    return Weakening(restless=restless)


def strictly_quiet(snapshot: Snapshot, passes: Passes) -> str | None:
    """Returns why a capture was not quiet in a stronger sense.

    That sense requires that there is no crash procedure, and that each directory's server is online.
    """
    one, two = (frozenset(cell.queue for cell in cells) for cells in passes)
    first, second = snapshot.membership, snapshot.membership_2
    if first is None or second is None:
        return not_quiet_reason(snapshot, one, two)
    crashing = sorted(first.crashing | second.crashing)
    stray = sorted({directory.server for directory in first.wal_directories} - first.online)
    if crashing:
        return f"the crash procedure of {crashing[0]} is unfinished"
    return f"{stray[0]} has a directory and is not online" if stray else not_quiet_reason(snapshot, one, two)


def nobody_left(snapshot: Snapshot) -> Snapshot:
    """Returns the snapshot as if no server had left the online list."""
    first, second = snapshot.membership, snapshot.membership_2
    if first is None or second is None:
        return snapshot
    return replace(snapshot, membership_2=replace(second, online=first.online | second.online))


def same_crashes(snapshot: Snapshot) -> Snapshot:
    """Returns the snapshot as if the crash procedures of the second look were those of the first."""
    first, second = snapshot.membership, snapshot.membership_2
    if first is None or second is None:
        return snapshot
    return replace(snapshot, membership_2=replace(second, crashing=first.crashing))


def dead_unread(seen: Seen) -> Seen:
    """Returns the readings as if the master had no list of dead servers."""
    return seen._replace(servers=seen.servers._replace(dead=0), servers_2=seen.servers_2._replace(dead=0))


def new_unseen(seen: Seen) -> Seen:
    """Returns the readings as if the servers online at the second look had been online at the first."""
    first, second = seen.servers, seen.servers_2
    return seen._replace(servers=first._replace(online=first.online | second.online))


def dead_for_ever(seen: Seen) -> Seen:
    """Returns the readings as if every server on the dead list had died in between."""
    return seen._replace(servers=seen.servers._replace(dead=0))


def rows_as(change: Callable[[MergedQueueRow], MergedQueueRow]) -> Weakening:
    """Returns the weakening that changes every row of the view."""
    return Weakening(view=lambda view: replace(view, rows=tuple(map(change, view.rows))))


@dataclass(frozen=True)
class _AsText:
    """An integer that compares as its decimal digits do."""

    digits: int

    def __le__(self, other: int) -> bool:
        return str(self.digits) <= str(other)


class TextNeed(MergedQueueRow):
    """Compares timestamps as text."""

    def need(self, group: str) -> int:
        """See `MergedQueueRow.need`."""
        return _AsText(super().need(group)) if group in self.offsets else super().need(group)  # type: ignore[return-value]


class AlwaysFinished(MergedQueueRow):
    """Takes a position for the end of its WAL."""

    def need(self, group: str) -> int:
        """See `MergedQueueRow.need`."""
        offset = self.offsets.get(group)
        return super().need(group) if offset is None else wal_timestamp(offset.wal) + 1


class OtherGroups(MergedQueueRow):
    """Takes the offset of another group where its own is missing."""

    def need(self, group: str) -> int:
        """See `MergedQueueRow.need`."""
        known = [offset.need for offset in self.offsets.values()]
        return super().need(group) if group in self.offsets or not known else max(known)


class FinishedNeedsAll(MergedQueueRow):
    """Takes -1 for the smallest offset there is."""

    def need(self, group: str) -> int:
        """See `MergedQueueRow.need`."""
        offset = self.offsets.get(group)
        return NEEDS_ALL if offset is not None and offset.offset < 0 else super().need(group)


class PrefixOffsets(dict[str, GroupOffset]):
    """Offsets that are found by the beginning of their group's name instead of the whole name."""

    def __contains__(self, group: object) -> bool:
        return any(name.startswith(str(group)) for name in self)

    def get(self, group: str, default: Any = None) -> Any:  # noqa: ANN401 - the signature of dict
        """See `dict.get`."""
        known = [self[name] for name in self if name.startswith(group)]
        return max(known, default=default)


class PrefixView(ClusterView):
    """Finds the rows of a server by the beginning of its name, as `ReplicationQueueId.getScanPrefix` does."""

    def queues(self, peer_id: str, source: ServerName) -> tuple[MergedQueueRow, ...]:
        """See `ClusterView.queues`."""
        return tuple(
            row for row in self.rows if row.queue.peer_id == peer_id and str(row.queue.wals_of).startswith(str(source))
        )


class LastRowView(ClusterView):
    """Takes only the last of several rows of one peer and source, as HBase's merge by map order may."""

    def queues(self, peer_id: str, source: ServerName) -> tuple[MergedQueueRow, ...]:
        """See `ClusterView.queues`."""
        return super().queues(peer_id, source)[-1:]


def as_view(kind: type[ClusterView], view: ClusterView) -> ClusterView:
    """Returns the same view as an object of another class, which answers in its own way."""
    return kind(**{name: getattr(view, name) for name in ClusterView.__dataclass_fields__})


def as_row(kind: type[MergedQueueRow]) -> Weakening:
    """Returns the weakening in which every row answers as another class does."""
    return rows_as(lambda row: kind(row.queue, row.offsets))


def latest(passes: Passes) -> Passes:
    """Returns the passes with only the larger offset of a row that both have: a merge without the smaller need."""
    newest: dict[tuple[object, str], QueueCell] = {}
    for cell in (*passes[0], *passes[1]):
        newest[(cell.queue, cell.group)] = cell
    return (tuple(newest.values()),) * 2


def minus_one_is_small(passes: Passes) -> Passes:
    """Returns the passes merged by the smaller offset as a plain number: the mutant that ignores the meaning of -1.

    In one WAL, -1 (finished) counts as less than any position.
    """
    smallest: dict[tuple[object, str], QueueCell] = {}

    def number(offset: GroupOffset) -> tuple[int, int]:
        return wal_timestamp(offset.wal), offset.offset

    for cell in (*passes[0], *passes[1]):
        known = smallest.get((cell.queue, cell.group))
        if known is None or number(cell.offset) < number(known.offset):
            smallest[(cell.queue, cell.group)] = cell
    return (tuple(smallest.values()),) * 2


def view_with(**changes: object) -> Weakening:
    """Returns the weakening that replaces fields of the view."""
    return Weakening(view=lambda view: replace(view, **changes))  # type: ignore[arg-type]


def flag_ignored(name: str) -> Weakening:
    """Returns the weakening in which a flag has its safe value in both readings."""

    def change(seen: Seen) -> Seen:
        return seen._replace(flags=seen.flags._replace(**{name: False}), flags_2=seen.flags_2._replace(**{name: False}))

    return Weakening(seen=change)


def _lax(view: ClusterView) -> ClusterView:
    rows = tuple(MergedQueueRow(row.queue, PrefixOffsets(row.offsets)) for row in view.rows)
    return as_view(PrefixView, replace(view, rows=rows))


PREFIX_MATCH = Weakening(view=_lax)
"""Servers and groups are found by the beginning of their names."""
