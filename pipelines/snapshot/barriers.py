"""The order of serial peers: barriers of regions in `hbase:meta`, and how far each peer has pushed.

A region that opens on a server writes a barrier, the first sequence id of the range to come. A serial peer may push
entries of a range only once everything before its barrier is pushed (`SerialReplicationChecker`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.common.instants import format_instant, parse_instant
from pipelines.common.json_form import Form

NO_SEQUENCE_ID = -1
"""`HConstants.NO_SEQNUM`: nothing was ever pushed."""


@dataclass(frozen=True, slots=True)
class Barrier:
    """The beginning of a range: its first sequence id, and when the region opened (ms since the epoch)."""

    sequence_id: int
    opened_at: int


@dataclass(frozen=True, slots=True)
class RegionBarriers:
    """What `hbase:meta` says of one region.

    Attributes:
        region: encoded name.
        table: as in `hbase:meta`.
        barriers: ascending.
    """

    region: str
    table: str
    barriers: tuple[Barrier, ...]


@dataclass(frozen=True, slots=True)
class SerialGap:
    """A range that a serial peer has not finished, although a later one has begun.

    Attributes:
        pushed: last sequence id that the peer has of the region; -1 = none.
        barrier: the one that it does not pass: all below it must be pushed first.
    """

    peer_id: str
    region: str
    table: str
    pushed: int
    barrier: Barrier


def serial_gaps(
    peer_id: str, regions: Iterable[RegionBarriers], pushed: Mapping[tuple[str, str], int]
) -> list[SerialGap]:
    """Where the peer waits for an earlier range, oldest first (`SerialReplicationChecker.isRangeFinished`).

    Args:
        peer_id: a serial peer.
        regions: those whose table it replicates.
        pushed: last pushed sequence id by (peer, encoded region).
    """
    gaps = []
    for one in regions:
        last = pushed.get((peer_id, one.region), NO_SEQUENCE_ID)
        # the first range may always be pushed
        behind = next((barrier for barrier in one.barriers[1:] if last < barrier.sequence_id - 1), None)
        if behind is not None:
            gaps.append(SerialGap(peer_id, one.region, one.table, last, behind))
    return sorted(gaps, key=lambda gap: (gap.barrier.opened_at, gap.region))


def barriers_document(region: RegionBarriers) -> dict[str, object]:
    """One line of `extras/barriers.jsonl`."""
    return {
        "region": region.region,
        "table": region.table,
        "barriers": [
            {"sequence_id": barrier.sequence_id, "opened_at": format_instant(barrier.opened_at)}
            for barrier in region.barriers
        ],
    }


def parse_barriers(form: Form) -> RegionBarriers:
    """The inverse of `barriers_document`; the barriers may stand in any order.

    Raises:
        SnapshotError: it is not of that form.
        MalformedError: an instant that is none.
    """
    found = RegionBarriers(form.text("region"), form.text("table"), _in_order(map(_barrier, form.parts("barriers"))))
    form.no_other_keys()
    return found


def region_barriers(region: str, table: str, opened: Sequence[tuple[int, int]]) -> RegionBarriers:
    """Of (sequence id, ms) in any order."""
    return RegionBarriers(region, table, _in_order(Barrier(*one) for one in opened))


def _in_order(barriers: Iterable[Barrier]) -> tuple[Barrier, ...]:
    return tuple(sorted(barriers, key=lambda barrier: barrier.sequence_id))


def _barrier(form: Form) -> Barrier:
    barrier = Barrier(form.count("sequence_id"), parse_instant(form.text("opened_at")))
    form.no_other_keys()
    return barrier
