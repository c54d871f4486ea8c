"""Reconstructs who claimed which queue when, and how long it waited, from successive snapshots of one cluster.

A snapshot shows who owns a queue, not since when: every instant is an interval between two snapshots.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

from pipelines.queues.audit.classes import NO_QUEUE, OwnerState, QueueClass
from pipelines.queues.audit.rows import AuditRow, ClaimRow, SeenRow

_NO_CLAIM = (*NO_QUEUE, QueueClass.UNDELETED_PEER)
_NOT_DEAD = (OwnerState.ONLINE.value, OwnerState.UNKNOWN.value)
Key = tuple[str, str]
"""Peer id, and the server that wrote the WALs."""


class QueueEvent(StrEnum):
    """An event of a queue."""

    CLAIMED = "CLAIMED"
    """A server owns it that did not in the previous snapshot; in the first snapshot, an owner other than its source."""
    WAITING = "WAITING"
    """In the last snapshot, its owner is not online."""
    ENDED = "ENDED"
    """It is gone: shipped and removed, or its peer was removed."""


@dataclass(frozen=True, slots=True)
class Holding:
    """One owner of a queue, the owner's state, and the dead servers that owned it before, as far as known."""

    owner: str
    owner_state: str
    hops: tuple[str, ...]


@dataclass(frozen=True)
class Sighting:
    """All queues of one snapshot.

    Attributes:
        at: start of step `files`, ms since the epoch.
        all_hops: whether `hops` names every earlier owner (queues in ZooKeeper) or only the first one.
    """

    at: int
    holdings: Mapping[Key, tuple[Holding, ...]]
    all_hops: bool

    @cached_property
    def states(self) -> Mapping[str, frozenset[str]]:
        """The states of each owner, as its queues show them."""
        found: dict[str, set[str]] = {}
        for owners in self.holdings.values():
            for one in owners:
                found.setdefault(one.owner, set()).add(one.owner_state)
        return {owner: frozenset(states) for owner, states in found.items()}


def sighting(rows: Iterable[AuditRow | SeenRow], at: int, *, all_hops: bool) -> Sighting:
    """Converts the rows of an audit, without znodes that are not queues and without queues of removed peers."""
    found: dict[Key, list[Holding]] = {}
    for row in rows:
        if row.queue_class not in _NO_CLAIM and row.peer_id is not None and row.source is not None:
            holding = Holding(row.owner, row.owner_state, tuple(row.hops or ()))
            found.setdefault((row.peer_id, row.source), []).append(holding)
    holdings = {key: tuple(sorted(owners, key=lambda one: one.owner)) for key, owners in found.items()}
    return Sighting(at, holdings, all_hops)


def timeline(sightings: Sequence[Sighting]) -> tuple[ClaimRow, ...]:
    """Returns the events of all queues that were claimed, wait for a claim, or ended after a death.

    Args:
        sightings: of one cluster, oldest first.

    Returns:
        Rows sorted by peer, source and time.
    """
    keys = sorted({key for one in sightings for key in one.holdings})
    return tuple(row for key in keys for row in _life(key, sightings))


def _life(key: Key, sightings: Sequence[Sighting]) -> Iterator[ClaimRow]:
    if not sightings:
        return
    first, last = sightings[0], sightings[-1]
    for holding in first.holdings.get(key, ()):
        if holding.hops:
            from_owner = holding.hops[-1] if first.all_hops and holding.hops else None
            yield _row(key, QueueEvent.CLAIMED, from_owner, holding.owner, (), None, first, None)
    for number, (before, now) in enumerate(pairwise(sightings), start=1):
        yield from _between(key, before, now, sightings[: number + 1])
    for holding in last.holdings.get(key, ()):
        if holding.owner_state not in _NOT_DEAD:
            yield _row(key, QueueEvent.WAITING, holding.owner, None, (), None, last, _death(holding.owner, sightings))


def _between(key: Key, before: Sighting, now: Sighting, until: Sequence[Sighting]) -> Iterator[ClaimRow]:
    old = {one.owner: one for one in before.holdings.get(key, ())}
    new = {one.owner: one for one in now.holdings.get(key, ())}
    for owner, holding in new.items():
        if owner in old or not holding.hops:  # it already owned it, or writes these WALs itself
            continue
        # no owner in the previous snapshot, because offsets are written lazily: then its source owned it first
        left_behind = [one for one in old if one not in new] if old else holding.hops[:1]
        chain = _chain(holding, old if now.all_hops else left_behind, all_hops=now.all_hops)
        left = chain[0] if chain else None
        yield _row(key, QueueEvent.CLAIMED, left, owner, chain[1:], before, now, _death(left, until))
    if old and not new:
        for owner, holding in old.items():
            if owner != key[1] or holding.owner_state not in _NOT_DEAD:  # a live server's own queue ends with its peer
                yield _row(key, QueueEvent.ENDED, owner, None, (), before, now, _death(owner, until))


def _chain(holding: Holding, before: Collection[str], *, all_hops: bool) -> tuple[str, ...]:
    """Returns the owners from the last one that a snapshot saw to the last one before the claimer.

    Args:
        holding: of the claimer.
        before: possible earlier owners; a claim in ZooKeeper may leave a copy with them for a while.
        all_hops: as in `Sighting`.
    """
    if all_hops:
        known = [place for place, server in enumerate(holding.hops) if server in before]
        return holding.hops[known[-1] :] if known else holding.hops[-1:]
    return tuple(before) if len(before) == 1 else ()


def _death(owner: str | None, sightings: Iterable[Sighting]) -> tuple[int | None, int | None]:
    """Returns when a server was last seen online and first seen dead (ms), as far as its own queues show."""
    alive = dead = None
    for one in sightings:
        states = one.states.get(owner or "", frozenset())
        if OwnerState.ONLINE.value in states:
            alive, dead = one.at, None
        elif states - set(_NOT_DEAD) and dead is None:
            dead = one.at
    return alive, dead


def _row(
    key: Key,
    event: QueueEvent,
    left: str | None,
    taken: str | None,
    via: tuple[str, ...],
    before: Sighting | None,
    now: Sighting,
    death: tuple[int | None, int | None] | None,
) -> ClaimRow:
    died_after, died_before = death or (None, None)
    if died_before is None and death is not None and event is not QueueEvent.WAITING:
        died_before = now.at
    waited_min = waited_max = None
    if event is QueueEvent.WAITING and died_before is not None:
        waited_min = now.at - died_before
    elif event is QueueEvent.CLAIMED and before is not None and left is not None and died_before is not None:
        waited_min = max(before.at - died_before, 0)
    if event is not QueueEvent.ENDED and died_after is not None:
        waited_max = now.at - died_after
    return ClaimRow(
        peer_id=key[0],
        source=key[1],
        event=event.value,
        from_owner=left,
        to_owner=taken,
        via=via,
        died_after=died_after,
        died_before=died_before,
        happened_after=before.at if before else None,
        happened_before=now.at,
        waited_min_ms=waited_min,
        waited_max_ms=waited_max,
    )
