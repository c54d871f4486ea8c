"""Derives the private logs of a group's replicas and the acknowledgements of its clients from one history."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pipelines.pegasus.simulate.emission.table import BASE_ROWS
from pipelines.pegasus.simulate.walk import WalkHistory
from pipelines.pegasus.simulate.world import (
    CAUGHT_UP,
    LEARNT,
    MADE,
    NEW,
    NO_CHILD,
    PREPARED,
    Move,
    World,
    living_members,
)

OLDEST = 41
"""The first decree that is still in a log; earlier logs are deleted."""
CHECKPOINT = 45
"""Children learn the data up to this decree from a checkpoint, and later decrees from logs."""
BASE_BALLOT = 1


@dataclass(frozen=True, slots=True)
class Logged:
    """A mutation in a replica's log.

    Attributes:
        number: the number of the row that the mutation puts; None = an empty write.
        step: the step of the history.
        committed: the last committed decree of its writer.
    """

    decree: int
    ballot: int
    number: int | None
    committed: int
    step: int


@dataclass(frozen=True, slots=True)
class Ack:
    """A write that was acknowledged to a client.

    Attributes:
        number: the number of its row.
        version: the version of the primary when it received the request: OLD, REJECT or NEW.
        to_child: whether the child received the request.
    """

    number: int
    decree: int
    node: int
    version: int
    step: int
    to_child: bool


@dataclass(slots=True)
class Trace:
    """The logs and acknowledgements of a history.

    Attributes:
        parents: the logs of parents by node, each in the order of writing.
        children: the logs of children, without discarded ones, in the same form.
        learned: the committed decree up to which each child's data were durable after it had learned.
        child_ballot: the ballot with which the child was registered; None = it was not registered.
        sync_point: the empty write that was the last sync point.
        committed: the decree that the parent had committed when it asked to register its child.
    """

    parents: dict[int, list[Logged]] = field(default_factory=dict)
    children: dict[int, list[Logged]] = field(default_factory=dict)
    learned: dict[int, int] = field(default_factory=dict)
    acks: list[Ack] = field(default_factory=list)
    child_ballot: int | None = None
    sync_point: int | None = None
    committed: int | None = None


def trace_of(history: WalkHistory) -> Trace:
    """Returns the trace of a history, step by step."""
    writer = _Writer(history)
    for step, move in enumerate(history.moves):
        writer.follow(step + 1, move, history.worlds[step], history.worlds[step + 1])
    writer.end(len(history.moves) + 1, history.worlds[-1])
    return writer.trace


class _Writer:
    """Counts the decrees of the parent, and of the child after its registration."""

    def __init__(self, history: WalkHistory) -> None:
        self.trace = Trace()
        base = [
            Logged(decree, BASE_BALLOT, decree - 1, decree - 1, 0) for decree in range(OLDEST, BASE_ROWS + 1)
        ]  # row n is written by decree n + 1
        self.trace.parents = {node: list(base) for node in range(history.scope.replicas)}
        self.decree = self.committed = BASE_ROWS
        self.child_decree = self.child_committed = 0
        self.prepared: dict[int, tuple[int, int]] = {}

    def follow(self, step: int, move: Move, before: World, after: World) -> None:
        name, about = move
        if after.meta.ballot != before.meta.ballot:
            self.decree = self.committed  # unfinished writes are never answered: the new ballot reuses their decrees
        if name == "write_parent":
            self.prepared[about] = (
                self._log(step, after, BASE_ROWS + about),
                before.replicas[after.meta.primary].version,
            )
        elif name == "sync_mode":
            self.trace.sync_point = self._log(step, after, None)
        elif name == "commit":
            decree, version = self.prepared[about]
            self.committed = max(self.committed, decree)
            self.trace.acks.append(Ack(BASE_ROWS + about, decree, after.meta.primary, version, step, to_child=False))
        elif name == "register_child":
            self.trace.committed = self.committed
        elif name == "sync_point" and PREPARED not in after.writes:
            self.committed = self.decree
        if before.meta.child is None and after.meta.child is not None:
            self.trace.child_ballot = after.meta.child[0]
            self.child_decree = self.child_committed = self.decree
        if name == "write_child":
            self._write_child(step, after, about)
        else:
            self._children(name, before, after)

    def end(self, step: int, last: World) -> None:
        """Ends each log with an empty write, and drops the logs of dead nodes and of nodes outside the group.

        Servers send empty writes when no client writes; these writes show the last committed decree.
        """
        self._log(step, last, None)
        if last.meta.child is not None:
            self._log_child(step, last, None)
        gone = {node for node, one in enumerate(last.replicas) if not one.alive}
        for node in gone:
            self.trace.parents.pop(node, None)
            self.trace.children.pop(node, None)
        outside = set(self.trace.parents) - set(living_members(last))
        for node in outside:
            self.trace.parents.pop(node)
            if not last.replicas[node].active:
                self.trace.children.pop(node, None)

    def _log(self, step: int, world: World, number: int | None) -> int:
        self.decree += 1
        entry = Logged(self.decree, world.meta.ballot, number, self.committed, step)
        for node in living_members(world):
            self.trace.parents[node].append(entry)
        return self.decree

    def _log_child(self, step: int, world: World, number: int | None) -> None:
        self.child_decree += 1
        ballot = world.meta.child[0] if world.meta.child else 0
        entry = Logged(self.child_decree, ballot, number, self.child_committed, step)
        for node, one in enumerate(world.replicas):
            if one.alive and one.counted and node in self.trace.children:
                self.trace.children[node].append(entry)
        self.child_committed = self.child_decree

    def _write_child(self, step: int, world: World, place: int) -> None:
        self._log_child(step, world, BASE_ROWS + place)
        node = world.meta.child[1] if world.meta.child else 0
        self.trace.acks.append(Ack(BASE_ROWS + place, self.child_decree, node, NEW, step, to_child=True))

    def _children(self, name: str, before: World, after: World) -> None:
        for node, (was, now) in enumerate(zip(before.replicas, after.replicas, strict=True)):
            if now.child == NO_CHILD:
                self.trace.children.pop(node, None)
            elif now.child == MADE:
                self.trace.children[node] = []
            elif was.child == MADE:
                self._copy(node, lambda one: one.decree <= self.committed)
                self.trace.learned[node] = self.committed
            elif now.child_has & ~was.child_has:
                self._brought(node, now.child_has & ~was.child_has)
            elif name == "sync_point" or (was.child == LEARNT and now.child == CAUGHT_UP):
                self._copy(node, lambda one: one.number is None)

    def _brought(self, node: int, writes: int) -> None:
        """Copies writes, and the empty mutations before them."""
        last = max(one.decree for one in self._log_of(node) if _is_among(writes, one))
        self._copy(node, lambda one: _is_among(writes, one) or (one.number is None and one.decree < last))

    def _log_of(self, node: int) -> Iterator[Logged]:
        """Yields the parent's log without decrees that a newer ballot has dropped and not given again."""
        return (one for one in self.trace.parents[node] if one.decree <= self.decree)

    def _copy(self, node: int, wanted: Callable[[Logged], bool]) -> None:
        """Copies the wanted mutations from the parent's log to its child's, unchanged except for the partition."""
        there = self.trace.children.setdefault(node, [])
        known = {one.decree for one in there}
        newest = {one.decree: one for one in self._log_of(node)}
        there += [
            one for decree, one in sorted(newest.items()) if decree > CHECKPOINT and decree not in known and wanted(one)
        ]


def _is_among(writes: int, one: Logged) -> bool:
    return one.number is not None and one.number >= BASE_ROWS and bool(writes >> (one.number - BASE_ROWS) & 1)
