"""Where files rest between clean and purge.

    <quarantine>/<cluster>/.leases/                        see `pipelines.domain.cleanup.lease`
    <quarantine>/<cluster>/<run_id>/oldWALs/…              a cleaned run at rest: the paths below wal_root, kept
    <quarantine>/<cluster>/.at-work-<lease>-<run_id>/…     the same while the holder of that lease works on it

Only a job that holds the newest lease gives such a directory its name, so a rename or a deletion of any earlier holder
names a directory that is no longer there, and fails.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from pipelines.domain.errors import UsageError

LEASES = ".leases"
_AT_WORK = re.compile(r"\.at-work-([0-9]{10})-(.+)")


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The quarantine of one cluster.

    Attributes:
        root: URI of the folder of all clusters, without a slash at the end.
        cluster: name of the cluster.
    """

    root: str
    cluster: str

    @property
    def home(self) -> str:
        """The cluster's own folder."""
        return f"{self.root}/{self.cluster}"

    @property
    def leases(self) -> str:
        """The folder of leases."""
        return f"{self.home}/{LEASES}"

    def at_rest(self, run_id: str) -> str:
        """A run's directory while nobody works on it."""
        return f"{self.home}/{run_id}"

    def at_work(self, run_id: str, lease: int) -> str:
        """A run's directory while the holder of a lease works on it."""
        return f"{self.home}/.at-work-{lease:010d}-{run_id}"


def runs_in(names: Sequence[str]) -> dict[str, str]:
    """Quarantined runs among the names of a cluster's folder: run_id and the name of its directory now.

    Should there be two of one run, the one at rest counts, then that of the highest lease: the other is a tree of empty
    directories that a holder made whose lease was gone already.
    """
    found: dict[str, str] = {}
    for name in sorted(names):  # ".at-work-…" by lease, then those at rest
        match = _AT_WORK.fullmatch(name)
        if match:
            found[match.group(2)] = name
        elif not name.startswith("."):
            found[name] = name
    return found


def lease_in(name: str) -> int:
    """Number of the lease under which somebody works on a run, from the name of its directory; 0 = it is at rest."""
    match = _AT_WORK.fullmatch(name)
    return int(match.group(1)) if match else 0


def check_quarantine(quarantine: str, wal_root: str) -> None:
    """A rename must be able to reach it, and nothing of HBase may.

    Raises:
        UsageError: another file system, or below the WAL root, or above it.
    """
    ours, theirs = urlsplit(quarantine), urlsplit(wal_root)
    if (ours.scheme, ours.netloc) != (theirs.scheme, theirs.netloc):
        raise UsageError(
            f"clean.quarantine {quarantine} is not on the file system of wal_root {wal_root}: no rename "
            "reaches it. Write it with the same scheme and authority"
        )
    inside, outside = f"{ours.path.rstrip('/')}/", f"{theirs.path.rstrip('/')}/"
    if inside.startswith(outside) or outside.startswith(inside):
        raise UsageError(
            f"clean.quarantine {quarantine} and wal_root {wal_root} lie one in the other: HBase's cleaners must never "
            "see the quarantine. Choose a directory beside it"
        )
