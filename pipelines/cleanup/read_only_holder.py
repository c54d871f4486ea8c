"""Replaces the lease holder in a rehearsal; it only reads."""

from types import TracebackType

from pipelines.cleanup.ports import WalStore
from pipelines.cleanup.quarantine import Quarantine, runs_in
from pipelines.common.errors import UnavailableError


class ReadOnlyHolder:
    """Reads the quarantined runs for a rehearsal, and changes nothing; another job may be working on them.

    Args:
        store: the store of the quarantine.
        quarantine: the quarantine of the cluster.
    """

    number = 0
    """Always zero, because no lease has this number."""

    def __init__(self, store: WalStore, quarantine: Quarantine) -> None:
        self._store = store
        self._home = quarantine.home

    def __enter__(self) -> "ReadOnlyHolder":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Does nothing, because no lease was taken."""

    def runs(self) -> dict[str, str]:
        """Returns the current directory name of each quarantined run, sorted by run_id."""
        return dict(sorted(self._names().items()))

    def take_run(self, run_id: str) -> str | None:
        """Returns a run's current directory; None if there is no such run."""
        name = self._names().get(run_id)
        return None if name is None else f"{self._home}/{name}"

    def keep(self, run_id: str) -> None:
        """Does nothing, because a rehearsal removes no directory."""

    def still(self, run_id: str, directory: str) -> None:
        """Checks that a run's directory is still where it was when the rehearsal read it.

        Raises:
            UnavailableError: another job has renamed the directory.
        """
        if self.take_run(run_id) != directory:
            raise UnavailableError(
                f"{directory} was renamed or removed while this job read it: another job is at work on run {run_id}. "
                "Rehearse again when it has ended"
            )

    def _names(self) -> dict[str, str]:
        return runs_in(self._store.names(self._home))
