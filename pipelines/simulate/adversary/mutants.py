"""The capture and the rule, each weakened by one piece: what the search must find out.

A mutant is the real thing with one part replaced: an order without a step, a reading that lacks something, or a view
whose rows answer in another way. None of them copies the rule.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pipelines.domain.capture_order import restlessness
from pipelines.domain.cluster_view import ClusterView, QueueRow
from pipelines.domain.replication_queues import GroupOffset, QueueCell
from pipelines.domain.server_names import ServerName
from pipelines.domain.snapshot import Snapshot
from pipelines.domain.wal_names import wal_timestamp
from pipelines.simulate.adversary.judge import NOTHING_TAKEN, Passes, Seen, Weakening
from pipelines.simulate.adversary.search import DESIGN


@dataclass(frozen=True, eq=False)
class Mutant:
    """One weakening.

    Attributes:
        name: short, for tables and the command line.
        what: what it does instead, for docs/proof.md.
        order: of the reads.
        weakening: of the rule.
    """

    name: str
    what: str
    order: tuple[str, ...] = DESIGN
    weakening: Weakening = NOTHING_TAKEN


def without(*steps: str) -> tuple[str, ...]:
    """The order with steps left out."""
    return tuple(step for step in DESIGN if step not in steps)


def moved(step: str, before: str | None) -> tuple[str, ...]:
    """The order with one step read just before another one, or last."""
    rest = without(step)
    place = len(rest) if before is None else rest.index(before)
    return (*rest[:place], step, *rest[place:])


def _union(passes: Passes) -> Passes:
    one, two = passes
    return (tuple(dict.fromkeys((*one, *two))),) * 2


def _asks_again(
    change: Callable[[Snapshot], Snapshot] | None, *, union: bool = False, owners: bool = False
) -> Weakening:
    """Restlessness asked about a changed snapshot, or about changed passes: one clause of it cannot fire."""
    kept: dict[str, tuple[Snapshot, Passes]] = {}

    def keep_snapshot(snapshot: Snapshot) -> Snapshot:
        kept["last"] = (snapshot, ((), ()))
        return snapshot

    def keep_passes(passes: Passes) -> Passes:
        kept["last"] = (kept["last"][0], passes)
        return passes

    def view(view: ClusterView) -> ClusterView:
        snapshot, passes = kept["last"]
        crashing = snapshot.membership.crashing if snapshot.membership else frozenset()
        ids = [frozenset(cell.queue for cell in cells) for cells in passes]
        if owners:
            ids = [frozenset(queue for queue in one if queue.owner not in crashing) for one in ids]
        if union:
            ids = [ids[0] | ids[1]] * 2
        return replace(view, restless=restlessness(change(snapshot) if change else snapshot, ids[0], ids[1]))

    return Weakening(snapshot=keep_snapshot, passes=keep_passes, view=view)


def _nobody_left(snapshot: Snapshot) -> Snapshot:
    first, second = snapshot.membership, snapshot.membership_2
    if first is None or second is None:
        return snapshot
    return replace(snapshot, membership_2=replace(second, online=first.online | second.online))


def _same_crashes(snapshot: Snapshot) -> Snapshot:
    first, second = snapshot.membership, snapshot.membership_2
    if first is None or second is None:
        return snapshot
    return replace(snapshot, membership_2=replace(second, crashing=first.crashing))


def _rows(change: Callable[[QueueRow], QueueRow]) -> Weakening:
    return Weakening(view=lambda view: replace(view, rows=tuple(map(change, view.rows))))


@dataclass(frozen=True)
class _AsText:
    """An integer that compares as its decimal digits do."""

    digits: int

    def __le__(self, other: int) -> bool:
        return str(self.digits) <= str(other)


class _TextNeed(QueueRow):
    def need(self, group: str) -> int:
        return _AsText(super().need(group)) if group in self.offsets else super().need(group)  # type: ignore[return-value]


class _AlwaysFinished(QueueRow):
    def need(self, group: str) -> int:
        offset = self.offsets.get(group)
        return super().need(group) if offset is None else wal_timestamp(offset.wal) + 1


class _OtherGroups(QueueRow):
    def need(self, group: str) -> int:
        known = [offset.need for offset in self.offsets.values()]
        return super().need(group) if group in self.offsets or not known else max(known)


class _LaxRow(QueueRow):
    """A row whose group is found by the beginning of its name."""

    def need(self, group: str) -> int:
        known = [offset.need for name, offset in self.offsets.items() if name.startswith(group)]
        return max(known, default=super().need(group))


class _PrefixView(ClusterView):
    """Finds rows of a server by the beginning of its name, as `ReplicationQueueId.getScanPrefix` does."""

    def queues(self, peer_id: str, source: ServerName) -> tuple[QueueRow, ...]:
        return tuple(
            row for row in self.rows if row.queue.peer_id == peer_id and str(row.queue.wals_of).startswith(str(source))
        )


class _LastRowView(ClusterView):
    """Of several rows of one peer and source takes the last one, as HBase's merge by map order may."""

    def queues(self, peer_id: str, source: ServerName) -> tuple[QueueRow, ...]:
        return super().queues(peer_id, source)[-1:]


