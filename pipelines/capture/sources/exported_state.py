"""Reads what the active master reported to the export script, and the directories that the script listed."""

import logging

from pipelines.capture.ports import ClusterSettings
from pipelines.capture.sources.export_parts import ExportDirectory, ExportPart
from pipelines.capture.sources.exported_cells import scanned_cells, scanned_versions
from pipelines.capture.sources.hbase_neighbours import barriers_of, counted_sessions
from pipelines.capture.sources.ls_text_files import LsText
from pipelines.common.conditions import Condition
from pipelines.common.errors import MalformedError, SnapshotError, UsageError
from pipelines.common.json_object import JsonObject
from pipelines.hbase.known_servers import KnownServers
from pipelines.hbase.peer_rules import parse_rule
from pipelines.hbase.peers import PEER_STATES, Peer
from pipelines.hbase.procedures import crashing_servers, parse_procedures
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.backup import BackupSession
from pipelines.snapshot.barriers import RegionBarriers
from pipelines.snapshot.capture_clocks import StepStamp
from pipelines.snapshot.model import Backup, MasterFlags, Retention, WalDirectory

logger = logging.getLogger(__name__)


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
        return LsText(self._root, part.stamp().zone, "wal_directories.txt").directories(part.lines())

    def settings(self) -> ClusterSettings:
        """See `StateSource.settings`."""
        form = self._export.part("settings").form()
        retention = form.part("retention")
        plugins = [name.strip() for name in form.any_text("log_cleaner_plugins").split(",")]
        return ClusterSettings(
            cluster_id=form.optional_text("cluster_id"),
            hbase_version=form.optional_text("hbase_version"),
            retention=Retention(
                wal_ttl_ms=retention.count("wal_ttl_ms"),
                procedure_wal_ttl_ms=retention.count("procedure_wal_ttl_ms"),
                master_local_wal_ttl_ms=retention.count("master_local_wal_ttl_ms"),
            ),
            log_cleaner_plugins=tuple(dict.fromkeys(name for name in plugins if name)),
            backup=self._backup(form),
        )

    @staticmethod
    def _backup(form: JsonObject) -> Backup | None:
        """Returns the value of `hbase.backup.enable` in the export.

        An older script wrote false also if it was not set.
        """
        enabled, stated = form.flag("backup_enabled"), form.optional_flag("backup_stated")
        return Backup(enabled) if enabled or stated else None

    def active_master(self, step: str) -> str:
        """See `StateSource.active_master`. The script asks the master in the same way as `hbase_admin`."""
        return str(_server(self._export.part(step).form().text("active_master"), step))

    def servers(self, step: str) -> KnownServers:
        """See `StateSource.servers`."""
        form = self._export.part(step).form()
        dead, online = form.optional_texts("dead"), form.texts("servers")
        if dead is None:
            raise UsageError(
                f"{step}.txt has no list of dead servers: an older script wrote it; export again with the one of this "
                "version (conf/export)"
            )
        return KnownServers(
            online=frozenset(_server(name, step) for name in online),
            dead=frozenset(_server(name, step) for name in dead),
        )

    def crashing(self, step: str) -> frozenset[ServerName]:
        """See `StateSource.crashing`."""
        form = self._export.part(step).form()
        try:
            return crashing_servers(parse_procedures(form.text("procedures")))
        except MalformedError as error:
            raise SnapshotError(Condition.EXPORT_DAMAGED, f"{step}.txt: {error}; export again") from None

    def peers(self) -> tuple[Peer, ...]:
        """See `StateSource.peers`."""
        return tuple(map(_peer, self._export.part("peers").form().parts("peers")))

    def has_backup_table(self) -> bool | None:
        """See `PeerSource.has_backup_table`. Returns None if an older script wrote the export."""
        part = self._export.part("peers")
        there = part.form().optional_flag("backup_table")
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
        flags = self._export.part(step).form().part("flags")
        return MasterFlags(
            queue_table_exists=flags.optional_flag("queue_table_exists"),
            add_peer_running=flags.optional_flag("add_peer_running"),
            migration_pending=flags.optional_flag("migration_pending"),
            zk_queue_data=flags.optional_flag("zk_queue_data"),
        )


def _peer(form: JsonObject) -> Peer:
    config, rule = form.optional_part("config"), form.optional_part("rule")
    return Peer(
        peer_id=form.text("peer_id"),
        state=form.one_of("state", PEER_STATES),
        cluster_key=form.optional_text("cluster_key"),
        endpoint=form.optional_text("endpoint"),
        serial=form.optional_flag("serial"),
        replicate_all=form.optional_flag("replicate_all"),
        sync_replication_state=form.optional_text("sync_replication_state"),
        remote_wal_dir=form.optional_text("remote_wal_dir"),
        config=None if config is None else {key: config.any_text(key) for key in config.names()},
        rule=None if rule is None else parse_rule(rule),
    )


def _server(name: str, step: str) -> ServerName:
    try:
        return ServerName.parse(name)
    except MalformedError as error:
        raise UsageError(f"{step}.txt: {error}") from None
