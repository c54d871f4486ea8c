"""Settles the intents that a dead job left: looks up the files and writes the missing outcomes."""

from itertools import groupby

from pipelines.cleanup.audit_ports import Attempt
from pipelines.cleanup.deletions import Action
from pipelines.cleanup.holder import LeaseHolder
from pipelines.cleanup.moving import same
from pipelines.cleanup.request import CleanupPlace, CleanupPorts
from pipelines.cleanup.settling import Places, settled
from pipelines.common.errors import UnavailableError


def settle(attempt: Attempt, directory: str, place: CleanupPlace, ports: CleanupPorts, holder: LeaseHolder) -> int:
    """Writes the missing outcomes; touches no file.

    Args:
        attempt: of the job that settles; it holds the lease.
        directory: the run's current quarantine directory, under the name that this holder gave it.
        place: of the cluster.
        ports: the ports.
        holder: of the lease; reads the file system.

    Returns:
        The number of outcomes written.

    Raises:
        UnavailableError: the file system, the lake or the lease did not answer, or an answer may be stale.
    """
    intents = ports.audit.unsettled(attempt.run)
    rest = place.quarantine.at_rest(attempt.run.run_id)
    for (action, lease, batch), group in groupby(intents, key=lambda one: (one.action, one.lease, one.batch)):
        batched = list(group)
        paths = [f"{end}/{one.subject.path}" for one in batched for end in (place.wal_root, directory)]
        own, *seen = holder.seen([directory, *paths])
        if own is None:
            # Only if the new name of the directory is visible does a missing file prove that it is not in the
            # quarantine.
            raise UnavailableError(
                f"the file system does not show {directory}, which this job had just named so: what a job before it "
                "had begun cannot be looked up now, and has no outcome yet. Try again"
            )
        results = [
            settled(
                action,
                one.subject,
                Places(same(one.subject, there), same(one.subject, here), here is not None),
                f"{rest}/{one.subject.path}",
                one.archive,
            )
            for one, there, here in zip(batched, seen[::2], seen[1::2], strict=True)
        ]
        holder.check()  # if another job holds the lease, the files may have changed since they were read
        ports.audit.record(
            Attempt(attempt.run, Action(action), attempt.identity, attempt.lease), batch, results, lease=lease
        )
    return len(intents)
