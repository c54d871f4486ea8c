"""The order in which serial peers ship: barriers of regions in `hbase:meta`, and how far each peer has pushed.

When a region opens on a server, it writes a barrier, the first sequence id of the next range. A serial peer may push
entries of a range only after everything before its barrier is pushed (`SerialReplicationChecker`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.common.instants import format_instant

NO_SEQUENCE_ID = -1
"""`HConstants.NO_SEQNUM`: the peer has pushed nothing of the region."""


@dataclass(frozen=True, slots=True)
class Barrier:
    """The beginning of a range: its first sequence id, and when the region opened (ms since the epoch)."""

    sequence_id: int
    opened_at: int


@dataclass(frozen=True, slots=True)
class RegionBarriers:
    """The barriers of one region in `hbase:meta`.

    Attributes:
        region: encoded name.
        table: table name as in `hbase:meta`.
        barriers: in ascending order.
    """

    region: str
    table: str
    barriers: tuple[Barrier, ...]


@dataclass(frozen=True, slots=True)
class SerialGap:
    """A range that a serial peer has not finished, although a later range has begun.

    Attributes:
        pushed: last sequence id of the region that was pushed to the peer; -1 = none.
        barrier: the barrier at which the peer waits; everything below it must be pushed first.
    """

    peer_id: str
    region: str
    table: str
    pushed: int
    barrier: Barrier


def serial_gaps(
    peer_id: str, regions: Iterable[RegionBarriers], pushed: Mapping[tuple[str, str], int]
) -> list[SerialGap]:
    """Returns the regions in which the peer waits for an earlier range, oldest first.

    It follows `SerialReplicationChecker.isRangeFinished`.

    Args:
        peer_id: a serial peer.
        regions: the regions of the tables that the peer replicates.
        pushed: last pushed sequence id by (peer, encoded region).
    """
    gaps = []
    for one in regions:
        last = pushed.get((peer_id, one.region), NO_SEQUENCE_ID)
        # a peer may always push the first range
        behind = next((barrier for barrier in one.barriers[1:] if last < barrier.sequence_id - 1), None)
        if behind is not None:
            gaps.append(SerialGap(peer_id, one.region, one.table, last, behind))
    return sorted(gaps, key=lambda gap: (gap.barrier.opened_at, gap.region))


def barriers_document(region: RegionBarriers) -> dict[str, object]:
    """Returns one line of `extras/barriers.jsonl`."""
    return {
        "region": region.region,
        "table": region.table,
        "barriers": [
            {"sequence_id": barrier.sequence_id, "opened_at": format_instant(barrier.opened_at)}
            for barrier in region.barriers
        ],
    }


def region_barriers(region: str, table: str, opened: Sequence[tuple[int, int]]) -> RegionBarriers:
    """Returns the barriers of a region from (sequence id, ms since the epoch) pairs in any order."""
    barriers = sorted((Barrier(*one) for one in opened), key=lambda barrier: barrier.sequence_id)
    return RegionBarriers(region, table, tuple(barriers))
