"""Defines what a seed plays for either queue storage: its cluster, its history, and the text of the history."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic

from pipelines.common.errors import UsageError
from tests.models.capture.game import Game, Plan, State
from tests.models.capture.mutants import Mutant
from tests.models.capture.names import Names
from tests.models.capture.scope import Scope
from tests.models.capture.shrink import shrink
from tests.models.capture.text import beginning, ending, story
from tests.models.capture.turns import Loss, Move, StateT, Turns
from tests.models.capture.walk import ScopeT, Walk, mutant, walk
from tests.models.capture.zookeeper.game import ZkGame, ZkState
from tests.models.capture.zookeeper.mutants import ZkMutant, zk_mutant
from tests.models.capture.zookeeper.scope import ZkScope
from tests.models.capture.zookeeper.text import zk_beginning, zk_story
from tests.models.capture.zookeeper.walk import zk_walk


class Player(ABC, Generic[ScopeT, StateT]):
    """Plays the histories of one mutant, or of the design itself."""

    @abstractmethod
    def history(self, seed: int) -> Walk[ScopeT, StateT]:
        """Returns the history of a seed."""

    @abstractmethod
    def game(self, scope: ScopeT) -> Turns[StateT]:
        """Returns the game in which a cluster's histories are played."""

    @abstractmethod
    def names(self, scope: ScopeT) -> Names:
        """Returns the names of a cluster."""

    @abstractmethod
    def told(self, scope: ScopeT, moves: Sequence[Move]) -> str:
        """Returns a history from its beginning as text, a line for each step."""

    def told_whole(self, scope: ScopeT, moves: Sequence[Move], loss: Loss[StateT]) -> str:
        """Returns the text of a history with the loss at its end."""
        return "\n".join([self.told(scope, moves), ending(self.names(scope), loss)])

    def shrunk(self, history: Walk[ScopeT, StateT]) -> Loss[StateT]:
        """Returns the loss of a history with only the moves that it needs.

        Raises:
            ValueError: the history loses nothing.
        """
        if history.loss is None:
            raise ValueError(f"seed {history.seed} loses nothing")
        return shrink(self.game(history.scope), history.loss)


class TablePlayer(Player[Scope, State]):
    """Plays clusters with queues in `hbase:replication`."""

    def __init__(self, weakened: Mutant) -> None:
        self._weakened = weakened

    def history(self, seed: int) -> Walk[Scope, State]:
        """See `Player.history`."""
        return walk(seed, self._weakened)

    def game(self, scope: Scope) -> Game:
        """See `Player.game`."""
        return Game(Plan(scope, self._weakened.order, self._weakened.weakening))

    def names(self, scope: Scope) -> Names:
        """See `Player.names`."""
        return Names(scope)

    def told(self, scope: Scope, moves: Sequence[Move]) -> str:
        """See `Player.told`."""
        return "\n".join([beginning(scope), story(scope, moves)])


class ZkPlayer(Player[ZkScope, ZkState]):
    """Plays clusters with queues in ZooKeeper."""

    def __init__(self, weakened: ZkMutant) -> None:
        self._weakened = weakened

    def history(self, seed: int) -> Walk[ZkScope, ZkState]:
        """See `Player.history`."""
        return zk_walk(seed, self._weakened)

    def game(self, scope: ZkScope) -> ZkGame:
        """See `Player.game`."""
        return ZkGame(self._weakened.plan(scope))

    def names(self, scope: ZkScope) -> Names:
        """See `Player.names`."""
        return scope.names

    def told(self, scope: ZkScope, moves: Sequence[Move]) -> str:
        """See `Player.told`."""
        return "\n".join([zk_beginning(scope), zk_story(scope, moves)])


def player(name: str) -> Player[Any, Any]:
    """Returns the player of a mutant of either storage; `design` and `zk-design` are the unchanged designs.

    Raises:
        UsageError: there is no mutant of that name.
    """
    try:
        return ZkPlayer(zk_mutant(name)) if name.startswith("zk-") else TablePlayer(mutant(name))
    except KeyError:
        raise UsageError(
            f"no mutant {name!r}; docs/proof.md names them, and 'design' and 'zk-design' are the real things"
        ) from None
