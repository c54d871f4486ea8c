"""Writes the states of the cluster as meta and the servers report them, one for each change (docs/split-state.md)."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from pipelines.pegasus.domain.state.model import SPLITTING_REPLICA, VALIDATE_ENV
from pipelines.pegasus.simulate.emission.table import APP_ID, CLUSTER, LONG_AFTER_MS, Spread, address, at_us
from pipelines.pegasus.simulate.walk import WalkHistory
from pipelines.pegasus.simulate.world import IDLE, NEW, NO_CHILD, REJECT, SPLITTING, World

_DISK = 1_000_000_000_000
_TABLE = 50_000_000_000
Json = Mapping[str, object]


def states(histories: Sequence[WalkHistory], every: int = 1) -> Iterator[Json]:
    """Yields a state of the cluster for each change, and one long after the end.

    Args:
        histories: the histories of all groups; the table's count must change in all of them at the same step
            (`aligned`).
        every: use only every n-th step, in addition to the first, the last and each change of the state that only
            meta's memory has.
    """
    last: Json | None = None
    steps = max(len(history.worlds) for history in histories)
    for step in range(steps):
        found = _seen(histories, step)
        at_any_rate = last is None or step + 1 == steps or _of_meta(found) != _of_meta(last)
        if found != last and (at_any_rate or step % every == 0):
            last = found
            yield _dated(found, at_us(step) // 1000)
    if last is not None:
        yield _dated(last, at_us(steps) // 1000 + LONG_AFTER_MS)


def aligned(histories: Sequence[WalkHistory]) -> list[WalkHistory]:
    """Returns the histories with pauses, so that the table's count doubles, or halves, in all of them at one step."""
    starts = [next((n for n, world in enumerate(one.worlds) if world.meta.doubled), 0) for one in histories]
    found = [_delayed(one, 0, max(starts) - start) for one, start in zip(histories, starts, strict=True)]
    halved = [_halved(one) for one in found]
    latest = max((step for step in halved if step is not None), default=0)
    return [
        one if step is None else _delayed(one, step - 1, latest - step) for one, step in zip(found, halved, strict=True)
    ]


def _halved(history: WalkHistory) -> int | None:
    """Returns the step at which a cancelled split halves the count again; None = the history does not halve it."""
    counts = [world.meta.times for world in history.worlds]
    return next((step for step, (was, now) in enumerate(pairwise(counts), 1) if was > now), None)


def _delayed(history: WalkHistory, place: int, steps: int) -> WalkHistory:
    """Returns the history with `steps` pauses inserted at the state number `place`."""
    world = history.worlds[place]
    return WalkHistory(
        history.seed, history.scope, history.design,
        (*history.moves[:place], *((("wait", 0),) * steps), *history.moves[place:]),
        (*history.worlds[: place + 1], *((world,) * steps), *history.worlds[place + 1 :]), history.broken,
    )  # fmt: skip


def _seen(histories: Sequence[WalkHistory], step: int) -> Json:
    worlds = [one.worlds[min(step, len(one.worlds) - 1)] for one in histories]
    failovers = sum(name == "meta_failover" for one in histories for name, _ in one.moves[:step])
    found: dict[str, object] = {"meta_leader": f"10.0.1.{failovers % 3 + 1}:34601", "apps": [_app(worlds)]}
    if any(world.tight for world in worlds):
        nodes = range(max(len(world.replicas) for world in worlds))
        tight = {node for node in nodes for world in worlds if world.tight >> node & 1}
        found["disks"] = [_disk(node, full=node in tight) for node in nodes]
    return found


def _of_meta(found: Json) -> tuple[object, object]:
    """Returns the part of a state that only the meta leader has in memory.

    Every change of this part needs a state: if two states are far apart, nobody can see which leader changed it.
    """
    (app,) = found["apps"] if isinstance(found["apps"], list) else [{}]
    return found["meta_leader"], [state for state in app.get("split_states", {}).values() if state != SPLITTING]


