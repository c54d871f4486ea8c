"""HBase backup: which WALs the next incremental backup still needs (`BackupLogCleaner`, `BackupBoundaries`).

A completed backup has rolled every server's WAL; what it says of a server, as `host:port`, is the timestamp of that
roll: older WALs are in a backup already. Tables of one root roll at different times, so the smallest number counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.common.errors import MalformedError
from pipelines.common.instants import HOUR_MS, format_instant, is_instant, parse_instant
from pipelines.common.json_form import Form
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import MAX_LONG
from pipelines.hbase.zookeeper.wire import Value, message, number, signed, text
from pipelines.snapshot.model import Backup

BACKUP_TABLE = "backup:system"
"""`hbase.backup.system.table.name`."""
SESSION_FAMILY, SESSION_ROW = b"session", b"session:"
RUNNING, COMPLETE = "RUNNING", "COMPLETE"
BUFFER_MS = HOUR_MS
"""Default of `hbase.backup.log.cleaner.timestamp.buffer.ms`: clocks of servers may differ by so much."""
_STATES = (RUNNING, COMPLETE, "FAILED", "CANCELLED")
_KINDS = ("FULL", "INCREMENTAL")
_ID, _KIND, _ROOT, _STATE, _STARTED, _COMPLETED, _TABLES = 1, 2, 3, 4, 8, 9, 13
_KEY, _MAPPED = 1, 2


@dataclass(frozen=True, slots=True)
class BackupSession:
    """One backup, as `BackupInfo` in `backup:system` says.

    Attributes:
        root: where its images lie; one user of backups has one root.
        kind: FULL or INCREMENTAL.
        state: RUNNING, COMPLETE, FAILED or CANCELLED.
        started_at: ms since the epoch.
        completed_at: ms since the epoch; None = not yet.
        tables: for each table that the root had then, the largest roll timestamp of any server, ms: when its newest
            backup was. (The smallest may be that of a server that has been gone for years.)
        boundaries: for each `host:port` (lower case) the smallest roll timestamp of any table, ms.
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
    """The sessions of a scan of `backup:system`, in its order; cells of other rows are passed over.

    Raises:
        MalformedError: a session that HBase could not read either.
    """
    return tuple(_session(cell) for cell in cells if cell.family == SESSION_FAMILY and cell.row.startswith(SESSION_ROW))


def counting(sessions: Iterable[BackupSession]) -> tuple[BackupSession, ...]:
    """Those that boundaries are made of: of each root the newest that is complete, and all that are running.

    Of two that began in the same millisecond both count.
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
    """What they hold: of each server the smallest limit that any session gives.

    - A complete one: the server's boundary. A server that its root has not met: an hour before the smallest boundary of
      the root, since its next incremental backup takes that server's WALs from its start code on
      (`IncrementalBackupManager.getLogFilesForNewBackup`). HBase 2.6.1's cleaner deletes them if another root has met
      the server, or none has; later ones know a default boundary like this one (`BackupBoundaries`).
    - A running one: an hour before its start.

    Without any session that counts nobody needs a WAL: a backup begun after the listing starts with WALs that are not
    in it (docs/safety.md). A complete session without boundaries says nothing of its root: then everything is held.
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
    """One line of `extras/backup.jsonl`."""
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


def parse_session(form: Form) -> BackupSession:
    """The inverse of `session_document`.

    Raises:
        SnapshotError: it is not of that form.
        MalformedError: an instant or a roll that is none.
    """
    completed = form.optional_text("completed_at")
    session = BackupSession(
        backup_id=form.text("backup_id"),
        root=form.text("root"),
        kind=form.one_of("kind", _KINDS),
        state=form.one_of("state", (RUNNING, COMPLETE)),
        started_at=parse_instant(form.text("started_at")),
        completed_at=None if completed is None else parse_instant(completed),
        tables=_numbers(form.part("tables")),
        boundaries=smallest((key.lower(), value) for key, value in _numbers(form.part("boundaries")).items()),
    )
    form.no_other_keys()
    return _of_real_times(session)


def smallest(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The smallest number of each key."""
    found: dict[str, int] = {}
    for key, value in pairs:
        found[key] = min(found.get(key, value), value)
    return found


def _numbers(form: Form) -> dict[str, int]:
    return {name: form.integer(name) for name in form.names()}


def _of_real_times(session: BackupSession) -> BackupSession:
    """The session, if all its times are some: a roll far ahead would free whatever is there.

    Of rolls the largest stand in `tables` and the smallest in `boundaries`, so none is left out.
    """
    started, completed = session.started_at, session.completed_at or 0
    for time in (started, completed, *session.tables.values(), *session.boundaries.values()):
        if not is_instant(time):
            raise MalformedError(f"backup {session.backup_id} tells of no time that ever was: {time} ms")
    return session


def _session(cell: Cell) -> BackupSession:
    where = f"{BACKUP_TABLE}, row {cell.row!r}"
    try:
        return _parsed(message(cell.value))
    except (MalformedError, UnicodeDecodeError, IndexError) as error:
        raise MalformedError(f"{where}: {error}") from None


def _parsed(info: Mapping[int, tuple[Value, ...]]) -> BackupSession:
    state, started = number(info, _STATE) or 0, number(info, _STARTED)
    kind, name, root = number(info, _KIND) or 0, text(info, _ID), text(info, _ROOT)
    if not name or not root or started is None or state >= len(_STATES) or kind >= len(_KINDS):
        raise MalformedError("not a backup session of a form that is known")
    rolled = [
        (table, address.lower(), timestamp)
        for table, servers in _entries(info.get(_TABLES, ()))
        for address, timestamp in _timestamps(servers)
    ]
    session = BackupSession(
        backup_id=name,
        root=root,
        kind=_KINDS[kind],
        state=_STATES[state],
        started_at=signed(started),
        completed_at=signed(number(info, _COMPLETED) or 0) or None,
        tables=dict(sorted((table, timestamp) for table, _, timestamp in rolled)),
        boundaries=smallest((address, timestamp) for _, address, timestamp in rolled),
    )
    return _of_real_times(session)


def _entries(values: Iterable[Value]) -> Iterable[tuple[str, Mapping[int, tuple[Value, ...]]]]:
    """The pairs of a protobuf map whose values are messages."""
    for value in values:
        entry = message(_bytes(value))
        mapped = entry.get(_MAPPED, (b"",))[-1]
        yield text(entry, _KEY) or "", message(_bytes(mapped))


def _timestamps(servers: Mapping[int, tuple[Value, ...]]) -> Iterable[tuple[str, int]]:
    """`RSTimestampMap`: a map from `host:port` to a timestamp."""
    for value in servers.get(1, ()):
        entry = message(_bytes(value))
        timestamp = number(entry, _MAPPED)
        yield text(entry, _KEY) or "", signed(timestamp or 0)


def _bytes(value: Value) -> bytes:
    if isinstance(value, int):
        raise MalformedError("a number in the place of a message")
    return value
