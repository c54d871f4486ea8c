"""Asks the project's own rule about the readings of the model's capture, and compares it with the ground truth."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from jobs.demo.cluster.snapshots import healthy_snapshot, steps_at
from pipelines.capture.sources.saved_scans import complete_scan
from pipelines.common.errors import SnapshotError
from pipelines.decide.rule.cleaner_rule import HBaseVerdict, hbase_verdict
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.table_queue_storage import table_view
from pipelines.decide.rule.verdict import ArchivedFile, Reason
from pipelines.hbase.known_servers import KnownServers
from pipelines.hbase.replication_queues import QueueCell
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.capture_clocks import StepStamp, clock_fault
from pipelines.snapshot.model import MasterFlags, Membership, Retention, Snapshot, WalDirectory
from tests.models.capture import capture
from tests.models.capture.ruling import LISTED_AT, Ruling
from tests.models.capture.trust import distrust_reason
from tests.models.capture.world import UNLIMITED, Row

_STEPS = steps_at(LISTED_AT, 10)

Passes = tuple[tuple[QueueCell, ...], tuple[QueueCell, ...]]


class Seen(NamedTuple):
    """Everything that a capture has read except the listing, in the model's own numbers.

    `room` is the number of rows that saved scans have kept.
    """

    directories: int
    servers: capture.ServerLook
    crashing: capture.CrashLook
    master: int | None
    peers: int
    flags: capture.Flags
    queues_1: tuple[Row, ...]
    queues_2: tuple[Row, ...]
    servers_2: capture.ServerLook
    crashing_2: capture.CrashLook
    flags_2: capture.Flags
    master_2: int | None
    room: int = UNLIMITED


def _both(passes: Passes) -> Passes:
    return passes


def _whole(view: ClusterView) -> ClusterView:
    return view


def _seen(seen: Seen) -> Seen:
    return seen


@dataclass(frozen=True)
class Weakening:
    """The part that a mutant takes away from the rule; each piece is a step between the readings and the real rule.

    Attributes:
        seen: changes the readings.
        passes: changes the parsed cells of both queue passes.
        restless: returns why the capture was not quiet, in place of `restlessness`.
        view: changes the view on which the rule decides.
        hbase: whether HBase's own cleaner decides.
        counts: whether saved scans must end with their count of rows.
        clocks: whether one host's clock must have stamped every step.
    """

    seen: Callable[[Seen], Seen] = _seen
    passes: Callable[[Passes], Passes] = _both
    restless: Callable[[Snapshot, Passes], str | None] | None = None
    view: Callable[[ClusterView], ClusterView] = _whole
    hbase: bool = False
    counts: bool = True
    clocks: bool = True


NOTHING_TAKEN = Weakening()


@dataclass
class Judge(Ruling[Seen, Weakening]):
    """Applies the rule for queues in `hbase:replication`."""

    weakening: Weakening = NOTHING_TAKEN
    _FREED = Reason.REPLICATED

    def _of_hbase(self, file: ArchivedFile, view: ClusterView) -> HBaseVerdict:
        return hbase_verdict(file.name, view)

    def _seen_as(self, seen: Seen) -> ClusterView:
        """Returns the view that `distrust` and `cluster_view` make of the readings."""
        snapshot, passes = self.snapshot(seen)
        settings = ReconcileSettings()
        untrusted = self._refused(seen) or distrust_reason(snapshot, passes, settings.release)
        view = table_view(snapshot, passes, settings, untrusted, unparsable=False)
        if self.weakening.restless is not None:
            view = replace(view, restless=self.weakening.restless(snapshot, passes))
        return self.weakening.view(view)

    def snapshot(self, seen: Seen) -> tuple[Snapshot, Passes]:
        """Returns snapshot.json and both queue passes as the capture would have written them."""
        seen = self.weakening.seen(seen)
        names = self.names
        servers, servers_2 = self._servers(seen.servers), self._servers(seen.servers_2)
        crashing, crashing_2 = self._crashing(seen.crashing), self._crashing(seen.crashing_2)
        moved = frozenset() if self.names.scope.unasked else servers_2.moved_since(servers)
        first = Membership(
            self._master(seen.master),
            servers.online,
            crashing,
            tuple(WalDirectory(server, 1, LISTED_AT) for server in sorted(names.servers_of(seen.directories))),
        )
        second = Membership(
            self._master(seen.master_2),
            servers_2.online,
            crashing_2 | (moved - crashing),
        )
        snapshot = healthy_snapshot(
            "model",
            _STEPS,
            self._peers(seen.peers),
            first,
            second,
            flags=_flags(seen.flags),
            flags_2=_flags(seen.flags_2),
            retention=Retention(self.ttl_ms, 0, 0),
        )
        passes = (self._cells(self._kept(seen.queues_1, seen)), self._cells(self._kept(seen.queues_2, seen)))
        return snapshot, self.weakening.passes(passes)

    def _refused(self, seen: Seen) -> str | None:
        """Returns why the capture refuses saved inputs: a scan is not whole, or two clocks have stamped the steps.

        None = it does not.
        """
        late = self.names.scope.late
        if late and self.weakening.clocks:
            stamps = [StepStamp(step, "edge2" if step.step in late else "edge1") for step in _STEPS]
            fault = clock_fault(stamps)
            if fault is not None:
                return fault
        if seen.room == UNLIMITED or not self.weakening.counts:
            return None
        try:
            for rows in (seen.queues_1, seen.queues_2):
                self._read_saved(rows, seen)
        except SnapshotError as error:
            return str(error)
        return None

    def _kept(self, rows: tuple[Row, ...], seen: Seen) -> tuple[Row, ...]:
        """Returns the rows that a saved scan still has."""
        if seen.room == UNLIMITED:
            return rows
        return tuple(sorted(rows, key=lambda row: str(self.names.queue(row))))[: seen.room]

    def _read_saved(self, rows: tuple[Row, ...], seen: Seen) -> None:
        """Reads a saved scan as the capture does."""
        cells = [cell for row in self._kept(rows, seen) for cell in self.names.written(row)]
        text = [str(number) for number in range(len(cells))]
        if seen.room >= len(rows):
            text.append(f"{len(rows)} row(s)")
        for _ in complete_scan(enumerate(text, 1), "scan", lambda line, _: cells[int(line)], "scan again"):
            pass

    def _servers(self, look: capture.ServerLook) -> KnownServers:
        return KnownServers(self.names.servers_of(look.online), self.names.servers_of(look.dead))

    def _crashing(self, look: capture.CrashLook) -> frozenset[ServerName]:
        return self.names.servers_of(look.plain | look.hbck)

    def _cells(self, rows: tuple[Row, ...]) -> tuple[QueueCell, ...]:
        return tuple(cell for row in rows for cell in self.names.cells(row))

    def _master(self, number: int | None) -> str | None:
        return None if number is None else self.names.master(number)


def _flags(flags: capture.Flags) -> MasterFlags:
    return MasterFlags(True, flags.add_peer, flags.migration, flags.znodes)