def _dated(found: Json, at_ms: int) -> Json:
    at = datetime.fromtimestamp(at_ms // 1000, UTC)
    return {"format": 1, "cluster": CLUSTER, "observed_at": f"{at:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03}Z", **found}


def _disk(node: int, *, full: bool) -> Json:
    used = _DISK * (8 if full else 5) // 10
    return {"node": address(node), "disk": "ssd1", "capacity": _DISK, "used": used, "apps": {str(APP_ID): _TABLE}}


def _app(worlds: Sequence[World]) -> Json:
    groups, metas = len(worlds), [world.meta for world in worlds]
    times = max(meta.times for meta in metas)
    partitions: dict[str, object] = {}
    replicas: list[Json] = []
    for group, world in enumerate(worlds):
        spread = Spread(group, groups)
        partitions[str(group)] = _partition(group, world.meta.ballot, world.meta.primary, _nodes(world.meta.members))
        if world.meta.child is not None:
            partitions[str(spread.child)] = _child(spread, world)
        replicas += _replicas(spread, world)
    info = {
        "status": "app_status::AS_AVAILABLE",
        "app_name": "temp",
        "app_id": APP_ID,
        "partition_count": times * groups,
        "envs": {VALIDATE_ENV: "true"} if all(meta.validates for meta in metas) else {},
        "max_replica_count": max(len(world.replicas) for world in worlds),
        "init_partition_count": groups,
    }
    found: dict[str, object] = {"app_info": info, "partitions": partitions, "replicas": replicas}
    if times > 1:
        found["split_states"] = {str(group): meta.status for group, meta in enumerate(metas) if meta.status != IDLE}
    learning = [str(group) for group, world in enumerate(worlds) if world.learner]
    return {**found, "learning": learning} if learning else found


def _nodes(mask: int) -> list[int]:
    return [node for node in range(mask.bit_length()) if mask >> node & 1]


def _child(spread: Spread, world: World) -> Json:
    """Returns the child's partition, without dead secondaries if another primary was elected after the registration."""
    ballot, primary = world.meta.child or (0, 0)
    nodes = _nodes(world.meta.members)
    if ballot != world.meta.born + 1:
        nodes = [node for node in nodes if world.replicas[node].alive or node == primary]
    return _partition(spread.child, ballot, primary, nodes)


def _partition(index: int, ballot: int, primary: int, nodes: Sequence[int]) -> Json:
    return {
        "pid": f"{APP_ID}.{index}",
        "ballot": ballot,
        "primary": address(primary),
        "secondaries": [address(node) for node in nodes if node != primary],
    }


def _replicas(spread: Spread, world: World) -> Iterator[Json]:
    """Yields the replicas that the servers report; a dead node, or one outside the group, reports nothing."""
    meta = world.meta
    for node, one in enumerate(world.replicas):
        member = bool(meta.members >> node & 1)
        if not one.alive or not (member or one.active):
            continue
        count = 2 * spread.groups if one.version == NEW else spread.groups
        if member:
            yield {
                "node": address(node), "pidx": spread.group,
                "status": "PS_PRIMARY" if node == meta.primary else "PS_SECONDARY", "ballot": one.ballot,
                "partition_version": REJECT if one.version == REJECT else count - 1, "partition_count": count,
                "init_ballot": one.ballot,
            }  # fmt: skip
        if one.child != NO_CHILD:
            count = 2 * spread.groups if one.counted else spread.groups
            is_primary = meta.child is not None and node == meta.child[1]
            serves = "PS_PRIMARY" if is_primary else "PS_SECONDARY"
            ballot = meta.child[0] if one.active and meta.child is not None else one.child_ballot
            yield {
                "node": address(node), "pidx": spread.child, "status": serves if one.active else SPLITTING_REPLICA,
                "ballot": ballot, "partition_version": count - 1, "partition_count": count, "init_ballot": ballot,
            }  # fmt: skip
