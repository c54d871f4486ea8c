"""Settles the intents that a dead job left: looks up their files and writes the missing outcomes."""

from itertools import groupby

from pipelines.cleanup.audit_ports import CleanupAttempt, OpenIntent
from pipelines.cleanup.deletions import CleanupAction
from pipelines.cleanup.holder import LeaseHolder
from pipelines.cleanup.intent_outcome import FoundPlaces, outcome_of_intent
from pipelines.cleanup.move_files import is_same_file
from pipelines.cleanup.paths import parse_uri
from pipelines.cleanup.request import CleanupPlace, CleanupPorts
from pipelines.common.errors import UnavailableError, UsageError


def settle_intents(
    attempt: CleanupAttempt, directory: str, place: CleanupPlace, ports: CleanupPorts, holder: LeaseHolder
) -> int:
    """Writes the missing outcomes of a run; touches no file.

    Args:
        attempt: the attempt of the job that settles; this job holds the lease.
        directory: the run's current quarantine directory, with the name that this holder gave it.
        place: the cluster, its directories and limits.
        ports: the ports.
        holder: the lease holder, which reads the file system.

    Returns:
        The number of outcomes written.

    Raises:
        UnavailableError: the file system, the lake or the lease did not answer, or an answer may be stale.
        UsageError: a file was to be moved to another quarantine than that of the configuration, and may be there.
    """
    intents = ports.audit.unsettled(attempt.run)
    rest = place.quarantine.at_rest(attempt.run.run_id)
    for (action, lease, batch), group in groupby(intents, key=lambda one: (one.action, one.lease, one.batch)):
        batched = list(group)
        paths = [f"{end}/{one.subject.path}" for one in batched for end in (place.wal_root, directory)]
        own, *seen = holder.seen([directory, *paths])
        if own is None:
            # A missing file proves that it is not in the quarantine only if the new name of the directory is visible.
            raise UnavailableError(
                f"the file system does not show {directory}, the name that this job has just given it. "
                "The files that an earlier job began cannot be looked up now and have no outcome yet. Try again"
            )
        results = []
        for one, there, here in zip(batched, seen[::2], seen[1::2], strict=True):
            found = FoundPlaces(is_same_file(one.subject, there), is_same_file(one.subject, here), here is not None)
            if not (found.at_home or found.taken):
                _check_place(one, rest, place)
            results.append(outcome_of_intent(action, one.subject, found, f"{rest}/{one.subject.path}", one.place))
        holder.check()  # if another job holds the lease, the files may have changed since they were read
        ports.audit.record(
            CleanupAttempt(attempt.run, CleanupAction(action), attempt.identity, attempt.lease),
            batch,
            results,
            lease=lease,
        )
    return len(intents)


def _check_place(one: OpenIntent, rest: str, place: CleanupPlace) -> None:
    """Checks that clean was to move a file, which is in neither place, to this quarantine; elsewhere it is not gone.

    Only the paths are compared, because the name of the file system may have changed.

    Raises:
        UsageError: it was another quarantine.
    """
    if one.action is not CleanupAction.CLEAN or one.place is None:
        return
    if parse_uri(one.place).path != parse_uri(f"{rest}/{one.subject.path}").path:
        raise UsageError(
            f"an earlier clean-up began to move {one.subject.path} to {one.place}, but clean.quarantine is "
            f"{place.quarantine.root} now, and the file is neither there nor below oldWALs: it may rest in the former. "
            "Set clean.quarantine back, then try again; change it only while the quarantine is empty"
        )
