"""Holds the lease of a cluster and gives the directories of its quarantined runs their names."""

import logging
from collections.abc import Sequence
from types import TracebackType

from pipelines.cleanup.current_reads import CurrentReads
from pipelines.cleanup.lease import Lease, lease_numbers, may_take, parse_lease
from pipelines.cleanup.ports import FileState, WalStore
from pipelines.cleanup.quarantine import Quarantine, lease_in, runs_in
from pipelines.common.conditions import Condition
from pipelines.common.errors import UnavailableError, WalsafeError

_LOG = logging.getLogger(__name__)
_RENEWALS = 10
"""In the life of a lease. On HDFS each renewal waits for a data node, some 0.3 s."""


class LeaseHolder:
    """Makes one job the only one that may touch a cluster's files, for the duration of a `with` block.

    Args:
        store: the store of the quarantine.
        quarantine: the quarantine of the cluster.
        holder: the name of the holder: user, host, job, attempt; unique.
        time_to_live_ms: if the lease is not renewed for this long, another job may take it.

    Raises:
        UnavailableError: another job holds the lease (exit 4).
    """

    def __init__(self, store: WalStore, quarantine: Quarantine, holder: str, time_to_live_ms: int) -> None:
        self._store = store
        self._quarantine = quarantine
        self._holder = holder
        self._time_to_live = time_to_live_ms
        self._looks = CurrentReads(store, quarantine.leases, holder.rpartition(" ")[2])
        self._lease: Lease | None = None
        self._at_work: list[str] = []
        self._kept: set[str] = set()

    def __enter__(self) -> "LeaseHolder":
        folder = self._quarantine.leases
        self._store.make_directories([folder])
        newest = self._newest()
        renewed_at, now = self._times(newest)
        number = may_take(newest, renewed_at, now, self._time_to_live, folder)
        lease = Lease(number, self._holder)
        held = UnavailableError(
            f"another job took a lease below {folder} at the same moment; try again", condition=Condition.LEASE_HELD
        )
        if not self._store.create(f"{folder}/{lease.file_name}", lease.text()):
            raise held
        self._lease, self._renewed_at = lease, now
        try:
            found = lease_numbers(self._looks.names(folder))
            # without a lease to count from, two jobs may have created different files
            alone = newest is not None or len(found) < 2
            if alone:
                self._check_newest(found)  # another job may have taken a higher lease and removed lower ones
                self._store.delete([f"{folder}/{Lease(old, '').file_name}" for old in found if old < number])
        except WalsafeError:
            self._release()
            raise
        if not alone:
            # a released lease would still be higher than that of the other job, which may be at work by now
            self._store.delete([f"{folder}/{lease.file_name}"])
            raise held
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Renames the runs to their names at rest and releases the lease.

        Leaves whatever fails here to the next holder.

        An empty run is removed, but not after an error, also a refusal between an INTENT row and its outcome: files of
        the run may still lack an outcome, and the next job settles only runs that exist.
        """
        if error is not None and not isinstance(error, Exception):
            return  # killed: do only what a dead job could have done, which is nothing
        try:
            self.check()
            for run_id in self._at_work:
                try:
                    self._rest(run_id, remove=error is None and run_id not in self._kept)
                except WalsafeError as problem:
                    _LOG.warning("run %s has no name at rest; the next job gives it one: %s", run_id, problem)
            self._release()
        except WalsafeError as problem:
            _LOG.warning("lease %d was not released: %s", self.number, problem)

    @property
    def number(self) -> int:
        """Returns the number of the lease."""
        if self._lease is None:
            raise UnavailableError("no lease is held")
        return self._lease.number

    def check(self) -> None:
        """Checks that this job still holds the newest lease, and renews it after a tenth of its life.

        Raises:
            UnavailableError: another job has taken over, or the leases cannot be read reliably.
        """
        names, now = self._looks.timed_names(self._quarantine.leases)  # the time is one before the look
        self._check_newest(lease_numbers(names))
        if now - self._renewed_at >= self._time_to_live // _RENEWALS:
            lease = Lease(self.number, self._holder)
            self._store.replace(f"{self._quarantine.leases}/{lease.file_name}", lease.text())
            self._renewed_at = now

    def seen(self, uris: Sequence[str]) -> list[FileState | None]:
        """Returns what the file system shows at these paths now; None = nothing.

        Raises:
            UnavailableError: the answers are stale.
        """
        return self._looks.seen(uris)

    def runs(self) -> dict[str, str]:
        """Returns the current directory name of each quarantined run, sorted by run_id."""
        return dict(sorted(runs_in(self._looks.names(self._quarantine.home)).items()))

    def take_run(self, run_id: str) -> str | None:
        """Renames a run's directory to a name with this lease's number, which keeps earlier holders away from it.

        Returns:
            The directory; None if there is no such run.

        Raises:
            UnavailableError: another job has taken over, or the state of the directory cannot be read reliably.
        """
        self.check()
        home, target = self._quarantine.home, self._quarantine.at_work(run_id, self.number)
        name = runs_in(self._looks.names(home)).get(run_id)
        if name is None:
            return None
        if lease_in(name) > self.number:  # that job took over since the check, and now works on the run
            raise UnavailableError(f"{home}/{name} belongs to the next holder: another job is at work; try again")
        if not self._store.rename_directory(f"{home}/{name}", target):
            raise UnavailableError(f"{home}/{name} vanished: another job may be at work on this cluster; try again")
        self._prove(run_id, made=False)
        self._at_work.append(run_id)
        return target

    def make_run(self, run_id: str) -> str:
        """Returns the directory that `take_run` returns; creates it if there is no such run; raises the same errors."""
        taken = self.take_run(run_id)
        if taken is not None:
            return taken
        target = self._quarantine.at_work(run_id, self.number)
        self._store.make_directories([target])
        self._prove(run_id, made=True)
        self._at_work.append(run_id)
        return target

    def keep(self, run_id: str) -> None:
        """Keeps a run's directory at the end even if it is empty.

        For a job that goes on with other runs after an error of this one: its files may still lack an outcome.
        """
        self._kept.add(run_id)

    def _prove(self, run_id: str, *, made: bool) -> None:
        """Checks that a run's directory has the name that this holder gave it and, if new, is the only one.

        Raises:
            UnavailableError: the earlier reads were stale, or another job is at work.
        """
        target = self._quarantine.at_work(run_id, self.number)
        found = [name for name in self._looks.names(self._quarantine.home) if run_id in runs_in([name])]
        own = target.rpartition("/")[2]
        if own in found and not (made and len(found) > 1):
            return
        if made:
            self._store.remove_empty(target)  # the next holder would take the one with the highest lease
        raise UnavailableError(
            f"the file system shows {', '.join(found) or 'nothing'} for run {run_id}, and this job has just made "
            f"{own} of it: its earlier answers were stale, or another job is at work. Try again"
        )

    def _rest(self, run_id: str, *, remove: bool) -> None:
        directory = self._quarantine.at_work(run_id, self.number)
        if not (remove and self._store.remove_empty(directory)):
            self._store.rename_directory(directory, self._quarantine.at_rest(run_id))

    def _release(self) -> None:
        released = Lease(self.number, self._holder, released=True)
        self._store.replace(f"{self._quarantine.leases}/{released.file_name}", released.text())

    def _check_newest(self, found: Sequence[int]) -> None:
        """Checks that the lease of this holder is the highest of those that were found.

        Raises:
            UnavailableError: it is not.
        """
        newest = max(found, default=0)
        if newest > self.number:
            raise UnavailableError(
                f"lease {self.number} expired and another job holds lease {newest}: this job stops. The table "
                "deletions has the files that it had begun; the next job on that run looks them up first",
                condition=Condition.LEASE_LOST,
            )
        if newest < self.number:
            raise UnavailableError(
                f"lease {self.number} is missing in {self._quarantine.leases}, so another job may hold the "
                "cluster: this job stops. Only walsafe may remove files there; try again",
                condition=Condition.LEASE_LOST,
            )

    def _newest(self) -> Lease | None:
        found = lease_numbers(self._looks.names(self._quarantine.leases))
        if not found:
            return None
        uri = f"{self._quarantine.leases}/{Lease(found[-1], '').file_name}"
        return parse_lease(found[-1], self._store.read(uri))

    def _times(self, newest: Lease | None) -> tuple[int, int]:
        """Returns the time at which the newest lease was renewed, and the time now.

        Both in ms, by the file system's clock.
        """
        wanted = [f"{self._quarantine.leases}/{newest.file_name}"] if newest else []
        found, now = self._looks.timed(wanted)
        renewed_at = found[0].modification_time if found and found[0] else now
        return renewed_at, now
