"""The extras of a snapshot that this walsafe knows: `backup`, `barriers` and `syncup`, each in `extras/<name>.jsonl`.

An extra may only turn DELETABLE into HELD, or release BACKUP. Barriers change no verdict. Only plan-syncup accepts a
snapshot with `syncup`, and it reads that extra itself.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pipelines.common.conditions import Condition
from pipelines.common.errors import MalformedError, SnapshotError
from pipelines.common.json_object import JsonObject, read_json
from pipelines.snapshot.backup import BackupSession, backup_of, parse_session
from pipelines.snapshot.barriers import RegionBarriers, parse_barriers
from pipelines.snapshot.model import Snapshot
from pipelines.snapshot.syncup_facts import EXTRA as SYNC_UP

BACKUP, BARRIERS = "backup", "barriers"
LineT = TypeVar("LineT", BackupSession, RegionBarriers)
KNOWN_EXTRAS = frozenset({BACKUP, BARRIERS, SYNC_UP})


@dataclass(frozen=True, slots=True)
class Extras:
    """The contents of a snapshot's extras; None = the snapshot does not have that extra.

    Attributes:
        backups: the sessions that define the backup boundaries.
        barriers: barriers of every region that has any.
    """

    backups: tuple[BackupSession, ...] | None = None
    barriers: tuple[RegionBarriers, ...] | None = None


def extra_file(name: str) -> str:
    """Returns the path of an extra in a snapshot directory."""
    return f"extras/{name}.jsonl"


def named_extras(snapshot: Snapshot) -> frozenset[str]:
    """Returns the names of a snapshot's extras, both from the list in snapshot.json and from its file names."""
    named = {extra_file(name): name for name in KNOWN_EXTRAS | frozenset(snapshot.extras)}
    files = (name for name in snapshot.contents if name.startswith("extras/"))
    return frozenset(snapshot.extras) | frozenset(named.get(name, name) for name in files)


def parse_extras(snapshot: Snapshot, lines: Mapping[str, Iterable[tuple[str, str]]]) -> Extras:
    """Parses the extras of one snapshot.

    Args:
        snapshot: the snapshot that they belong to.
        lines: by name of the extra, its lines, each with its name for messages.

    Raises:
        SnapshotError: a line is invalid; an extra is listed but has no file, or the reverse; or the backup sessions do
            not give the boundaries in snapshot.json.
    """
    half = sorted((frozenset(snapshot.extras) ^ frozenset(lines)) & KNOWN_EXTRAS)
    if half:
        raise SnapshotError(
            Condition.SNAPSHOT_DAMAGED,
            f"{extra_file(half[0])}: 'extras' and 'contents' of snapshot.json do not agree on it",
        )
    backups = _parsed(lines[BACKUP], parse_session) if BACKUP in lines else None
    if backups is not None:
        _check_backups(snapshot, backups)
    return Extras(backups, _parsed(lines[BARRIERS], parse_barriers) if BARRIERS in lines else None)


def _check_backups(snapshot: Snapshot, backups: tuple[BackupSession, ...]) -> None:
    if snapshot.step("peers") is None:
        raise SnapshotError(
            Condition.SNAPSHOT_INCOMPLETE,
            f"{extra_file(BACKUP)}: step 'peers', in which it is read, is missing; capture again",
        )
    stated = snapshot.backup
    if stated is None or not stated.enabled or dict(stated.boundaries) != dict(backup_of(backups).boundaries):
        raise SnapshotError(
            Condition.SNAPSHOT_DAMAGED,
            f"{extra_file(BACKUP)}: its sessions do not give the boundaries that snapshot.json has under 'backup'; "
            "capture again",
        )


def _parsed(lines: Iterable[tuple[str, str]], parse: Callable[[JsonObject], LineT]) -> tuple[LineT, ...]:
    return tuple(_parsed_line(line, where, parse) for line, where in lines)


def _parsed_line(line: str, where: str, parse: Callable[[JsonObject], LineT]) -> LineT:
    try:
        return parse(JsonObject(read_json(line, where), where))
    except MalformedError as error:
        raise SnapshotError(Condition.DOCUMENT_MALFORMED, f"{where}: {error}") from None
