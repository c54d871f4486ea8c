"""Asks the rule for a search, for either queue storage; it remembers answers, and weakens the rule for a mutant."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

from pipelines.decide.rule.cleaner_rule import HBaseVerdict
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.verdict import ArchivedFile, Decision, Reason, Verdict, decide, deletable, held
from pipelines.hbase.peers import Peer
from tests.models.capture.names import Names
from tests.models.capture.turns import Wal

LISTED_AT = 1_000_000_000
"""Start of step `files`, ms; every WAL is older than its time to live, which is what an adversary would choose."""
_MOST_KEPT = 50_000


class Weakens(Protocol):
    """The part that a mutant takes away from the rule."""

    @property
    def hbase(self) -> bool:
        """Returns whether HBase's own cleaner decides."""
        ...


SeenT = TypeVar("SeenT", bound=Hashable)
WeakensT = TypeVar("WeakensT", bound=Weakens)


@dataclass
class Ruling(ABC, Generic[SeenT, WeakensT]):
    """Asks the rule, and remembers the answers, because a search asks the same question very often.

    Attributes:
        names: the names of the scope.
        weakening: what is taken away from the rule.
        ttl_ms: the time to live of WALs in oldWALs.
        age_ms: the age of every listed WAL at the start of the listing.
    """

    names: Names
    weakening: WeakensT
    ttl_ms: int = 0
    age_ms: int = 1
    _FREED: ClassVar[Reason]
    """Why a WAL goes where HBase's cleaner decides."""

    def __post_init__(self) -> None:
        self._views: dict[SeenT, ClusterView] = {}
        self._decisions: dict[tuple[SeenT, Wal], Decision] = {}

    def decide(self, seen: SeenT, wal: Wal) -> Decision:
        """Returns the project's decision on one WAL that was listed in oldWALs."""
        key = (seen, wal)
        decision = self._decisions.get(key)
        if decision is None:
            # the view first: it may empty the memory
            view = self.view(seen)
            decision = self._decisions[key] = self._decide(self.file(seen, wal), view)
        return decision

    def deletable(self, seen: SeenT, wal: Wal) -> bool:
        """Returns whether a listed WAL may be deleted."""
        return self.decide(seen, wal).verdict is Verdict.DELETABLE

    def lets_go(self, seen: SeenT, wals: Iterable[Wal]) -> tuple[Wal, str] | None:
        """Returns the first of some listed WALs that may be deleted, and the reason; None = none of them may."""
        for wal in wals:
            if self.deletable(seen, wal):
                return wal, self.decide(seen, wal).reason.value
        return None

    def hbase_deletes(self, seen: SeenT, wal: Wal) -> bool:
        """Returns whether HBase's own cleaner would let a WAL go after the same readings as the capture."""
        return self._of_hbase(self.file(seen, wal), self.view(seen)) is HBaseVerdict.DELETE

    def view(self, seen: SeenT) -> ClusterView:
        """Returns the view of the cluster on which the rule decides."""
        view = self._views.get(seen)
        if view is None:
            if len(self._views) > _MOST_KEPT:
                self._views.clear()
                self._decisions.clear()
            view = self._views[seen] = self._seen_as(seen)
        return view

    def file(self, seen: SeenT, wal: Wal) -> ArchivedFile:  # noqa: ARG002 - a storage may tell by it when it was archived
        """Returns a listed WAL as the listing shows it."""
        return ArchivedFile(f"oldWALs/{self.names.wal(*wal)}", 1, LISTED_AT - self.age_ms)

    def _decide(self, file: ArchivedFile, view: ClusterView) -> Decision:
        if self.weakening.hbase:
            goes = self._of_hbase(file, view) is HBaseVerdict.DELETE and not self._hbase_reads_again(view)
            return deletable(self._FREED) if goes else held(Reason.PENDING)
        return decide(file, view)

    def _peers(self, bits: int) -> tuple[Peer, ...]:
        return tuple(Peer(peer, "ENABLED") for peer in self.names.peers_of(bits))

    def _hbase_reads_again(self, view: ClusterView) -> bool:  # noqa: ARG002 - most of its cleaners read once
        """Returns whether HBase's cleaner would have read again instead of deciding."""
        return False

    @abstractmethod
    def _seen_as(self, seen: SeenT) -> ClusterView:
        """Returns the view that the rule, weakened or not, makes of the readings."""

    @abstractmethod
    def _of_hbase(self, file: ArchivedFile, view: ClusterView) -> HBaseVerdict:
        """Returns the answer of the ReplicationLogCleaner for this queue storage."""
