"""Declares what a search needs of a game for either storage: cluster and capture take turns, and may lose a WAL."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

Move = tuple[str, tuple[int, ...]]
"""One step of a history: an action of the cluster with its arguments, or a read of the capture."""
Wal = tuple[int, int, int]
"""Server, group, number."""
StateT = TypeVar("StateT")


def moves_of(entry: Mapping[str, Any]) -> tuple[Move, ...]:
    """Returns the moves of a recorded history."""
    return tuple((name, tuple(arguments)) for name, arguments in entry["moves"])


class Turns(Protocol[StateT]):
    """Provides the moves of one plan."""

    def first(self) -> StateT:
        """Returns the state in which every history begins."""
        ...

    def moves(self, state: StateT) -> Iterator[tuple[Move, StateT]]:
        """Yields every possible move with the state after it."""
        ...

    def is_over(self, state: StateT) -> bool:
        """Returns whether the capture has ended."""
        ...

    def is_hopeless(self, state: StateT) -> bool:
        """Returns whether no loss can follow."""
        ...

    def needed_files(self, state: StateT) -> tuple[Wal, ...]:
        """Returns the listed WALs that some peer still needs."""
        ...

    def loss(self, state: StateT) -> tuple[Wal, str] | None:
        """Returns a needed WAL that the rule calls DELETABLE at the end of the capture, and the reason."""
        ...


@dataclass(frozen=True)
class Loss(Generic[StateT]):
    """A history that loses data.

    Attributes:
        moves: the steps from the first state on.
        wal: the WAL (server, group, number) that is needed and DELETABLE.
        reason: the reason of the verdict.
        state: the last state.
    """

    moves: tuple[Move, ...]
    wal: Wal
    reason: str
    state: StateT