def _as(kind: type[ClusterView], view: ClusterView) -> ClusterView:
    return kind(**{name: getattr(view, name) for name in ClusterView.__dataclass_fields__})


def _as_row(kind: type[QueueRow]) -> Weakening:
    return _rows(lambda row: kind(row.queue, row.offsets))


def _latest(passes: Passes) -> Passes:
    """Only the larger offset of a row that both passes have: what a merge without the smaller need would keep."""
    newest: dict[tuple[object, str], QueueCell] = {}
    for cell in (*passes[0], *passes[1]):
        newest[(cell.queue, cell.group)] = cell
    return (tuple(newest.values()),) * 2


def _minus_one_is_small(passes: Passes) -> Passes:
    """The smaller offset as a plain number: of one WAL, -1 counts as less than any position."""
    smallest: dict[tuple[object, str], QueueCell] = {}

    def number(offset: GroupOffset) -> tuple[int, int]:
        return wal_timestamp(offset.wal), offset.offset

    for cell in (*passes[0], *passes[1]):
        known = smallest.get((cell.queue, cell.group))
        if known is None or number(cell.offset) < number(known.offset):
            smallest[(cell.queue, cell.group)] = cell
    return (tuple(smallest.values()),) * 2


def _view(**changes: object) -> Weakening:
    return Weakening(view=lambda view: replace(view, **changes))  # type: ignore[arg-type]


def _flag(name: str) -> Weakening:
    def change(seen: Seen) -> Seen:
        return seen._replace(flags=seen.flags._replace(**{name: False}), flags_2=seen.flags_2._replace(**{name: False}))

    return Weakening(seen=change)


_EMPTY: Mapping[str, GroupOffset] = {}

