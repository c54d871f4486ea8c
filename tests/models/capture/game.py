"""Lets cluster and capture take turns: every move that a history may make next, and what it has lost at its end."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple, TypeVar

from tests.models.capture import capture
from tests.models.capture.cleaner import Cleaner
from tests.models.capture.disk import disk_actions
from tests.models.capture.judge import NOTHING_TAKEN, Judge, Seen, Weakening
from tests.models.capture.master import actions_of_crash, actions_of_master, master_actions
from tests.models.capture.names import Names
from tests.models.capture.peers import actions_of_peer, peer_actions
from tests.models.capture.scope import Scope
from tests.models.capture.servers import Action, Listing, actions_of_row, actions_of_server, server_actions
from tests.models.capture.turns import Move
from tests.models.capture.world import Row, World, first_world, is_needed

AnswerT = TypeVar("AnswerT")
QUEUES = ("queues-1", "queues-2")
_PARTS = 1 << 20
DESIGN = (
    "files",
    "wal_directories",
    "online",
    "master",
    "proof",
    "crashing",
    "peers",
    "flags",
    *QUEUES,
    "online-2",
    "crashing-2",
    "flags-2",
    "proof-2",
)
"""The atomic reads of `pipelines.capture.capture`, in its order; a queue pass is one for each owner."""
_READS: dict[str, Callable[[World], Any]] = {
    "files": capture.list_files,
    "wal_directories": capture.wal_directories,
    "online": capture.servers,
    "master": capture.named_master,
    "proof": capture.proof,
    "crashing": capture.crashing,
    "peers": capture.stored_peers,
    "flags": capture.flags,
    "online-2": capture.servers,
    "crashing-2": capture.crashing,
    "flags-2": capture.flags,
    "proof-2": capture.active_master,
}


@dataclass(frozen=True)
class Plan:
    """The plan of a search: a scope, an order of reading, and what is taken away from the rule."""

    scope: Scope
    order: tuple[str, ...] = DESIGN
    weakening: Weakening = NOTHING_TAKEN


class State(NamedTuple):
    """The cluster, and the answers that the capture has read so far, an entry for each read."""

    world: World
    read: tuple[Any, ...] = ()


class Game:
    """Provides the moves of one plan.

    Attributes:
        plan: the plan that is played.
        judge: the rule.
        reads: the reads of the capture, in order; a queue pass has one read for each owner.
        shorten: whether to leave out moves that cannot make a difference; a test plays small clusters both ways.
    """

    def __init__(self, plan: Plan, *, shorten: bool = True) -> None:
        self.shorten = shorten
        self.plan = plan
        self.judge = Judge(Names(plan.scope), plan.weakening)
        self._cleaner = Cleaner(plan.scope)
        owners = range(len(plan.scope.servers))
        # where steps are taken late they are stamped as if they were not
        late = plan.scope.late
        order = (*(name for name in plan.order if name not in late), *(name for name in plan.order if name in late))
        self.reads: tuple[tuple[str, int], ...] = tuple(
            (name, owner) for name in order for owner in (owners if name in QUEUES else (0,))
        )
        names = [name for name, _ in self.reads]
        self._files = names.index("files")
        self._place = {name: names.index(name) for name in plan.order}
        # a zombie's row can make a WAL needed again by a queue that nobody ships
        self._forgets = shorten and not plan.scope.zombies

    def first(self) -> State:
        """Returns the state in which every history begins."""
        return State(first_world(self.plan.scope))

    def actions(self, state: State) -> Iterator[Action]:
        """Yields the actions that the cluster may take next.

        Once the files are listed, new WALs and offsets beyond the listed WALs change no answer that the capture can get
        and no need by which it is judged. They are left out: every history has an equal one without them.
        """
        scope, world = self.plan.scope, state.world
        listed = self.listed(state)
        yield from server_actions(world, scope, listed)
        yield from master_actions(world, scope, listed, shorten=self.shorten)
        yield from peer_actions(world)
        if (
            len(state.read) <= self._place["queues-1"]
        ):  # both scans are cut alike: else the passes differ, which is seen
            yield from disk_actions(world, scope)
        if scope.cleaner:
            yield from self._cleaner.actions(world)

    def some_actions(self, state: State, choice: int) -> Iterator[Action]:
        """Yields the actions that one part of the cluster may take next.

        A part is a server, its crash procedure, a peer, a row, or the master.

        Args:
            state: the present state of the history.
            choice: any whole number; it selects the part.
        """
        scope, world = self.plan.scope, state.world
        number, part = divmod(choice, 4)
        if part == 0:
            return actions_of_server(world, scope, self.listed(state), number % len(world.lives))
        if part == 1 and world.loaded:
            return actions_of_crash(world, scope, self.listed(state), number % len(world.lives), shorten=self.shorten)
        if part == 2 and world.rows and scope.ships and number % 2:
            return actions_of_row(world, self.listed(state), world.rows[number // 2 % len(world.rows)])
        if part == 2 and world.loaded:
            return actions_of_peer(world, number // 2 % len(world.peers))
        if scope.cleaner and number % 2:
            return self._cleaner.actions(world)
        return actions_of_master(world, scope)

    def drawn(self, state: State, draw: Random) -> tuple[Move, State] | None:
        """Draws an action of some part of the cluster.

        Returns:
            The action and the state after it; None = that part can do nothing.
        """
        actions = list(self.some_actions(state, int(draw.random() * _PARTS)))
        if not actions:
            return None
        action = actions[int(draw.random() * len(actions))]
        return (action[0].__name__, action[1]), self.act(state, action)

    def listed(self, state: State) -> Listing | None:
        """Returns the listed WALs that are still needed; None before the files are listed, or if it cannot be known."""
        return state.read[self._files] if self._forgets and len(state.read) > self._files else None

    def act(self, state: State, action: Action) -> State:
        """Returns the state after an action of the cluster.

        Files that nobody needs any more are not looked at again.
        """
        world = action[0](state.world, *action[1])
        if self._forgets and len(state.read) > self._files:
            files = state.read[self._files]
            kept = tuple(wal for wal in files if is_needed(world, wal))
            if len(kept) < len(files):
                return State(world, (*state.read[: self._files], kept, *state.read[self._files + 1 :]))
        return State(world, state.read)

    def look(self, state: State, *, everything: bool = False) -> State | None:
        """Returns the state after the capture's next read; None = the read cannot be answered now.

        Args:
            state: the present state of the history.
            everything: whether to list also the files that nobody needs.
        """
        name, owner = self.reads[len(state.read)]
        if name in QUEUES:
            answer: Any = capture.rows_of_owner(state.world, owner)
        else:
            answer = _READS[name](state.world)
            if answer is None:
                return None
            if name == "files" and self._forgets and not everything:
                answer = tuple(wal for wal in answer if is_needed(state.world, wal))
        return State(state.world, (*state.read, answer))

    def next_read(self, state: State) -> Move:
        """Returns the name of the capture's next read."""
        name, owner = self.reads[len(state.read)]
        return name, (owner,) if name in QUEUES else ()

    def is_over(self, state: State) -> bool:
        """Returns whether the capture has ended."""
        return len(state.read) == len(self.reads)

    def is_hopeless(self, state: State) -> bool:
        """Returns whether no needed file has been listed, so that no loss can follow."""
        return self._forgets and len(state.read) > self._files and not state.read[self._files]

    def files(self, state: State) -> Listing:
        """Returns the files that were listed."""
        files: Listing = state.read[self._files]
        return files

    def needed_files(self, state: State) -> tuple[tuple[int, int, int], ...]:
        """Returns the listed WALs that some peer still needs."""
        return tuple(wal for wal in self.files(state) if is_needed(state.world, wal))

    def loss(self, state: State) -> tuple[tuple[int, int, int], str] | None:
        """Returns a needed WAL that the rule calls DELETABLE at the end of the capture, and the reason."""
        return self.judge.lets_go(self.seen(state), self.needed_files(state))

    def seen(self, state: State) -> Seen:
        """Returns the answers that were read.

        For a read that a mutant leaves out, the value to which it would fall back.
        """
        servers = self._one(state, "online", capture.ServerLook())
        # an online server has a directory; without any the snapshot would look like one of two clusters
        directories = self._one(state, "wal_directories", servers.online)
        crashing = self._one(state, "crashing", capture.CrashLook())
        flags = self._one(state, "flags", capture.Flags(False, False, False))
        master = self._one(state, "master", 0)
        queues = {name: self._pass(state, name) for name in QUEUES}
        one, two = queues["queues-1"], queues["queues-2"]
        return Seen(
            directories,
            servers,
            crashing,
            master,
            self._one(state, "peers", 0),
            flags,
            (two or ()) if one is None else one,
            (one or ()) if two is None else two,
            self._one(state, "online-2", servers),
            self._one(state, "crashing-2", crashing),
            self._one(state, "flags-2", flags),
            self._one(state, "proof-2", master),
            state.world.room,
        )

    def _one(self, state: State, name: str, default: AnswerT) -> AnswerT:
        place = self._place.get(name)
        answer: AnswerT = default if place is None else state.read[place]
        return answer

    def _pass(self, state: State, name: str) -> tuple[Row, ...] | None:
        place = self._place.get(name)
        if place is None:
            return None
        read = state.read[place : place + len(self.plan.scope.servers)]
        return tuple(row for rows in read for row in rows)

    def moves(self, state: State) -> Iterator[tuple[Move, State]]:
        """Yields every possible move with the state after it."""
        if not self.is_over(state):
            after = self.look(state)
            if after is not None:
                yield self.next_read(state), after
        for action in self.actions(state):
            yield (action[0].__name__, action[1]), self.act(state, action)
