"""The layout of the quarantine, where files stay between clean and purge.

    <quarantine>/<cluster>/.leases/                        see `pipelines.cleanup.lease`
    <quarantine>/<cluster>/<run_id>/oldWALs/…              a cleaned run at rest: the paths below wal_root, kept
    <quarantine>/<cluster>/.at-work-<lease>-<run_id>/…     the same while the holder of that lease works on it

Only the holder of the newest lease gives such a directory its name. A rename or deletion by an earlier holder therefore
names a directory that no longer exists, and fails.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from pipelines.cleanup.overlap import overlap
from pipelines.common.errors import UsageError

LEASES = ".leases"
_AT_WORK = re.compile(r"\.at-work-([0-9]{10})-(.+)")


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The quarantine of one cluster.

    Attributes:
        root: URI of the folder of all clusters, without a trailing slash.
        cluster: name of the cluster.
    """

    root: str
    cluster: str

    @property
    def home(self) -> str:
        """Returns the cluster's own folder in the quarantine."""
        return f"{self.root}/{self.cluster}"

    @property
    def leases(self) -> str:
        """Returns the folder of the cluster's leases."""
        return f"{self.home}/{LEASES}"

    def at_rest(self, run_id: str) -> str:
        """Returns a run's directory while no job works on it."""
        return f"{self.home}/{run_id}"

    def at_work(self, run_id: str, lease: int) -> str:
        """Returns a run's directory while the holder of a lease works on it."""
        return f"{self.home}/.at-work-{lease:010d}-{run_id}"


def runs_in(names: Sequence[str]) -> dict[str, str]:
    """Finds the quarantined runs in the names of a cluster's folder; returns the current directory name by run_id.

    If a run has two directories, the one at rest counts, else the one with the highest lease. The other one is a tree
    of empty directories, made by a holder that had already lost its lease.
    """
    found: dict[str, str] = {}
    for name in sorted(names):
        match = _AT_WORK.fullmatch(name)
        if match:
            found[match.group(2)] = name
        elif not name.startswith("."):
            found[name] = name
    return found


def lease_in(name: str) -> int:
    """Returns the lease number that is in the name of a run's directory; 0 = the run is at rest."""
    match = _AT_WORK.fullmatch(name)
    return int(match.group(1)) if match else 0


def check_quarantine(quarantine: str, archive: str | None, wal_root: str) -> None:
    """Checks that a rename can reach the quarantine, and that no cleaner of HBase can reach it or the archive.

    Raises:
        UsageError: the quarantine is on another file system than the WAL root, or two of the three directories overlap.
    """
    ours, theirs = urlsplit(quarantine), urlsplit(wal_root)
    if (ours.scheme, ours.netloc) != (theirs.scheme, theirs.netloc):
        raise UsageError(
            f"clean.quarantine {quarantine} is not on the file system of wal_root {wal_root}: no rename "
            "reaches it. Write it with the same scheme and authority"
        )
    _keep_apart("wal_root", wal_root, quarantine, archive)
    if archive is not None and overlap(archive, quarantine):
        raise UsageError(
            f"clean.archive {archive} and clean.quarantine {quarantine} overlap: one contains the other. Purge would "
            "mistake archived files for quarantined ones. Choose another directory for the archive"
        )


def check_hbase_root(quarantine: str, archive: str | None, root: str) -> None:
    """Checks that `hbase.rootdir` overlaps neither the quarantine nor the archive.

    HBase's HFileCleaner deletes unknown files below `<hbase.rootdir>/archive`, and that could be the only copy.

    Args:
        quarantine: the quarantine of the configuration.
        archive: the archive of the configuration; None = purge deletes without archiving.
        root: `hbase.rootdir`.

    Raises:
        UsageError: one of them is inside the root, or the root is inside it, or they cannot be compared.
    """
    way_out = " If it has files already, run restore first: restore does not check hbase.rootdir"
    _keep_apart("hbase.rootdir", root, quarantine, archive, way_out)


def _keep_apart(name: str, root: str, quarantine: str, archive: str | None, way_out: str = "") -> None:
    """Checks that neither directory overlaps the root; `way_out` is for files that the quarantine has already."""
    for key, place, then in (("clean.quarantine", quarantine, way_out), ("clean.archive", archive, "")):
        try:
            inside = place is not None and overlap(place, root)
        except UsageError as error:
            raise UsageError(f"{key} and {name} cannot be compared: {error}") from error
        if inside:
            raise UsageError(
                f"{key} {place} and {name} {root} overlap: one contains the other. HBase's cleaners delete unknown "
                f"files there, and those in {key} would be the only copies. Choose a directory outside {root}.{then}"
            )
