"""The rows of `hbase:replication` of a generated cluster at an instant."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from jobs.demo.cluster.model import NEVER, ClusterPlan, PeerPlan, Rows, ServerLife, Wal
from jobs.demo.cluster.wals import shipped_until, wals_of
from pipelines.hbase.replication_queues import QUEUE_FAMILY, Cell, QueueId

_REGION = "d41d8cd98f00b204e9800998ecf8427e"


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
        Cell(peer.peer.peer_id.encode(), b"sid", _REGION.encode(), (at // 1000).to_bytes(8, "big"))
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
            offsets[group] = f"{wal.name}:{_position(wal, progress, at)}"
    if at < life.recovered:
        return offsets or None
    if progress >= life.recovered:
        return None
    # the placeholder of the crash procedure: the raw server name, and no WAL
    return offsets or {str(life.server): ":0"}


def _position(wal: Wal, progress: int, at: int) -> int:
    """Bytes shipped of a WAL; -1 = the file is finished."""
    if progress >= wal.closed:
        return -1
    end = wal.closed if wal.closed != NEVER else at
    written = (progress - wal.timestamp) / max(end - wal.timestamp, 1)
    return int(wal.length * min(written, 1.0))
