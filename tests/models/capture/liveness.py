"""Checks the other promise, that files become free.

Once the cluster is quiet, WALs that no peer needs are DELETABLE, or held for a lasting reason.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from pipelines.decide.rule.decision_table import decision_table
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.verdict import Reason
from pipelines.reconcile.findings.evidence import Evidence
from pipelines.reconcile.findings.files import leftover_directories
from tests.models.capture.game import Game, State
from tests.models.capture.judge import Judge, Seen
from tests.models.capture.peers import drain_sources
from tests.models.capture.servers import Action
from tests.models.capture.trust import distrust_reason
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
    """A game whose capture can be led through all its reads."""

    def look(self, state: StateT, *, everything: bool = False) -> StateT | None:
        """Returns the state after the capture's next read; None = the read cannot be answered now."""
        ...


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A WAL that no peer needs, but that is held.

    Attributes:
        wal: server, group, number.
        reason: the reason of the verdict.
        told: what tells the operator the cause: the code of a finding, or the reason why the snapshot is not trusted;
            None = nothing.
    """

    wal: tuple[int, int, int]
    reason: str
    told: str | None


def settle(game: Game, world: World, *, idle: bool) -> World:
    """Returns the cluster after everything that was begun has ended, and all queues have shipped; nothing new begins.

    Args:
        game: provides the rules.
        world: the cluster at the end of a history.
        idle: whether nothing is written into the newest WALs, so that queues stop at the end (-1) of the WAL before.

    Raises:
        RuntimeError: the cluster never comes to rest, a defect of the model.
    """
    world = world._replace(peers=tuple(peer._replace(enabled=True) for peer in world.peers))
    return _read_in_standby(come_to_rest(world, lambda world: _calming(game, world, idle=idle)))


def _read_in_standby(world: World) -> World:
    """Returns the world after a source in STANDBY has read on.

    `ReplicationSourceShipper.shipEdits` ends WALs that contain nothing to ship.
    """
    for peer, state in enumerate(world.peers):
        for server, life in enumerate(world.lives):
            if state.standby and life.status == ONLINE:
                world = drain_sources(world, peer, server)
    return world


def come_to_rest(world: WorldT, calming: Callable[[WorldT], Iterator[Step[WorldT]]]) -> WorldT:
    """Takes the first of the calming actions again and again until there is none, and returns the world.

    Raises:
        RuntimeError: there is always another action, a defect of the model.
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
    """Returns whether a queue has reached the end of every WAL but the newest."""
    row = find_row(world, peer, server, OWN)
    return row is not None and row[3][group] == 2 * world.lives[server].created[group] - 3


def held_without_need(game: Game, world: World) -> tuple[HeldFile, ...]:
    """Returns the WALs that an undisturbed capture would hold although no peer needs them."""
    state = undisturbed(game, world)
    seen = game.seen(state)
    found = []
    for wal in game.files(state):
        if not is_needed(world, wal) and not game.judge.deletable(seen, wal):
            reason = game.judge.decide(seen, wal).reason
            found.append(HeldFile(wal, reason.value, _told(game, seen, wal, reason)))
    return tuple(found)


def undisturbed(game: Game, world: World) -> State:
    """Returns the state after a capture in which nothing happens between the reads.

    Raises:
        RuntimeError: the master does not answer, a defect of the model.
    """
    return read_all(game, State(world))


def read_all(game: Looks[StateT], state: StateT) -> StateT:
    """Returns the state after all remaining reads of the capture, with nothing in between.

    Raises:
        RuntimeError: a read is not answered, a defect of the model.
    """
    while not game.is_over(state):
        after = game.look(state, everything=True)
        if after is None:
            raise RuntimeError("a read of a settled cluster fails, a defect of the model")
        state = after
    return state


def nights_held(game: Game, world: World, *, ttl_ms: int, every_ms: int) -> int:
    """Counts the nights until every WAL that no peer needs is DELETABLE; the first night is the one after the rest.

    Args:
        game: provides the rules.
        world: the cluster at rest; every WAL was archived at the moment of the first capture.
        ttl_ms: the value of `hbase.master.logcleaner.ttl`.
        every_ms: the time from capture to capture.

    Raises:
        RuntimeError: this takes longer than the time to live and two nights.
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
    """Returns the finding, or the refusal, that tells why a WAL is held; None = nothing does."""
    settings = ReconcileSettings()
    snapshot, passes = game.judge.snapshot(seen)
    if reason is Reason.SNAPSHOT_UNTRUSTED:
        return distrust_reason(snapshot, passes, settings.release)
    view = game.judge.view(seen)
    evidence = Evidence(snapshot, view, decision_table(view), settings, (), (), ())
    server = str(game.judge.names.servers[wal[0]])
    codes = [found.code for found in leftover_directories(evidence) if found.server == server]
    return codes[0] if reason is Reason.LEFTOVER_WAL_DIR and codes else None
