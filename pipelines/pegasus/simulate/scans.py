"""Defines the steps of a full scan during a split (F36).

Pegasus promises exact rows before and after a split, and promises nothing for a scan that overlaps it.
"""

from collections.abc import Iterator

from pipelines.pegasus.simulate.clients import child_serves
from pipelines.pegasus.simulate.scope import CHILD_HALF, PARENT_HALF, Design, Scope
from pipelines.pegasus.simulate.world import NEW, OLD, Scan, Step, World, acked, half_mask, leader


def scan_steps(world: World, scope: Scope, design: Design) -> Iterator[Step]:
    """Yields the steps of one scan.

    The scan asks meta for the partitions, then reads each of them. For a child with ballot -1 it reads the parent once
    more.
    """
    if not scope.scans:
        return
    scan = world.scan
    if scan is None:
        pieces = 2 if world.meta.doubled else 1
        yield ("scan_begin", pieces), world._replace(scan=Scan(pieces, 0, acked(world), 0, 0, overlaps(world)))
    elif not scan.is_over:
        given = rows_given(world, scope, design)
        if given is not None:
            flagged = scan.flagged or overlaps(world) or (scan.pieces == 2) != world.meta.doubled
            after = scan._replace(
                next=scan.next + 1, seen=scan.seen | given, twice=scan.twice | scan.seen & given, flagged=flagged
            )
            name = "scan_piece" if not after.is_over else "scan_flagged" if flagged else "scan_exact"
            yield (name, scan.next), world._replace(scan=after)


def overlaps(world: World) -> bool:
    """Returns whether a split is under way.

    A split lasts from the new count in ZooKeeper until child and parent serve with that count.
    """
    primary = leader(world)
    ended = child_serves(world) and primary is not None and primary.version == NEW
    return world.meta.doubled and not ended


def asks_child(world: World) -> bool:
    """Returns whether the next piece of the scan is read from the child itself."""
    return world.scan is not None and world.scan.next == 1 and world.meta.child is not None


def rows_given(world: World, scope: Scope, design: Design) -> int | None:
    """Returns the writes in the next piece (`pegasus_server_impl.cpp`, the filter of scans); None = nobody answers."""
    of_child, of_parent = half_mask(scope, CHILD_HALF), half_mask(scope, PARENT_HALF)
    if asks_child(world) and world.meta.child is not None:
        has = world.replicas[world.meta.child[1]].child_has
        return (has & of_child if design.scan_filter else has) & acked(world) if child_serves(world) else None
    primary = leader(world)
    if primary is None:
        return None
    has = primary.has & acked(world)
    if primary.version == OLD or not (design.scan_filter and world.meta.validates):
        return has
    return has & of_parent if primary.version == NEW else 0
