"""The other promise: once the cluster is quiet, what no peer needs is DELETABLE, or held for a reason that stays."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from pipelines.decide.rule.decision_table import decision_table
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.trust import distrust_reason
from pipelines.decide.rule.verdict import Reason
from pipelines.reconcile.findings.evidence import Evidence
from pipelines.reconcile.findings.files import leftover_directories
from tests.models.capture.game import Game, State
from tests.models.capture.judge import Judge, Seen
from tests.models.capture.peers import drain_sources
from tests.models.capture.servers import Action
from tests.models.capture.turns import StateT, Turns
from tests.models.capture.world import ONLINE, OWN, World, find_row, is_needed

WorldT = TypeVar("WorldT")
Step: TypeAlias = tuple[Callable[..., WorldT], tuple[int, ...]]
"""An action of the cluster with its arguments."""
_UPSETTING = frozenset(
    {
        "crash",
        "crash_without_gap",
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


class Looks(Turns[StateT], Protocol[StateT]):
    """A game whose capture can be led through its reads."""

    def look(self, state: StateT, *, everything: bool = False) -> StateT | None:
        """The state after the capture's next read; None = it cannot be answered now."""
        ...


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A WAL that no peer needs, and that is held all the same.

    Attributes:
        wal: server, group, number.
        reason: of the verdict.
        told: what tells the operator why: code of a finding, or why the snapshot is not trusted; None = nothing does.
    """

    wal: tuple[int, int, int]
    reason: str
    told: str | None


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
    return _read_in_standby(come_to_rest(world, lambda world: _calming(game, world, idle=idle)))


def _read_in_standby(world: World) -> World:
    """A source in STANDBY reads on: `ReplicationSourceShipper.shipEdits` ends WALs with nothing to ship."""
    for peer, state in enumerate(world.peers):
        for server, life in enumerate(world.lives):
            if state.standby and life.status == ONLINE:
                world = drain_sources(world, peer, server)
    return world


def come_to_rest(world: WorldT, calming: Callable[[WorldT], Iterator[Step[WorldT]]]) -> WorldT:
    """The world after the first of the calming actions, again and again until there is none.

    Raises:
        RuntimeError: there is always one more, a defect of the model.
    """
    for _ in range(_MOST_MOVES):
        action = next(calming(world), None)
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
    state = undisturbed(game, world)
    seen = game.seen(state)
    found = []
    for wal in game.files(state):
        if not is_needed(world, wal) and not game.judge.deletable(seen, wal):
            reason = game.judge.decide(seen, wal).reason
            found.append(HeldFile(wal, reason.value, _told(game, seen, wal, reason)))
    return tuple(found)


def undisturbed(game: Game, world: World) -> State:
    """The state after a capture in which nothing happens between the reads.

    Raises:
        RuntimeError: the master does not answer, a defect of the model.
    """
    return read_all(game, State(world))


def read_all(game: Looks[StateT], state: StateT) -> StateT:
    """The state after all reads that the capture has left, with nothing in between.

    Raises:
        RuntimeError: one of them is not answered, a defect of the model.
    """
    while not game.is_over(state):
        after = game.look(state, everything=True)
        if after is None:
            raise RuntimeError("a read of a settled cluster fails, a defect of the model")
        state = after
    return state


def nights_held(game: Game, world: World, *, ttl_ms: int, every_ms: int) -> int:
    """Nights after the one in which the cluster came to rest until every WAL that no peer needs is DELETABLE.

    Args:
        game: its rules.
        world: at rest; every WAL was archived in the moment of the first capture.
        ttl_ms: `hbase.master.logcleaner.ttl`.
        every_ms: from capture to capture.

    Raises:
        RuntimeError: it is not within the time to live and two nights.
    """
    state = undisturbed(game, world)
    seen, names = game.seen(state), game.judge.names
    free = [wal for wal in game.files(state) if not is_needed(world, wal)]
    for night in range(ttl_ms // every_ms + 3):
        judge = Judge(names, game.judge.weakening, ttl_ms=ttl_ms, age_ms=night * every_ms)
        if all(judge.deletable(seen, wal) for wal in free):
            return night
    raise RuntimeError(f"still held: {held_without_need(game, world)}")


def _told(game: Game, seen: Seen, wal: tuple[int, int, int], reason: Reason) -> str | None:
    """The finding, or the refusal, that says why a WAL is held."""
    settings = ReconcileSettings()
    snapshot, passes = game.judge.snapshot(seen)
    if reason is Reason.SNAPSHOT_UNTRUSTED:
        return distrust_reason(snapshot, passes, settings.release)
    view = game.judge.view(seen)
    evidence = Evidence(snapshot, view, decision_table(view), settings, (), (), ())
    server = str(game.judge.names.servers[wal[0]])
    codes = [found.code for found in leftover_directories(evidence) if found.server == server]
    return codes[0] if reason is Reason.LEFTOVER_WAL_DIR and codes else None
