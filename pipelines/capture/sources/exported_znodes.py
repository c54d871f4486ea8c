"""Reads queues, peers and settings that the export script saved where HBase keeps its queues in ZooKeeper."""

from collections.abc import Sequence
from dataclasses import replace

from pipelines.capture.ports import ClusterSettings
from pipelines.capture.sources.export_parts import ExportDirectory, ExportPart
from pipelines.capture.sources.exported_state import SettingsForm, settings_of
from pipelines.capture.sources.saved_scans import EXPORT_AGAIN, complete_scan, parsed_line
from pipelines.common.conditions import Condition
from pipelines.common.errors import MalformedError, SnapshotError, UsageError
from pipelines.common.forms import Base64, Many, OpenForm, Text
from pipelines.hbase.peers import Peer
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.tree import HFILE_REFS, PEERS, QUEUES, REGIONS, Znode
from pipelines.hbase.zookeeper.values import SYNC_STATE, parse_cluster_id, parse_peers
from pipelines.snapshot.capture_clocks import StepStamp
from pipelines.snapshot.model import QUEUE_STORAGE_ZOOKEEPER
from pipelines.snapshot.queue_lines import ZNODE


class _Settings(SettingsForm):
    replication: Text
    hbaseid: Base64
    backup_table: bool | None = None


class _Online(OpenForm):
    servers: Many[str] | None


class ExportedZnodes:
    """Reads such an export as `ZnodeSource` and `PeerSource`: what `ZooKeeperQueues` reads live, in the same order."""

    def __init__(self, export: ExportDirectory) -> None:
        self._export = export

    def stamp(self, step: str) -> StepStamp:
        """See `CaptureSource.stamp`."""
        return self._export.part(step).stamp().taken

    def settings(self) -> ClusterSettings:
        """See `PeerSource.settings`. The version of HBase stays unknown."""
        form = self._settings()
        return replace(settings_of(form), cluster_id=parse_cluster_id(form.hbaseid))

    def cluster_id(self) -> str | None:
        """See `ZnodeSource.cluster_id`."""
        return parse_cluster_id(self._settings().hbaseid)

    def online(self, step: str) -> frozenset[ServerName] | None:
        """See `ZnodeSource.online`."""
        part = self._export.part(step)
        found = part.value(_Online).servers
        try:
            return None if found is None else frozenset(map(ServerName.parse, found))
        except MalformedError as error:
            raise UsageError(f"{part.name}: {error}") from None

    def znodes(self, step: str) -> Sequence[Znode]:
        """See `ZnodeSource.znodes`."""
        return self._znodes(self._export.part(step), (QUEUES, HFILE_REFS, REGIONS))

    def peers(self) -> tuple[Peer, ...]:
        """See `PeerSource.peers`. A mark that HBase 3 wrote while the queues were saved counts, too.

        Raises:
            SnapshotError: the marks were read before the queues.
        """
        first, later = self._export.part("peers"), self._export.part("peers-2")
        if later.stamp().step.started_at < self._export.part("queues-2").stamp().step.finished_at:
            raise SnapshotError(
                Condition.SNAPSHOT_OUT_OF_ORDER, f"{later.name}: it was not read after the queues; {EXPORT_AGAIN}"
            )
        marks = {one.path: one.data for one in self._znodes(later, (PEERS,)) if one.path.endswith(f"/{SYNC_STATE}")}
        found = marks | {one.path: one.data for one in self._znodes(first, (PEERS,))}
        try:
            return parse_peers(f"{self._settings().replication}/{PEERS}", found)
        except MalformedError as error:
            raise UsageError(f"{first.name}: {error}") from None

    def has_backup_table(self) -> bool | None:
        """See `PeerSource.has_backup_table`. The script looks for the state of the table, after the queues."""
        return self._settings().backup_table

    def backups(self) -> None:
        """See `PeerSource.backups`. Returns None, because ZooKeeper does not contain them."""

    def barriers(self) -> None:
        """See `PeerSource.barriers`. Returns None, because ZooKeeper does not contain them."""

    def _settings(self) -> _Settings:
        part = self._export.part("settings")
        if part.value(SettingsForm).queue_storage != QUEUE_STORAGE_ZOOKEEPER:
            raise UsageError(
                f"{part.name}: this export has no queues of ZooKeeper: run walsafe-export.sh WAL_ROOT OUT_DIR zookeeper"
            )
        return part.value(_Settings)

    def _znodes(self, part: ExportPart, kinds: Sequence[str]) -> list[Znode]:
        order = _ReadingOrder(self._settings().replication, kinds)
        return list(complete_scan(part.lines(), part.name, order.znode, EXPORT_AGAIN, noun="znode", row_of=None))


class _ReadingOrder:
    """Parses lines, and refuses a znode that is not in the order in which the script reads.

    The order is that of `ZooKeeperQueues.znodes`: it shows what moved meanwhile, so a text that somebody sorted proves
    nothing.
    """

    def __init__(self, base: str, kinds: Sequence[str]) -> None:
        self._base = base
        self._kinds = kinds
        self._servers: set[str] = set()
        self._began = False
        self._last: tuple[int, tuple[str, ...]] = (-1, ())

    def znode(self, line: str, where: str) -> Znode:
        """Parses the next line.

        Raises:
            UsageError: the line is not a znode.
            SnapshotError: it may not be here.
        """
        znode = parsed_line(ZNODE, line, where, '{"path":…,"data":"<base64>","cversion":n}')
        place = self._place(znode.path)
        if place is None or place <= self._last:
            raise SnapshotError(
                Condition.EXPORT_DAMAGED,
                f"{where}: znode {znode.path!r} is not where the script would write it; {EXPORT_AGAIN}",
            )
        self._last = place
        return znode

    def _place(self, path: str) -> tuple[int, tuple[str, ...]] | None:
        """Returns what grows from line to line; None = the znode belongs to no such text."""
        above, _, below = path.partition(f"{self._base}/")
        kind, *names = below.split("/")
        if above or kind not in self._kinds:
            return None
        if kind != QUEUES:
            return (4 + self._kinds.index(kind), tuple(names))
        if not names:  # at the beginning, and behind all servers
            place, self._began = 3 if self._began else 0, True
            return (place, ())
        if not self._began:
            return None
        again = len(names) == 1 and names[0] in self._servers
        self._servers.add(names[0])
        return (2 if again else 1, tuple(names))
