"""The lines of the extras `backup`, `barriers` and `space`, checked key by key."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from pydantic import TypeAdapter

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError
from pipelines.common.forms import Count, Form, Instant, Int64, Many, Text, WrittenAs, one_of, read_value
from pipelines.snapshot.backup import (
    COMPLETE,
    KINDS,
    RUNNING,
    BackupSession,
    backup_of,
    of_real_times,
    smallest_by_key,
)
from pipelines.snapshot.barriers import RegionBarriers, region_barriers
from pipelines.snapshot.extras import BACKUP, BARRIERS, KNOWN_EXTRAS, SPACE, Extras, extra_file
from pipelines.snapshot.model import Snapshot


class _Session(Form):
    backup_id: Text
    root: Text
    kind: Annotated[str, one_of(KINDS)]
    state: Annotated[str, one_of((RUNNING, COMPLETE))]
    started_at: Instant
    completed_at: Instant | None = None
    tables: dict[str, Int64]
    boundaries: dict[str, Int64]


class _Barrier(Form):
    sequence_id: Count
    opened_at: Instant


class _Region(Form):
    region: Text
    table: Text
    barriers: Many[_Barrier]


class _Space(Form):
    free_bytes: Count


def _session(form: _Session) -> BackupSession:
    smallest = smallest_by_key((key.lower(), value) for key, value in form.boundaries.items())
    return of_real_times(BackupSession(**{**dict(form), "boundaries": smallest}))


def _region(form: _Region) -> RegionBarriers:
    return region_barriers(form.region, form.table, [(one.sequence_id, one.opened_at) for one in form.barriers])


SESSION: TypeAdapter[BackupSession] = TypeAdapter(Annotated[BackupSession, WrittenAs(_Session, _session)])
"""One line of `extras/backup.jsonl`, the inverse of `pipelines.snapshot.backup.session_document`."""
REGION: TypeAdapter[RegionBarriers] = TypeAdapter(Annotated[RegionBarriers, WrittenAs(_Region, _region)])
"""One line of `extras/barriers.jsonl`, the inverse of `barriers_document`, with barriers in any order."""

_SPACE = TypeAdapter(_Space)


def parse_extras(snapshot: Snapshot, lines: Mapping[str, Iterable[tuple[str | bytes, str]]]) -> Extras:
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
    backups = tuple(read_value(SESSION, *line) for line in lines[BACKUP]) if BACKUP in lines else None
    if backups is not None:
        _check_backups(snapshot, backups)
    barriers = tuple(read_value(REGION, *line) for line in lines[BARRIERS]) if BARRIERS in lines else None
    return Extras(backups, barriers, _free_bytes(tuple(lines[SPACE])) if SPACE in lines else None)


def _free_bytes(lines: Sequence[tuple[str | bytes, str]]) -> int:
    if len(lines) != 1:
        raise SnapshotError(
            Condition.SNAPSHOT_DAMAGED, f"{extra_file(SPACE)}: has {len(lines)} lines, not one; capture again"
        )
    return read_value(_SPACE, *lines[0]).free_bytes


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
