"""The other promise: once the cluster is quiet, what no peer needs is DELETABLE, or held for a reason that stays."""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.simulate.adversary.game import Game, State
from pipelines.simulate.adversary.servers import Action
from pipelines.simulate.adversary.world import ONLINE, OWN, World, find_row, is_needed

_UPSETTING = frozenset(
    {
        "crash",
        "fail_over",
        "roll",
        "start_cleaner",
        "submit_add_peer",
        "remove_peer",
        "to_standby",
        "from_standby",
        "toggle_peer",
        "zombie_ships",
    }
)
_MOST_MOVES = 2_000


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A WAL that no peer needs, and that is held all the same.

    Attributes:
        wal: server, group, number.
        reason: of the verdict.
        owners: who holds it: the owners of the blocking rows, where there are rows.
    """

    wal: tuple[int, int, int]
    reason: str
    owners: tuple[str, ...]


def settle(game: Game, world: World, *, idle: bool) -> World:
    """The cluster after everything that was begun has ended, nothing new has begun, and all queues have shipped.

    Args:
        game: its rules.
        world: where a history has left it.
        idle: nothing is written into the newest WALs, so that queues stop at the end (-1) of the WAL before.

    Raises:
        RuntimeError: it never comes to rest, a defect of the model.
    """
    world = world._replace(peers=tuple(peer._replace(enabled=True) for peer in world.peers))
    for _ in range(_MOST_MOVES):
        action = next(_calming(game, world, idle=idle), None)
        if action is None:
            return world
        world = action[0](world, *action[1])
    raise RuntimeError(f"the cluster does not come to rest: {world}")


def _calming(game: Game, world: World, *, idle: bool) -> Iterator[Action]:
    nobody = not any(life.status == ONLINE for life in world.lives)
    for action in game.actions(State(world)):
        name = action[0].__name__
        at_the_end = idle and name == "ship" and _has_shipped(world, *action[1])
        if name not in _UPSETTING and (name != "start" or nobody) and not at_the_end:
            yield action


def _has_shipped(world: World, server: int, peer: int, group: int) -> bool:
    """Whether the queue has come to the end of every WAL but the newest."""
    row = find_row(world, peer, server, OWN)
    return row is not None and row[3][group] == 2 * world.lives[server].created[group] - 3


def held_without_need(game: Game, world: World) -> tuple[HeldFile, ...]:
    """What a capture that nothing disturbs would hold although no peer needs it."""
    state = State(world)
    while not game.is_over(state):
        after = game.look(state, everything=True)
        if after is None:
            raise RuntimeError("a settled master does not answer, a defect of the model")
        state = after
    seen = game.seen(state)
    found = []
    for wal in game.files(state):
        if not is_needed(world, wal) and not game.judge.deletable(seen, wal):
            decision = game.judge.decide(seen, wal)
            owners = {str(holder.owner) for holder in decision.blocking if holder.owner}
            found.append(HeldFile(wal, decision.reason.value, tuple(sorted(owners))))
    return tuple(found)
