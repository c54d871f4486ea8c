"""Reads the parts of a snapshot that only some clusters have: backup sessions, barriers of serial peers, free space.

Free space may be read at any time. The other two belong to step `peers`. Backups must not be read before the files: a
backup that begins later needs only WALs that are not in the listing, like a peer that is added later. Barriers are read
before the queues, so that data pushed meanwhile counts as pushed (docs/safety.md).
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pipelines.capture.ports import ClusterSettings, PeerSource, SnapshotSink
from pipelines.capture.secrets import without_user_info
from pipelines.hbase.peers import Peer
from pipelines.snapshot.backup import BackupSession, backup_of, session_document
from pipelines.snapshot.barriers import RegionBarriers, barriers_document
from pipelines.snapshot.extras import BACKUP, BARRIERS, SPACE, extra_file
from pipelines.snapshot.model import Backup, Snapshot

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The parts that were read; None = the cluster does not have the part, or it is unknown.

    Attributes:
        backup: whether HBase backup is on; None = unknown, and reconcile holds every WAL.
    """

    backups: tuple[BackupSession, ...] | None = None
    backup: Backup | None = None
    barriers: tuple[RegionBarriers, ...] | None = None


def read_neighbours(state: PeerSource, settings: ClusterSettings, peers: Sequence[Peer]) -> Neighbours:
    """Reads only the parts that the cluster uses."""
    backup = settings.backup
    if backup is None:
        backup = _unless_there(state.has_backup_table())
    backups = state.backups() if backup is not None and backup.enabled else None
    return Neighbours(
        backup=backup,
        backups=None if backups is None else tuple(replace(one, root=without_user_info(one.root)) for one in backups),
        barriers=state.barriers() if any(peer.serial for peer in peers) else None,
    )


def _unless_there(table: bool | None) -> Backup | None:
    """Returns what an unset `hbase.backup.enable` means: "off" only if HBase backup has never created its table."""
    if table is False:
        return Backup(enabled=False)
    if table:
        logger.warning(
            "hbase.backup.enable is not set, yet backup:system exists: HBase backup may be on, so every WAL is held. "
            "Give the master's own hbase-site.xml (capture.hbase.site), or state backup.enabled: false for reconcile"
        )
    return None


def with_neighbours(snapshot: Snapshot, found: Neighbours, sink: SnapshotSink) -> Snapshot:
    """Writes the extras, and returns the snapshot with them."""
    snapshot = replace(snapshot, backup=found.backup)
    if found.backups is not None:
        sink.documents(extra_file(BACKUP), map(session_document, found.backups))
        boundaries = backup_of(found.backups).boundaries
        snapshot = replace(snapshot, backup=Backup(True, boundaries), extras=(*snapshot.extras, BACKUP))
    if found.barriers is not None:
        sink.documents(extra_file(BARRIERS), map(barriers_document, found.barriers))
        snapshot = replace(snapshot, extras=(*snapshot.extras, BARRIERS))
    return snapshot


def with_space(snapshot: Snapshot, space: Callable[[], int | None] | None, sink: SnapshotSink) -> Snapshot:
    """Asks how much the file system has free, writes the extra, and returns the snapshot with it."""
    free = None if space is None else space()
    if free is None:
        return snapshot
    sink.documents(extra_file(SPACE), [{"free_bytes": free}])
    return replace(snapshot, extras=(*snapshot.extras, SPACE))
