"""Asks the project's own rule about what a capture of the model saw, and compares with the ground truth."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from pipelines.domain.cleaner_rule import HBaseVerdict, hbase_verdict
from pipelines.domain.cluster_view import ClusterView, cluster_view
from pipelines.domain.crash_procedures import REMEMBERED_MS, Crashes
from pipelines.domain.replication_queues import QueueCell
from pipelines.domain.settings import Settings
from pipelines.domain.snapshot import (
    QUEUE_STORAGE_TABLE,
    Backup,
    Flags,
    Membership,
    Peer,
    Retention,
    Snapshot,
    Step,
    WalDirectory,
)
from pipelines.domain.trust import distrust
from pipelines.domain.verdict import ArchivedFile, Decision, Reason, Verdict, decide, deletable, held
from pipelines.simulate.adversary import capture
from pipelines.simulate.adversary.names import Names
from pipelines.simulate.adversary.world import Row
from pipelines.simulate.capture import steps_at

LISTED_AT = 1_000_000_000
"""Start of step `files`, ms; every WAL is older than its time to live, which is what an adversary would choose."""
_STEPS = steps_at(LISTED_AT, 10)
_MOST_KEPT = 50_000
_NO_BACKUP = Backup(enabled=False)

Passes = tuple[tuple[QueueCell, ...], tuple[QueueCell, ...]]


class Seen(NamedTuple):
    """Everything a capture has read but the listing, in the model's own numbers."""

    directories: int
    online: int
    crashing: capture.CrashLook
    master: int | None
    peers: int
    flags: capture.Flags
    queues_1: tuple[Row, ...]
    queues_2: tuple[Row, ...]
    online_2: int
    crashing_2: capture.CrashLook
    flags_2: capture.Flags
    master_2: int | None


def _both(passes: Passes) -> Passes:
    return passes


def _whole(view: ClusterView) -> ClusterView:
    return view


def _seen(seen: Seen) -> Seen:
    return seen


@dataclass(frozen=True)
class Weakening:
    """What a mutant takes away from the rule; each piece is a step between what was seen and the real rule.

    Attributes:
        seen: of what was read.
        passes: of the parsed cells of both queue passes.
        restless: says why the capture was not quiet, in the place of `restlessness`.
        view: of the view that the rule decides on.
        hbase: HBase's own cleaner decides.
    """

    seen: Callable[[Seen], Seen] = _seen
    passes: Callable[[Passes], Passes] = _both
    restless: Callable[[Snapshot, Passes], str | None] | None = None
    view: Callable[[ClusterView], ClusterView] = _whole
    hbase: bool = False


NOTHING_TAKEN = Weakening()


