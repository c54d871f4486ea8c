"""The extras of a snapshot that this walsafe knows, each in `extras/<name>.jsonl`.

An extra may only turn DELETABLE into HELD, or release BACKUP. Barriers and space change no verdict. Only
plan-syncup accepts a snapshot with `syncup`, and it reads that extra itself.
"""

from dataclasses import dataclass

from pipelines.snapshot.backup import BackupSession
from pipelines.snapshot.barriers import RegionBarriers
from pipelines.snapshot.model import Snapshot
from pipelines.snapshot.syncup_facts import EXTRA as SYNC_UP

BACKUP, BARRIERS, SPACE = "backup", "barriers", "space"
KNOWN_EXTRAS = frozenset({BACKUP, BARRIERS, SPACE, SYNC_UP})


@dataclass(frozen=True, slots=True)
class Extras:
    """The contents of a snapshot's extras; None = the snapshot does not have that extra.

    Attributes:
        backups: the sessions that define the backup boundaries.
        barriers: barriers of every region that has any.
        free_bytes: bytes of files that the file system of the WAL root could still take.
    """

    backups: tuple[BackupSession, ...] | None = None
    barriers: tuple[RegionBarriers, ...] | None = None
    free_bytes: int | None = None


def extra_file(name: str) -> str:
    """Returns the path of an extra in a snapshot directory."""
    return f"extras/{name}.jsonl"


def named_extras(snapshot: Snapshot) -> frozenset[str]:
    """Returns the names of a snapshot's extras, both from the list in snapshot.json and from its file names."""
    named = {extra_file(name): name for name in KNOWN_EXTRAS | frozenset(snapshot.extras)}
    files = (name for name in snapshot.contents if name.startswith("extras/"))
    return frozenset(snapshot.extras) | frozenset(named.get(name, name) for name in files)
