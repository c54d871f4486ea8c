"""Asks the project's own rule about what a capture of the model saw, and compares with the ground truth."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from pipelines.domain.cleaner_rule import HBaseVerdict, hbase_verdict
from pipelines.domain.cluster_view import ClusterView, cluster_view
from pipelines.domain.crash_procedures import REMEMBERED_MS, Crashes
from pipelines.domain.replication_queues import QueueCell
from pipelines.domain.settings import Settings
from pipelines.domain.snapshot import Flags, Membership, Retention, Snapshot, Step, WalDirectory
from pipelines.domain.trust import distrust
from pipelines.domain.verdict import ArchivedFile, Reason
from pipelines.simulate.adversary import capture
from pipelines.simulate.adversary.ruling import LISTED_AT, Ruling
from pipelines.simulate.adversary.world import Row
from pipelines.simulate.snapshots import quiet_snapshot, steps_at

_STEPS = steps_at(LISTED_AT, 10)

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
class Judge(Ruling[Seen, Weakening]):
    """The rule for queues in `hbase:replication`."""

    weakening: Weakening = NOTHING_TAKEN
    _FREED = Reason.REPLICATED

    def _of_hbase(self, file: ArchivedFile, view: ClusterView) -> HBaseVerdict:
        return hbase_verdict(file.name, view)

    def _seen_as(self, seen: Seen) -> ClusterView:
        """`distrust` and `cluster_view` of what was read."""
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
        snapshot = quiet_snapshot(
            "model",
            _steps(seen),
            self._peers(seen.peers),
            first,
            second,
            flags=_flags(seen.flags),
            flags_2=_flags(seen.flags_2),
            retention=Retention(self.ttl_ms, 0, 0),
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