@dataclass
class Judge:
    """The rule, with a memory: a search asks the same question very often.

    Attributes:
        names: of the scope.
        weakening: what is taken away from the rule.
        ttl_ms: time to live of WALs in oldWALs.
        age_ms: of every listed WAL at the start of the listing.
    """

    names: Names
    weakening: Weakening = NOTHING_TAKEN
    ttl_ms: int = 0
    age_ms: int = 1

    def __post_init__(self) -> None:
        self._views: dict[Seen, ClusterView] = {}
        self._decisions: dict[tuple[Seen, tuple[int, int, int]], Decision] = {}

    def decide(self, seen: Seen, wal: tuple[int, int, int]) -> Decision:
        """The project's decision on one WAL that was listed in oldWALs."""
        key = (seen, wal)
        decision = self._decisions.get(key)
        if decision is None:
            decision = self._decisions[key] = self._decide(self.names.wal(*wal), self._view(seen))
        return decision

    def _view(self, seen: Seen) -> ClusterView:
        view = self._views.get(seen)
        if view is None:
            if len(self._views) > _MOST_KEPT:
                self._views.clear()
                self._decisions.clear()
            view = self._views[seen] = self.view(seen)
        return view

    def deletable(self, seen: Seen, wal: tuple[int, int, int]) -> bool:
        """Whether it may go."""
        return self.decide(seen, wal).verdict is Verdict.DELETABLE

    def hbase_deletes(self, seen: Seen, wal: tuple[int, int, int]) -> bool:
        """Whether HBase's own ReplicationLogCleaner would let one WAL go."""
        return hbase_verdict(self.names.wal(*wal), self._view(seen)) is HBaseVerdict.DELETE

    def _decide(self, name: str, view: ClusterView) -> Decision:
        if self.weakening.hbase:
            gone = hbase_verdict(name, view) is HBaseVerdict.DELETE
            return deletable(Reason.REPLICATED) if gone else held(Reason.PENDING)
        return decide(ArchivedFile(f"oldWALs/{name}", 1, LISTED_AT - self.age_ms), view)

    def view(self, seen: Seen) -> ClusterView:
        """The cluster as the rule sees it: `distrust` and `cluster_view` of what was read."""
        snapshot, passes = self.snapshot(seen)
        settings = Settings()
        untrusted = distrust(snapshot, passes, settings.release)
        view = cluster_view(snapshot, passes, settings, untrusted, unparsable=False)
        if self.weakening.restless is not None:
            view = replace(view, restless=self.weakening.restless(snapshot, passes))
        return self.weakening.view(view)

    def snapshot(self, seen: Seen) -> tuple[Snapshot, Passes]:
        """snapshot.json and both queue passes, as capture would have written them."""
        seen = self.weakening.seen(seen)
        names = self.names
        crashes = self._crashes(seen.crashing)
        first = Membership(
            self._master(seen.master),
            names.servers_of(seen.online),
            crashes.unfinished,
            tuple(WalDirectory(server, 1, LISTED_AT) for server in sorted(names.servers_of(seen.directories))),
        )
        second = Membership(
            self._master(seen.master_2),
            names.servers_of(seen.online_2),
            self._crashes(seen.crashing_2).since(crashes),
        )
        snapshot = Snapshot(
            cluster="model",
            cluster_id=None,
            hbase_version=None,
            queue_storage=QUEUE_STORAGE_TABLE,
            wal_root="hdfs://model/hbase",
            clock_host="edge1.example.org",
            steps=_steps(seen),
            contents={},
            peers=tuple(Peer(peer, "ENABLED") for peer in names.peers_of(seen.peers)),
            membership=first,
            membership_2=second,
            flags=_flags(seen.flags),
            flags_2=_flags(seen.flags_2),
            retention=Retention(self.ttl_ms, 0, 0),
            log_cleaner_plugins=(),
            backup=_NO_BACKUP,
            extras=(),
        )
        passes = (self._cells(seen.queues_1), self._cells(seen.queues_2))
        return snapshot, self.weakening.passes(passes)

    def _crashes(self, look: capture.CrashLook) -> Crashes:
        """The same in the product's form; a life has one crash procedure, so its number need not tell them apart."""
        unfinished, ended = look.plain | look.hbck, look.ended | look.ended_hbck
        return Crashes(
            self.names.servers_of(unfinished), frozenset(("1", server) for server in self.names.servers_of(ended))
        )

    def _cells(self, rows: tuple[Row, ...]) -> tuple[QueueCell, ...]:
        return tuple(cell for row in rows for cell in self.names.cells(row))

    def _master(self, number: int | None) -> str | None:
        return None if number is None else self.names.master(number)


def _steps(seen: Seen) -> tuple[Step, ...]:
    """As if everything took milliseconds but the wait for the second look, in which the master may have forgotten."""
    waited = REMEMBERED_MS * (seen.crashing_2.quarters - seen.crashing.quarters)
    *before, last = _STEPS
    return (*before, Step(last.step, last.started_at + waited, last.finished_at + waited))


def _flags(flags: capture.Flags) -> Flags:
    return Flags(True, flags.add_peer, flags.migration, flags.znodes)