MUTANTS: tuple[Mutant, ...] = (
    Mutant("files-after-peers", "files listed after the peers", moved("files", "queues-1")),
    Mutant("files-last", "files listed last, as HBase's own cleaner does, without its barrier", moved("files", None)),
    Mutant("files-after-directories", "files listed after `WALs/`", moved("files", "online")),
    Mutant("peers-first", "peers read before the files", moved("peers", "files")),
    Mutant(
        "directories-after-membership",
        "`WALs/` read after online servers and procedures",
        moved("wal_directories", "peers"),
    ),
    Mutant(
        "directories-after-online",
        "`WALs/` read between online servers and procedures",
        moved("wal_directories", "proof"),
    ),
    Mutant("no-directories", "`WALs/` not read: HBase's own idea of not fully dead", without("wal_directories")),
    Mutant("procedures-before-online", "crash procedures read before online servers", moved("online", "peers")),
    Mutant(
        "procedures-before-online-no-directories",
        "the same, and `WALs/` not read",
        tuple(step for step in moved("online", "peers") if step != "wal_directories"),
    ),
    Mutant("no-online", "online servers not read", without("online", "online-2")),
    Mutant("no-procedures", "crash procedures not read", without("crashing", "crashing-2")),
    Mutant("peers-before-membership", "peers read before `WALs/`, after the files", moved("peers", "wal_directories")),
    Mutant("peers-last", "peers read last", moved("peers", None)),
    Mutant(
        "membership-after-queues",
        "queues read before `WALs/`, servers and procedures",
        (
            "files",
            "peers",
            "flags",
            "queues-1",
            "queues-2",
            "wal_directories",
            "online",
            "proof",
            "crashing",
            "online-2",
            "crashing-2",
            "flags-2",
            "proof-2",
        ),
    ),
    Mutant("queues-before-procedures", "first queue pass before the crash procedures", moved("queues-1", "proof")),
    Mutant("one-pass", "one queue pass", without("queues-2")),
    Mutant("online-2-before-pass-2", "second online list before the second pass", moved("online-2", "queues-2")),
    Mutant("crashing-2-before-pass-2", "second procedures before the second pass", moved("crashing-2", "queues-2")),
    Mutant("no-second-membership", "membership read once", without("online-2", "crashing-2", "flags-2")),
    Mutant("no-second-flags", "flags read once", without("flags-2")),
    Mutant("no-first-flags", "flags read at the end only", without("flags")),
    Mutant("no-first-proof", "initialization proven at the end only", without("proof")),
    Mutant("no-second-proof", "initialization proven at the beginning only", without("proof-2")),
    Mutant("no-proof", "a loading master is believed", without("proof", "proof-2")),
    Mutant(
        "masters-not-compared",
        "the active master may change",
        weakening=Weakening(seen=lambda seen: seen._replace(master_2=seen.master)),
    ),
    Mutant("quiet-ignored", "a capture that was not quiet counts as quiet", weakening=_view(restless=None)),
    Mutant("quiet-without-left", "a server may leave the online list", weakening=_asks_again(_nobody_left)),
    Mutant("quiet-without-crashing", "crash procedures may start and end", weakening=_asks_again(_same_crashes)),
    Mutant("quiet-without-owners", "rows may belong to crashing servers", weakening=_asks_again(None, owners=True)),
    Mutant("quiet-without-keys", "the passes may have different rows", weakening=_asks_again(None, union=True)),
    Mutant("crash-ignored", "a crash procedure does not count as life", weakening=_view(crashing=frozenset())),
    Mutant(
        "exact-class-name",
        "HBCKServerCrashProcedure is not a crash procedure",
        weakening=Weakening(
            seen=lambda seen: seen._replace(crashing=(seen.crashing[0], 0), crashing_2=(seen.crashing_2[0], 0))
        ),
    ),
    Mutant(
        "alive-ignored",
        "no server counts as alive",
        weakening=_view(online=frozenset(), crashing=frozenset(), wal_directories=frozenset()),
    ),
    Mutant("no-zk-flag", "queue data in ZooKeeper is not asked for", weakening=_flag("znodes")),
    Mutant("no-migration-flag", "the migration procedure is not looked for", weakening=_flag("migration")),
    Mutant(
        "no-migration-flags",
        "neither is",
        weakening=Weakening(
            seen=lambda seen: seen._replace(
                flags=seen.flags._replace(migration=False, znodes=False),
                flags_2=seen.flags_2._replace(migration=False, znodes=False),
            )
        ),
    ),
    Mutant("no-add-peer-flag", "a running AddPeer is not looked for", weakening=_flag("add_peer")),
    Mutant("last-pass-counts", "of both passes the later offset counts", weakening=Weakening(passes=_latest)),
    Mutant(
        "last-row-counts",
        "of several rows of one source the last counts",
        weakening=Weakening(view=lambda view: _as(_LastRowView, view)),
    ),
    Mutant("minus-one-is-small", "-1 counts as a small position", weakening=Weakening(passes=_minus_one_is_small)),
    Mutant("any-offset-is-finished", "a position counts as the end of its WAL", weakening=_as_row(_AlwaysFinished)),
    Mutant("string-order", "timestamps compare as text", weakening=_as_row(_TextNeed)),
    Mutant(
        "prefix-match",
        "servers and groups match by the beginning of their names",
        weakening=Weakening(
            view=lambda view: _as(
                _PrefixView, replace(view, rows=tuple(_LaxRow(row.queue, row.offsets) for row in view.rows))
            )
        ),
    ),
    Mutant("groups-merged", "a group without an offset takes that of another", weakening=_as_row(_OtherGroups)),
    Mutant(
        "own-queues-only",
        "recovered queues are not looked at",
        weakening=Weakening(
            view=lambda view: replace(view, rows=tuple(row for row in view.rows if row.queue.source is None))
        ),
    ),
    Mutant(
        "first-pass-only",
        "rows of the first pass only",
        weakening=Weakening(passes=lambda passes: (passes[0], passes[0])),
    ),
    Mutant(
        "hbase-cleaner",
        "HBase's own ReplicationLogCleaner decides, on what walsafe read",
        weakening=Weakening(hbase=True),
    ),
)
