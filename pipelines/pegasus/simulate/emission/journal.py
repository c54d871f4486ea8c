"""Writes a journal of requests and answers (docs/split-route.md): writes, a full scan, reads that show who serves."""

from collections.abc import Iterator, Mapping

from pipelines.pegasus.domain.keys import key_hash
from pipelines.pegasus.domain.partitions import REJECT_CODES
from pipelines.pegasus.simulate.clients import MISUSED, OK, REJECTED, child_serves, said
from pipelines.pegasus.simulate.emission.table import (
    BASE_ROWS,
    Spread,
    address,
    at_us,
    half_of,
    hash_of,
    key_of,
)
from pipelines.pegasus.simulate.emission.trace import Ack, Trace
from pipelines.pegasus.simulate.scans import asks_child, rows_given
from pipelines.pegasus.simulate.scope import CHILD_HALF, PARENT_HALF
from pipelines.pegasus.simulate.walk import WalkHistory
from pipelines.pegasus.simulate.world import NEW, OLD, REJECT, Scan, World, half_mask, leader

Request = Mapping[str, object]


def journal(spread: Spread, history: WalkHistory, trace: Trace) -> Iterator[Request]:
    """Yields all requests to one group with their answers."""
    for ack in trace.acks:
        yield _line(_write(spread, history, ack), at_us(ack.step))
    yield from _scan(spread, history)
    yield from _probes(spread, history)


def _line(request: Request, at: int) -> Request:
    return {"ts": at, **request}


def version_of(spread: Spread, version: int) -> int:
    """Returns the `partition_version` of a replica."""
    return version if version == REJECT else (spread.groups if version == OLD else 2 * spread.groups) - 1


def _write(spread: Spread, history: WalkHistory, ack: Ack) -> Request:
    return {
        "client": f"writer-{spread.group}", "kind": "write",
        "hash": f"{key_hash(key_of(spread, history, ack.number)):016x}",
        "pidx": spread.child if ack.to_child else spread.group, "version": version_of(spread, ack.version), "code": OK,
        "decree": ack.decree, "node": address(ack.node),
    }  # fmt: skip


def _scan(spread: Spread, history: WalkHistory) -> Iterator[Request]:
    """Yields the requests of the full scan.

    The hash of each request is the number of its partition. A child with ballot -1 is read from its parent.
    """
    for step, (move, world) in enumerate(zip(history.moves, history.worlds, strict=False)):
        if not move[0].startswith("scan_") or move[0] == "scan_begin" or not isinstance(world.scan, Scan):
            continue
        child = asks_child(world)
        primary = leader(world)
        version = NEW if child or primary is None else primary.version
        given = rows_given(world, history.scope, history.design) or 0
        own = half_mask(history.scope, CHILD_HALF if child else PARENT_HALF)
        base = _foreign_base(history, child=child) if version == NEW and not history.design.scan_filter else 0
        foreign = base + (given & ~own).bit_count() if version == NEW else 0
        yield _line(
            {
                "client": f"scanner-{spread.group}", "kind": "scan",
                "hash": f"{spread.child if world.scan.next else spread.group:016x}",
                "pidx": spread.child if child else spread.group, "version": version_of(spread, version),
                "code": REJECT_CODES["seed"] if version == REJECT else OK, "foreign_rows": foreign,
            },
            at_us(step + 1),
        )  # fmt: skip


def _foreign_base(history: WalkHistory, *, child: bool) -> int:
    """Returns how many rows from before the split belong to the parent if `child` is true, else to the child."""
    other = PARENT_HALF if child else CHILD_HALF
    return sum(half_of(history, number) == other for number in range(BASE_ROWS))


def _probes(spread: Spread, history: WalkHistory) -> Iterator[Request]:
    """Yields reads whenever the answering replicas change.

    One client has cached the table before the split, the other asks meta each time.
    """
    seen = None
    for step, world in enumerate(history.worlds):
        primary = leader(world)
        now = (primary and primary.version, child_serves(world), said(world, CHILD_HALF))
        if primary is None or now == seen:
            continue
        seen, at = now, at_us(step) + 1
        if child_serves(world):
            yield _line(_read(spread, "new", CHILD_HALF, world, to_child=True), at)
        for half in (CHILD_HALF, PARENT_HALF):
            yield _line(_read(spread, "old", half, world), at + 1)
            if said(world, half) == MISUSED:
                to_child = history.design.refresh and child_serves(world)
                if to_child or not history.design.refresh:
                    yield _line(_read(spread, "old", half, world, to_child=to_child), at + 2)


def _read(spread: Spread, client: str, half: str, world: World, *, to_child: bool = False) -> Request:
    primary = leader(world)
    version = NEW if to_child or primary is None else primary.version
    code = OK if to_child else said(world, half)
    return {
        "client": f"{client}-{spread.group}", "kind": "read", "hash": f"{hash_of(spread, half):016x}",
        "pidx": spread.child if to_child else spread.group, "version": version_of(spread, version),
        "code": REJECT_CODES["seed"] if code == REJECTED else code,
    }  # fmt: skip
