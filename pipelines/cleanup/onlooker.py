"""Who stands in the place of a lease's holder in a rehearsal: reads where runs are, and changes nothing."""

from types import TracebackType

from pipelines.cleanup.ports import WalStore
from pipelines.cleanup.quarantine import Quarantine, runs_in
from pipelines.common.errors import UnavailableError


class Onlooker:
    """What a rehearsal knows of the quarantined runs; another job may be at work on them meanwhile.

    Args:
        store: of the quarantine.
        quarantine: of the cluster.
    """

    number = 0
    """Of no lease."""

    def __init__(self, store: WalStore, quarantine: Quarantine) -> None:
        self._store = store
        self._home = quarantine.home

    def __enter__(self) -> "Onlooker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing was taken."""

    def runs(self) -> dict[str, str]:
        """Ids of the quarantined runs, sorted, and the names of their directories."""
        return dict(sorted(self._names().items()))

    def take_run(self, run_id: str) -> str | None:
        """A run's directory as it is named now; None when there is no such run."""
        name = self._names().get(run_id)
        return None if name is None else f"{self._home}/{name}"

    def still(self, run_id: str, directory: str) -> None:
        """Whether what was looked at stood there to the end.

        Raises:
            UnavailableError: another job has renamed the directory.
        """
        if self.take_run(run_id) != directory:
            raise UnavailableError(
                f"{directory} was renamed or removed while it was looked at: another job is at work on run {run_id}. "
                "Rehearse again when it has ended"
            )

    def _names(self) -> dict[str, str]:
        return runs_in(self._store.names(self._home))
