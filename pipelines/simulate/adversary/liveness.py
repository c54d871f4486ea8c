"""The other promise: once the cluster is quiet, what no peer needs is DELETABLE, or held for a reason that stays."""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.simulate.adversary.game import Game, State
from pipelines.simulate.adversary.servers import Action
from pipelines.simulate.adversary.world import ONLINE, World, is_needed

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


def settle(game: Game, world: World) -> World:
    """The cluster after everything that was begun has ended, nothing new has begun, and all queues have shipped.

    Raises:
        RuntimeError: it never comes to rest, a defect of the model.
    """
    world = world._replace(peers=tuple(peer._replace(enabled=True) for peer in world.peers))
    for _ in range(_MOST_MOVES):
        action = next(_calming(game, world), None)
        if action is None:
            return world
        world = action[0](world, *action[1])
    raise RuntimeError(f"the cluster does not come to rest: {world}")


def _calming(game: Game, world: World) -> Iterator[Action]:
    nobody = not any(life.status == ONLINE for life in world.lives)
    for action in game.actions(State(world)):
        name = action[0].__name__
        if name not in _UPSETTING and (name != "start" or nobody):
            yield action


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
