"""A capture of a generated cluster: what each step of the real one would have read, with its queue rows."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from jobs.demo.cluster.model import REGION, ClusterPlan, GeneratedCapture, PeerPlan, Rows, ServerLife, Wal
from jobs.demo.cluster.snapshots import healthy_snapshot, steps_at
from jobs.demo.cluster.wals import files_at, shipped_bytes, shipped_until, wals_of
from pipelines.common.instants import SECOND_MS
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.hbase.replication_queues import QUEUE_FAMILY, Cell, QueueId
from pipelines.snapshot.model import Membership, WalDirectory


def capture_at(plan: ClusterPlan, at: int) -> GeneratedCapture:
    """Capture the cluster.

    Args:
        plan: the cluster's life.
        at: start of step `files`, ms; each step takes a second, and queues advance between the two passes.
    """
    steps = steps_at(at, SECOND_MS)
    begins = {step.step: step.started_at for step in steps}
    files = files_at(plan, at)
    snapshot = healthy_snapshot(
        plan.cluster,
        steps,
        sorted((peer.peer for peer in plan.peers), key=lambda peer: peer.peer_id),
        _membership(plan, begins["online"], _directories(plan, files, at)),
        _membership(plan, begins["online-2"], ()),
        retention=plan.retention,
    )
    snapshot = replace(snapshot, wal_root=plan.wal_root)
    return GeneratedCapture(snapshot, files, cells_at(plan, begins["queues-1"]), cells_at(plan, begins["queues-2"]))


def _membership(plan: ClusterPlan, at: int, directories: tuple[WalDirectory, ...]) -> Membership:
    return Membership(
        active_master=str(plan.master),
        online=frozenset(life.server for life in plan.lives if life.started <= at < life.died),
        crashing=frozenset(life.server for life in plan.lives if life.died <= at < life.recovered),
        wal_directories=directories,
    )


def _directories(plan: ClusterPlan, files: tuple[ArchivedFile, ...], at: int) -> tuple[WalDirectory, ...]:
    inside: dict[str, list[ArchivedFile]] = {}
    for file in files:
        folder, _, name = file.path.removeprefix("WALs/").partition("/")
        if file.path.startswith("WALs/") and name:
            inside.setdefault(folder.removesuffix("-splitting"), []).append(file)
    return tuple(
        WalDirectory(
            life.server,
            len(inside.get(str(life.server), [])),
            _last_change(life, inside.get(str(life.server), []), at),
        )
        for life in sorted(plan.lives, key=lambda life: life.server)
        if life.started <= at and (at < life.recovered or life.leftover_directory)
    )


def _last_change(life: ServerLife, inside: list[ArchivedFile], at: int) -> int:
    if at >= life.recovered:
        return life.recovered
    return max((file.modification_time for file in inside), default=life.started)


def rows_at(plan: ClusterPlan, at: int) -> Rows:
    """Every queue row with its offsets, as `<wal>:<offset>` by WAL group."""
    rows: dict[str, dict[str, str]] = {}
    for life in plan.lives:
        if life.started > at:
            continue
        wals = {stream.group: wals_of(plan, life, stream, at) for stream in life.streams if stream.tracked}
        for peer in plan.peers:
            offsets = _offsets(life, wals, shipped_until(plan, peer, life.server, at), at)
            if offsets is not None:
                rows[str(_queue_id(life, peer, at))] = offsets
    for odd in plan.odd_rows:
        rows.setdefault(odd.row, {})[odd.group] = f"{odd.wal}:{odd.offset}"
    return rows


def cells_at(plan: ClusterPlan, at: int) -> tuple[Cell, ...]:
    """A whole scan of `hbase:replication`, all families, in scan order."""
    sequences = [
        Cell(peer.peer.peer_id.encode(), b"sid", REGION.encode(), (at // 1000).to_bytes(8, "big"))
        for peer in plan.peers
        if peer.peer.serial
    ]
    return in_scan_order((*cells_of(rows_at(plan, at)), *sequences))


def cells_of(rows: Rows) -> tuple[Cell, ...]:
    """The cells of queue rows, in scan order."""
    return in_scan_order(
        Cell(row.encode(), QUEUE_FAMILY, group.encode(), offset.encode())
        for row, offsets in rows.items()
        for group, offset in offsets.items()
    )


def in_scan_order(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """As a scan of the table returns them."""
    return tuple(sorted(cells, key=lambda cell: (cell.row, cell.family, cell.qualifier)))


def _queue_id(life: ServerLife, peer: PeerPlan, at: int) -> QueueId:
    own = QueueId(peer.peer.peer_id, life.server)
    owners = [claim.owner for claim in life.claims if claim.at <= at]
    return own.claimed_by(owners[-1]) if owners else own


def _offsets(life: ServerLife, wals: Mapping[str, Sequence[Wal]], progress: int, at: int) -> dict[str, str] | None:
    """The offsets of one queue; None = it has no row.

    Rows are written lazily, with the first progress; the crash procedure writes the missing ones as placeholders, and
    a recovered queue disappears when it has shipped everything.
    """
    offsets = {}
    for group, of_group in wals.items():
        reached = bisect_right(of_group, progress, key=lambda wal: wal.timestamp)
        if reached:
            wal = of_group[reached - 1]
            offsets[group] = f"{wal.name}:{_offset(wal, progress, at)}"
    if at < life.recovered:
        return offsets or None
    if progress >= life.recovered:
        return None
    # the placeholder of the crash procedure: the raw server name, and no WAL
    return offsets or {str(life.server): ":0"}


def _offset(wal: Wal, progress: int, at: int) -> int:
    """Bytes shipped of a WAL; -1 = the file is finished."""
    return -1 if progress >= wal.closed else shipped_bytes(wal, progress, at)
