"""Reads what the active master reported to the export script, and the directories that the script listed."""

import logging
from typing import Annotated

from pydantic import ConfigDict

from pipelines.capture.ports import ClusterSettings
from pipelines.capture.sources.export_parts import ExportDirectory, ExportPart
from pipelines.capture.sources.hbase_neighbours import barriers_of, counted_sessions
from pipelines.capture.sources.hbase_site import plugin_names
from pipelines.capture.sources.ls_text_files import LsText
from pipelines.capture.sources.saved_scans import scanned_cells, scanned_versions
from pipelines.common.conditions import Condition
from pipelines.common.errors import MalformedError, SnapshotError, UsageError
from pipelines.common.forms import Many, OpenForm, Text, WrittenAs
from pipelines.hbase.known_servers import KnownServers
from pipelines.hbase.peers import Peer
from pipelines.hbase.procedures import crashing_servers, parse_procedures
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.backup import BackupSession
from pipelines.snapshot.barriers import RegionBarriers
from pipelines.snapshot.capture_clocks import StepStamp
from pipelines.snapshot.model import QUEUE_STORAGE_ZOOKEEPER, Backup, MasterFlags, Retention, WalDirectory
from pipelines.snapshot.peer_forms import ExportedPeer
from pipelines.snapshot.snapshot_json import FlagsForm, RetentionForm

logger = logging.getLogger(__name__)

_OLDER_SCRIPT = "an older script wrote it; export again with the one of this version (conf/export)"


class _Retention(RetentionForm):
    model_config = ConfigDict(extra="ignore")


class SettingsForm(OpenForm):
    """What `hbase-site.xml` and the cluster say; an older script wrote no `queue_storage`, and saved the table."""

    queue_storage: Text | None = None
    cluster_id: Text | None = None
    hbase_version: Text | None = None
    retention: Annotated[Retention, WrittenAs(_Retention)]
    log_cleaner_plugins: str
    backup_enabled: bool
    backup_stated: bool | None = None


class _Master(OpenForm):
    """The active master; an older script did not say that it asked for the name before the proof."""

    active_master: Text
    named_first: bool | None = None


class ServersForm(OpenForm):
    """The servers that the master knows; an older script wrote no dead ones."""

    servers: Many[str]
    dead: Many[str] | None = None


class _Procedures(OpenForm):
    procedures: Text


class _Peers(OpenForm):
    peers: Many[ExportedPeer]


class _BackupTable(OpenForm):
    backup_table: bool | None = None


class _Flags(FlagsForm):
    model_config = ConfigDict(extra="ignore")


class _OfFlags(OpenForm):
    flags: Annotated[MasterFlags, WrittenAs(_Flags)]


def settings_of(form: SettingsForm) -> ClusterSettings:
    """Returns the settings; an older script wrote `backup_enabled: false` also where HBase's key was not set."""
    return ClusterSettings(
        cluster_id=form.cluster_id,
        hbase_version=form.hbase_version,
        retention=form.retention,
        log_cleaner_plugins=plugin_names(form.log_cleaner_plugins),
        backup=Backup(form.backup_enabled) if form.backup_enabled or form.backup_stated else None,
    )


class ExportedState:
    """Reads an export as `StateSource` and `WalDirectorySource`.

    Args:
        export: the parts of the export.
        wal_root: the full URI that was given to the script.
    """

    def __init__(self, export: ExportDirectory, wal_root: str) -> None:
        self._export = export
        self._root = wal_root

    def stamp(self, step: str) -> StepStamp:
        """See `CaptureSource.stamp`."""
        return self._export.part(step).stamp().taken

    def wal_directories(self) -> tuple[WalDirectory, ...]:
        """See `WalDirectorySource.wal_directories`."""
        part = self._export.part("wal_directories")
        said = part.stamp()
        text = LsText(self._root, said.zone, "wal_directories.txt", said.taken.step.finished_at)
        return text.directories(part.lines())

    def settings(self) -> ClusterSettings:
        """See `StateSource.settings`."""
        part = self._export.part("settings")
        form = part.value(SettingsForm)
        if form.queue_storage == QUEUE_STORAGE_ZOOKEEPER:
            raise UsageError(f"{part.name}: this export has queues of ZooKeeper: capture.queues.storage must say so")
        return settings_of(form)

    def active_master(self, step: str) -> str:
        """See `StateSource.active_master`. The script asks the master as `hbase_admin` does, and must say so."""
        found = self._export.part(step).value(_Master)
        if not found.named_first:
            raise UsageError(f"{step}.txt does not say that the master was named before its proof: {_OLDER_SCRIPT}")
        return str(_server(found.active_master, step))

    def servers(self, step: str) -> KnownServers:
        """See `StateSource.servers`."""
        found = self._export.part(step).value(ServersForm)
        if found.dead is None:
            raise UsageError(f"{step}.txt has no list of dead servers: {_OLDER_SCRIPT}")
        return KnownServers(
            online=frozenset(_server(name, step) for name in found.servers),
            dead=frozenset(_server(name, step) for name in found.dead),
        )

    def crashing(self, step: str) -> frozenset[ServerName]:
        """See `StateSource.crashing`."""
        procedures = self._export.part(step).value(_Procedures).procedures
        try:
            return crashing_servers(parse_procedures(procedures))
        except MalformedError as error:
            raise SnapshotError(Condition.EXPORT_DAMAGED, f"{step}.txt: {error}; export again") from None

    def peers(self) -> tuple[Peer, ...]:
        """See `StateSource.peers`."""
        return self._export.part("peers").value(_Peers).peers

    def has_backup_table(self) -> bool | None:
        """See `PeerSource.has_backup_table`. Returns None if an older script wrote the export."""
        part = self._export.part("peers")
        there = part.value(_BackupTable).backup_table
        if there is None:
            logger.warning(
                "%s does not say whether backup:system exists, so HBase backup may be on and every WAL is held: export "
                "again with the script of this version (conf/export), or state backup.enabled: false",
                part.name,
            )
        return there

    def backups(self) -> tuple[BackupSession, ...] | None:
        """See `PeerSource.backups`. Returns None if the script did not find the table, or is an older one."""
        part = self._beside("backup")
        return None if part is None else counted_sessions(scanned_cells(part.lines(), "backup.txt"), part.name)

    def barriers(self) -> tuple[RegionBarriers, ...] | None:
        """See `PeerSource.barriers`. Returns None if an older script wrote the export."""
        part = self._beside("barriers")
        return None if part is None else barriers_of(scanned_versions(part.lines(), "barriers.txt"))

    def _beside(self, name: str) -> ExportPart | None:
        """Returns a part that only some exports have, and that must be read after the peers.

        None = there is no such part.

        Raises:
            SnapshotError: the part was read before the peers.
        """
        part = self._export.optional_part(name)
        if part is not None and part.stamp().step.started_at < self._export.part("peers").stamp().step.finished_at:
            raise SnapshotError(
                Condition.SNAPSHOT_OUT_OF_ORDER, f"{part.name}: it was not read after the peers; export again"
            )
        return part

    def flags(self, step: str) -> MasterFlags:
        """See `StateSource.flags`."""
        return self._export.part(step).value(_OfFlags).flags


def _server(name: str, step: str) -> ServerName:
    try:
        return ServerName.parse(name)
    except MalformedError as error:
        raise UsageError(f"{step}.txt: {error}") from None
