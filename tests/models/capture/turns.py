"""What a search needs of a game, whatever the storage: cluster and capture take turns, and what is lost at the end."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Move = tuple[str, tuple[int, ...]]
"""One step of a history: an action of the cluster with its arguments, or a read of the capture."""
Wal = tuple[int, int, int]
"""Server, group, number."""
StateT = TypeVar("StateT")


class Turns(Protocol[StateT]):
    """The moves of one plan."""

    def first(self) -> StateT:
        """The state in which every history begins."""
        ...

    def moves(self, state: StateT) -> Iterator[tuple[Move, StateT]]:
        """Every next state."""
        ...

    def is_over(self, state: StateT) -> bool:
        """Whether the capture has ended."""
        ...

    def is_hopeless(self, state: StateT) -> bool:
        """Whether no loss can follow."""
        ...

    def needed_files(self, state: StateT) -> tuple[Wal, ...]:
        """Listed WALs that some peer still needs."""
        ...

    def loss(self, state: StateT) -> tuple[Wal, str] | None:
        """A needed WAL that the rule calls DELETABLE at the end of the capture, with the reason."""
        ...


@dataclass(frozen=True)
class Loss(Generic[StateT]):
    """A history that loses data.

    Attributes:
        moves: its steps from the first state on.
        wal: the WAL (server, group, number) that is needed and DELETABLE.
        reason: of the verdict.
        state: the last state.
    """

    moves: tuple[Move, ...]
    wal: Wal
    reason: str
    state: StateT
