"""The intents that a dead job left: looked up in the file system, and given their outcome."""

from collections.abc import Callable
from itertools import groupby

from pipelines.domain.cleanup.deletions import Action
from pipelines.domain.cleanup.settling import Places, settled
from pipelines.ports_cleanup_audit import Attempt
from pipelines.use_cases.cleanup.moving import same
from pipelines.use_cases.cleanup.ports import CleanupPlace, CleanupPorts


def settle(
    attempt: Attempt, directory: str, place: CleanupPlace, ports: CleanupPorts, check: Callable[[], None]
) -> int:
    """Write the outcomes that are missing; touches no file.

    Args:
        attempt: of the job that settles; it holds the lease.
        directory: where the run's quarantine is now.
        place: of the cluster.
        ports: the edges.
        check: raises where another job holds the lease: what was seen may be another run of events then.

    Returns:
        How many there were.
    """
    intents = ports.audit.unsettled(attempt.run)
    rest = place.quarantine.at_rest(attempt.run.run_id)
    for (action, lease, batch), group in groupby(intents, key=lambda one: (one.action, one.lease, one.batch)):
        batched = list(group)
        subjects = [one.subject for one in batched]
        home = ports.store.seen([f"{place.wal_root}/{one.path}" for one in subjects])
        quarantine = ports.store.seen([f"{directory}/{one.path}" for one in subjects])
        results = [
            settled(
                action,
                one.subject,
                Places(same(one.subject, there), same(one.subject, here)),
                f"{rest}/{one.subject.path}",
                one.archive,
            )
            for one, there, here in zip(batched, home, quarantine, strict=True)
        ]
        check()
        ports.audit.record(
            Attempt(attempt.run, Action(action), attempt.identity, attempt.lease), batch, results, lease=lease
        )
    return len(intents)
