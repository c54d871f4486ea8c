"""Computes which queue and peer holds how much: pending files, pinned bytes, and what would free them.

Everything here is computed from `BucketTotal`s and the decision table, never from files.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.decide.reason_texts import REASON_TEXTS
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.decision_table import DecisionTable, TableAnswer
from pipelines.decide.rule.queue_storage import QueueNeed
from pipelines.decide.rule.table_rule import decide_replication
from pipelines.decide.rule.totals import BucketTotal, verdict_totals
from pipelines.decide.rule.verdict import Holder, Reason, Verdict
from pipelines.lake.run_summary import PinnedRow, QueueOffsetRow, VerdictTotal
from pipelines.reconcile.cluster_cases import ClusterCase
from pipelines.reconcile.peer_remedy import disabled_peer

FREED_WHEN_FINISHED = (Reason.PENDING, Reason.QUEUE_MISSING)
"""Reasons that end once the only holder's queue has shipped the file; other reasons depend on the cluster itself."""


@dataclass(slots=True)
class _Sum:
    files: int = 0
    size: int = 0
    oldest: int | None = None

    def add(self, total: BucketTotal) -> None:
        self.files += total.files
        self.size += total.bytes
        oldest = total.oldest_timestamp
        if oldest is not None and (self.oldest is None or oldest < self.oldest):
            self.oldest = oldest


@dataclass(slots=True)
class _Pin:
    exclusive: _Sum = field(default_factory=_Sum)
    joint: _Sum = field(default_factory=_Sum)
    freed: _Sum = field(default_factory=_Sum)
    waits_for_queue: bool = False

    @property
    def size(self) -> int:
        return self.exclusive.size + self.joint.size

    def row(
        self, level: str, holder: Holder, group: str | None, state: str | None, now: int, of_peer: int
    ) -> PinnedRow:
        """Returns a row of `pinned_bytes`; `of_peer` is the number of bytes that the whole peer holds."""
        oldest = min((s.oldest for s in (self.exclusive, self.joint) if s.oldest is not None), default=None)
        return PinnedRow(
            level=level,
            peer_id=holder.peer_id,
            peer_state=state,
            owner=None if level == "peer" or holder.owner is None else str(holder.owner),
            source=None if level == "peer" or holder.source is None else str(holder.source),
            wal_group=group if level == "group" else None,
            exclusive_files=self.exclusive.files,
            exclusive_bytes=self.exclusive.size,
            joint_files=self.joint.files,
            joint_bytes=self.joint.size,
            freed_files=self.freed.files,
            freed_bytes=self.freed.size,
            oldest_timestamp=oldest,
            oldest_age_ms=None if oldest is None else now - oldest,
            remedy=_remedy(level, holder, state, of_peer, waits_for_queue=self.waits_for_queue),
        )


@dataclass(frozen=True)
class RowsOfTotals:
    """What follows from one cluster's totals alone.

    Attributes:
        counted: the totals by bucket.
        totals: the rows of `verdict_totals`.
        queues: the rows of `queue_offsets`.
        pinned: the rows of `pinned_bytes`.
    """

    counted: tuple[BucketTotal, ...] = ()
    totals: tuple[VerdictTotal, ...] = ()
    queues: tuple[QueueOffsetRow, ...] = ()
    pinned: tuple[PinnedRow, ...] = ()


def rows_of_totals(case: ClusterCase, totals: Sequence[BucketTotal]) -> RowsOfTotals:
    """Returns the small tables' rows that follow from one cluster's totals; a refused cluster has no pinned bytes."""
    if case.view is None or case.table is None:
        return RowsOfTotals()
    queues = queue_offsets(case.view, case.table, totals)
    verdicts = verdict_totals(totals, case.view.files_started)
    if case.refused is not None:
        return RowsOfTotals(tuple(totals), verdicts, queues)
    states = {peer.peer_id: peer.state for peer in case.snapshot.peers}
    return RowsOfTotals(tuple(totals), verdicts, queues, pinned_rows(case.view, case.table, totals, states))


def queue_offsets(view: ClusterView, table: DecisionTable, totals: Iterable[BucketTotal]) -> tuple[QueueOffsetRow, ...]:
    """Returns the rows of `queue_offsets`: the offset of each queue row in each group, and what is pending behind it.

    Files of the groups in which a queue row has no offset are summed in one row with `wal_group` NULL. That row is left
    out if the queue has offsets and no such files. A queue in ZooKeeper has it only if the queue is empty.
    """
    by_bucket: dict[int, list[BucketTotal]] = {}
    for total in totals:
        if total.bucket is not None:
            by_bucket.setdefault(total.bucket, []).append(total)
    rows = []
    for need in view.storage.needs(view, table):
        found = [total for bucket in need.buckets for total in by_bucket.get(bucket, ())]
        if need.group is not None or found or not need.row.offsets:
            rows.append(_queue_row(view, need, found))
    return tuple(rows)


