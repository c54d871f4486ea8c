"""HBase backup: which WALs the next incremental backup still needs (`BackupLogCleaner`, `BackupBoundaries`).

A completed backup has rolled the WAL of every server. For each server, as `host:port`, it stores the timestamp of that
roll; a backup already contains older WALs. Tables of one backup root roll at different times, so the smallest timestamp
counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.common.errors import MalformedError
from pipelines.common.instants import HOUR_MS, format_instant, is_instant
from pipelines.hbase.protobuf_wire import signed_int64
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import MAX_LONG
from pipelines.hbase.zookeeper.wire import Value, fields_by_number, last_number, last_text
from pipelines.snapshot.model import Backup

BACKUP_TABLE = "backup:system"
"""`hbase.backup.system.table.name`."""
SESSION_FAMILY, SESSION_ROW = b"session", b"session:"
RUNNING, COMPLETE = "RUNNING", "COMPLETE"
BUFFER_MS = HOUR_MS
"""Default of `hbase.backup.log.cleaner.timestamp.buffer.ms`: the allowed difference between the clocks of servers."""
_STATES = (RUNNING, COMPLETE, "FAILED", "CANCELLED")
KINDS = ("FULL", "INCREMENTAL")
_ID, _KIND, _ROOT, _STATE, _STARTED, _COMPLETED, _TABLES = 1, 2, 3, 4, 8, 9, 13
_KEY, _MAPPED = 1, 2


@dataclass(frozen=True, slots=True)
class BackupSession:
    """One backup, from a `BackupInfo` in `backup:system`.

    Attributes:
        root: the directory of its images; each user of backups has one root.
        kind: FULL or INCREMENTAL.
        state: RUNNING, COMPLETE, FAILED or CANCELLED.
        started_at: ms since the epoch.
        completed_at: ms since the epoch; None = not yet.
        tables: for each table in the root at that time, the largest roll timestamp of any server, ms: the time of the
            table's newest backup. (The smallest could be that of a server that has been gone for years.)
        boundaries: for each `host:port` (lower case), the smallest roll timestamp of any table, ms.
    """

    backup_id: str
    root: str
    kind: str
    state: str
    started_at: int
    completed_at: int | None
    tables: Mapping[str, int]
    boundaries: Mapping[str, int]


def sessions_of(cells: Iterable[Cell]) -> tuple[BackupSession, ...]:
    """Returns the sessions of a scan of `backup:system` in scan order; it skips the cells of other rows.

    Raises:
        MalformedError: a session that HBase could not read either, or whose times are out of range.
    """
    return tuple(_session(cell) for cell in cells if cell.family == SESSION_FAMILY and cell.row.startswith(SESSION_ROW))


def boundary_sessions(sessions: Iterable[BackupSession]) -> tuple[BackupSession, ...]:
    """Returns the sessions that define the boundaries: the newest complete session of each root, and all running ones.

    If two complete sessions of a root began in the same millisecond, both count.
    """
    known = tuple(sessions)
    newest: dict[str, int] = {}
    for one in known:
        if one.state == COMPLETE:
            newest[one.root] = max(newest.get(one.root, one.started_at), one.started_at)
    return tuple(
        one for one in known if one.state == RUNNING or (one.state == COMPLETE and one.started_at == newest[one.root])
    )


def backup_of(sessions: Sequence[BackupSession]) -> Backup:
    """Returns which WALs backup still needs: for each server the smallest limit that any session gives.

    - A complete session gives the server's boundary. For a server that its root does not know, it gives one hour before
      the smallest boundary of the root, because the next incremental backup reads that server's WALs from its start
      code on (`IncrementalBackupManager.getLogFilesForNewBackup`). HBase 2.6.1's cleaner deletes such WALs if another
      root knows the server, or if none does; later versions have a default boundary like this one (`BackupBoundaries`).
    - A running session gives one hour before its start.

    If no session counts, backup needs no WAL of the listing: a backup that begins after the listing starts with WALs
    that are not in it (docs/safety.md). A complete session without boundaries says nothing about its root; then
    everything is held.
    """
    if any(one.state == COMPLETE and not one.boundaries for one in sessions):
        return Backup(enabled=True)
    others = [(one, _oldest(one) - BUFFER_MS) for one in sessions]
    servers = sorted({address for one in sessions for address in one.boundaries})
    return Backup(
        enabled=True,
        boundaries={address: min(_limit(one, address, elsewhere) for one, elsewhere in others) for address in servers},
        others=min((elsewhere for _, elsewhere in others), default=MAX_LONG),
    )


def _oldest(session: BackupSession) -> int:
    return session.started_at if session.state == RUNNING else min(session.boundaries.values())


def _limit(session: BackupSession, address: str, elsewhere: int) -> int:
    return elsewhere if session.state == RUNNING else session.boundaries.get(address, elsewhere)


def session_document(session: BackupSession) -> dict[str, object]:
    """Returns one line of `extras/backup.jsonl`."""
    return {
        "backup_id": session.backup_id,
        "root": session.root,
        "kind": session.kind,
        "state": session.state,
        "started_at": format_instant(session.started_at),
        "completed_at": None if session.completed_at is None else format_instant(session.completed_at),
        "tables": dict(sorted(session.tables.items())),
        "boundaries": dict(sorted(session.boundaries.items())),
    }


def smallest_by_key(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Returns the smallest number of each key."""
    found: dict[str, int] = {}
    for key, value in pairs:
        found[key] = min(found.get(key, value), value)
    return found


