"""Lets cluster and capture take turns for queues in ZooKeeper."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from tests.models.capture.turns import Move
from tests.models.capture.zookeeper.capture import DESIGN, Read, Reading, ask, readings, reads_of
from tests.models.capture.zookeeper.claims import claim_actions
from tests.models.capture.zookeeper.judge import NOTHING_TAKEN, Seen, ZkJudge, ZkWeakening
from tests.models.capture.zookeeper.peers import peer_actions
from tests.models.capture.zookeeper.quorum import quorum_actions
from tests.models.capture.zookeeper.scope import ZkScope
from tests.models.capture.zookeeper.servers import Action, Listing, server_actions
from tests.models.capture.zookeeper.world import Wal, World, first_world, is_needed


@dataclass(frozen=True)
class ZkPlan:
    """The plan of a search.

    It has a scope, an order of steps, reads that are left out, and what is taken away from the rule.
    """

    scope: ZkScope
    order: tuple[str, ...] = DESIGN
    unread: tuple[str, ...] = ()
    weakening: ZkWeakening = NOTHING_TAKEN


class ZkState(NamedTuple):
    """The cluster, the answers that the capture has read, and its next reads.

    Attributes:
        world: the cluster.
        todo: the reads to come: those of this step that are known by now, and all of later steps.
        read: the name and answer of each read that was done.
        late: the WALs that were archived after the first reading had begun, and before the files were listed.
    """

    world: World
    todo: tuple[Read, ...]
    read: tuple[tuple[str, Any], ...] = ()
    late: tuple[Wal, ...] = ()


class ZkGame:
    """Provides the moves of one plan.

    Attributes:
        plan: the plan that is played.
        judge: the rule.
        shorten: whether to leave out moves that cannot make a difference; a test plays small clusters both ways.
    """

    def __init__(self, plan: ZkPlan, *, shorten: bool = True) -> None:
        self.plan = plan
        self.shorten = shorten
        self.judge = ZkJudge(plan.scope.names, plan.weakening)
        self._lists_last = plan.order.index("files") > 0

    def first(self) -> ZkState:
        """See `Turns.first`."""
        whole = bool(self.plan.scope.late)
        reads = (read for step in self.plan.order for read in reads_of(step, whole=whole))
        return ZkState(first_world(self.plan.scope), tuple(read for read in reads if read[0] not in self.plan.unread))

    def actions(self, state: ZkState) -> Iterator[Action]:
        """Yields the actions that the cluster may take next.

        Once files are listed, new WALs change no answer that matters.
        """
        scope, world = self.plan.scope, state.world
        listed = self.files(state) if self.shorten else None
        yield from server_actions(world, scope, listed)
        yield from claim_actions(world, scope)
        yield from peer_actions(world)
        yield from quorum_actions(world, scope)

    def drawn(self, state: ZkState, draw: Random) -> tuple[Move, ZkState] | None:
        """Draws an action of the cluster; returns it with the state after it; None = the cluster can do nothing."""
        actions = list(self.actions(state))
        if not actions:
            return None
        action = draw.choice(actions)
        return (action[0].__name__, action[1]), self.act(state, action)

    def act(self, state: ZkState, action: Action) -> ZkState:
        """Returns the state after an action of the cluster; listed files that nobody needs any more are forgotten."""
        world = action[0](state.world, *action[1])
        late = state.late
        if self._lists_last and any(name == "open" for name, _ in state.read) and self.files(state) is None:
            late = (*late, *_archived(state.world, world))
        return self._forgotten(state._replace(world=world, late=late))

    def look(self, state: ZkState, *, everything: bool = False) -> ZkState | None:
        """Returns the state after the capture's next read; None = the step fails, and the capture begins it anew later.

        Args:
            state: the present state of the history.
            everything: whether to list also the files that nobody needs.
        """
        read, *rest = state.todo
        world, answer, more = ask(state.world, read)
        if read[0] == "session-again" and answer != _session(state):
            return None
        more = tuple(one for one in more if one[0] not in self.plan.unread)
        after = ZkState(world, (*more, *rest), (*state.read, (read[0], answer)), state.late)
        return after if everything else self._forgotten(after)

    def _forgotten(self, state: ZkState) -> ZkState:
        if not self.shorten:
            return state
        for place, (name, answer) in enumerate(state.read):
            if name == "files":
                kept = tuple(wal for wal in answer if is_needed(state.world, wal))
                if len(kept) < len(answer):
                    return state._replace(read=(*state.read[:place], (name, kept), *state.read[place + 1 :]))
        return state

    def files(self, state: ZkState) -> Listing | None:
        """Returns the files that were listed; None = they are not listed yet."""
        return next((answer for name, answer in state.read if name == "files"), None)

    def next_read(self, state: ZkState) -> Move:
        """Returns the capture's next read."""
        return state.todo[0]

    def is_over(self, state: ZkState) -> bool:
        """See `Turns.is_over`."""
        return not state.todo

    def is_hopeless(self, state: ZkState) -> bool:
        """See `Turns.is_hopeless`."""
        return self.shorten and self.files(state) == ()

    def needed_files(self, state: ZkState) -> Listing:
        """Returns the listed WALs that some peer still needs."""
        return tuple(wal for wal in self.files(state) or () if is_needed(state.world, wal))

    def loss(self, state: ZkState) -> tuple[Wal, str] | None:
        """See `Turns.loss`."""
        return self.judge.lets_go(self.seen(state), self.needed_files(state))

    def seen(self, state: ZkState) -> Seen:
        """Returns the answers that were read; for a reading that a mutant leaves out, the other reading."""
        found: list[Reading] = list(readings(state.read))
        peers = next((answer for name, answer in state.read if name == "peers"), 0)
        return Seen(peers, found[0], found[-1], state.late)

    def moves(self, state: ZkState) -> Iterator[tuple[Move, ZkState]]:
        """See `Turns.moves`."""
        if not self.is_over(state):
            after = self.look(state)
            if after is not None:
                yield state.todo[0], after
        for action in self.actions(state):
            yield (action[0].__name__, action[1]), self.act(state, action)


def _session(state: ZkState) -> int:
    """Returns the session in which the present reading began."""
    return int([answer for name, answer in state.read if name == "session"][-1])


def _archived(before: World, after: World) -> Iterator[Wal]:
    for server, (was, life) in enumerate(zip(before.lives, after.lives, strict=True)):
        yield from ((server, 0, number) for number in range(was.archived, life.archived))