def _queue_row(view: ClusterView, need: QueueNeed, found: Iterable[BucketTotal]) -> QueueOffsetRow:
    row, group = need.row, need.group
    offset = None if group is None else row.offsets[group]
    archived, live = _Sum(), _Sum()
    for total in found:
        (archived if total.archived else live).add(total)
    return QueueOffsetRow(
        peer_id=row.queue.peer_id,
        peer_exists=row.queue.peer_id in view.peer_ids,
        owner=str(row.queue.owner),
        source=str(row.queue.wals_of),
        recovered=row.queue.source is not None,
        wal_group=group,
        wal=offset.wal if offset else None,
        offset=offset.offset if offset else None,
        need_timestamp=need.need,
        pending_files=archived.files,
        pending_bytes=archived.size,
        live_pending_files=live.files,
        live_pending_bytes=live.size,
        oldest_pending_timestamp=archived.oldest,
        oldest_pending_age_ms=None if archived.oldest is None else view.files_started - archived.oldest,
    )


def pinned_rows(
    view: ClusterView, table: DecisionTable, totals: Iterable[BucketTotal], peer_states: Mapping[str, str]
) -> tuple[PinnedRow, ...]:
    """Returns the bytes held by each peer, queue and group (alone, jointly, and freed in a what-if), most bytes first.

    The decision table has one answer for all servers that are fully dead and have no queue, so what peers hold of them
    counts at level peer only. It also has one answer for all groups of a server in which no queue has an offset; these
    count in one row with `wal_group` NULL at level group, as in `queue_offsets`.

    The what-if of a peer applies the rule itself to the cluster without that peer. The what-if of a queue or group
    counts the files that only its queue holds and that become REPLICATED once the queue has shipped them.
    """
    answers = {answer.bucket: answer for answer in table.answers()}
    unrecorded = {answer.bucket for one in table.servers for answer in (one.plain, one.replication_table)}
    # where only the names in queues count, removing a peer frees what only its queues hold
    without = {peer: view.without_peer(peer) for peer in view.peer_ids if view.storage.asks_peers}
    settled = view.storage.frees_while_moving or view.restless is None
    pins: dict[tuple[Hashable, ...], tuple[str, Holder, str | None, _Pin]] = {}
    for total in totals:
        answer = answers.get(total.bucket) if total.bucket is not None else None
        if answer is None or not total.archived or total.reason != answer.decision.reason.value:
            continue
        group = None if answer.bucket in unrecorded else answer.group
        for level in ("peer",) if answer is table.unknown else ("peer", "queue", "group"):
            keys = {_key(level, holder, group): holder for holder in answer.decision.blocking}
            for key, holder in keys.items():
                if key not in pins:
                    pins[key] = (level, holder, group, _Pin())
                pin = pins[key][3]
                (pin.exclusive if len(keys) == 1 else pin.joint).add(total)
                pin.waits_for_queue |= answer.decision.reason in FREED_WHEN_FINISHED
                if settled and _freed(level, holder, len(keys), answer, without):
                    pin.freed.add(total)
    rows = (
        pin.row(
            level,
            holder,
            group,
            peer_states.get(holder.peer_id),
            view.files_started,
            pins["peer", holder.peer_id][3].size,
        )
        for level, holder, group, pin in pins.values()
    )
    return tuple(
        sorted(
            rows,
            key=lambda row: (
                ("peer", "queue", "group").index(row.level),
                -row.bytes,
                row.peer_id,
                row.owner or "",
                row.source or "",
                row.wal_group or "",
            ),
        )
    )


def _key(level: str, holder: Holder, group: str | None) -> tuple[Hashable, ...]:
    if level == "peer":
        return (level, holder.peer_id)
    queue = (level, holder.peer_id, holder.owner, holder.source)
    return queue if level == "queue" else (*queue, group)


def _freed(level: str, holder: Holder, holders: int, answer: TableAnswer, without: Mapping[str, ClusterView]) -> bool:
    smaller = without.get(holder.peer_id)
    if level == "peer" and smaller is not None:
        if not smaller.peer_ids:
            return True
        what_if = decide_replication(smaller, answer.server, answer.group, max(answer.timestamp, 0))
        return what_if.verdict is Verdict.DELETABLE
    return holders == 1 and answer.decision.reason in FREED_WHEN_FINISHED


def _remedy(level: str, holder: Holder, state: str | None, of_peer: int, *, waits_for_queue: bool) -> str:
    peer = holder.peer_id
    if not waits_for_queue:
        return f"nothing at peer {peer}: the servers of these files are not proven dead; see the findings"
    if state is None:  # queues of removed peers hold files only in ZooKeeper
        return (
            f"peer {peer} does not exist: remove its queues with HBCK2 'replication --fix' "
            "(in HBase 1: hbase hbck -fixReplication)"
        )
    if state == "DISABLED":
        return disabled_peer(peer, of_peer)
    if holder.owner is None and level != "peer":
        return f"peer {peer} has no queue for {holder.source} yet: {REASON_TEXTS['QUEUE_MISSING'].way_out}"
    return f"check that peer {peer}'s cluster is reachable and catching up (status 'replication')"