def of_real_times(session: BackupSession) -> BackupSession:
    """Returns the session if all its times are valid instants; a roll timestamp far in the future would free every WAL.

    `tables` contains the largest roll timestamps and `boundaries` the smallest, so this checks them all.

    Raises:
        MalformedError: one of them is not.
    """
    started, completed = session.started_at, session.completed_at or 0
    for time in (started, completed, *session.tables.values(), *session.boundaries.values()):
        if not is_instant(time):
            raise MalformedError(f"backup {session.backup_id} tells of no time that ever was: {time} ms")
    return session


def _session(cell: Cell) -> BackupSession:
    where = f"{BACKUP_TABLE}, row {cell.row!r}"
    try:
        return _parsed(fields_by_number(cell.value))
    except (MalformedError, UnicodeDecodeError, IndexError) as error:
        raise MalformedError(f"{where}: {error}") from None


def _parsed(info: Mapping[int, tuple[Value, ...]]) -> BackupSession:
    state, started = last_number(info, _STATE) or 0, last_number(info, _STARTED)
    kind, name, root = last_number(info, _KIND) or 0, last_text(info, _ID), last_text(info, _ROOT)
    if not name or not root or started is None or state >= len(_STATES) or kind >= len(KINDS):
        raise MalformedError("not a backup session of a form that is known")
    rolled = [
        (table, address.lower(), timestamp)
        for table, servers in _entries(info.get(_TABLES, ()))
        for address, timestamp in _timestamps(servers)
    ]
    session = BackupSession(
        backup_id=name,
        root=root,
        kind=KINDS[kind],
        state=_STATES[state],
        started_at=signed_int64(started),
        completed_at=signed_int64(last_number(info, _COMPLETED) or 0) or None,
        tables=dict(sorted((table, timestamp) for table, _, timestamp in rolled)),
        boundaries=smallest_by_key((address, timestamp) for _, address, timestamp in rolled),
    )
    return of_real_times(session)


def _entries(values: Iterable[Value]) -> Iterable[tuple[str, Mapping[int, tuple[Value, ...]]]]:
    """Yields the pairs of a protobuf map whose values are messages."""
    for value in values:
        entry = fields_by_number(_bytes(value))
        mapped = entry.get(_MAPPED, (b"",))[-1]
        yield last_text(entry, _KEY) or "", fields_by_number(_bytes(mapped))


def _timestamps(servers: Mapping[int, tuple[Value, ...]]) -> Iterable[tuple[str, int]]:
    """Parses `RSTimestampMap`, a map from `host:port` to a timestamp."""
    for value in servers.get(1, ()):
        entry = fields_by_number(_bytes(value))
        timestamp = last_number(entry, _MAPPED)
        yield last_text(entry, _KEY) or "", signed_int64(timestamp or 0)


def _bytes(value: Value) -> bytes:
    if isinstance(value, int):
        raise MalformedError("a number in the place of a message")
    return value
