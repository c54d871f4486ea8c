"""Checks a delete-safe list before any of its files is touched."""

from pipelines.cleanup.audit_ports import DecidedRun
from pipelines.cleanup.deletions import CleanupAction
from pipelines.cleanup.request import CleanupPlace, CleanupPorts
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UsageError
from pipelines.common.instants import format_instant
from pipelines.reconcile.delete_list import Manifest, list_sha256


def check_manifest(manifest: Manifest, decided: DecidedRun, place: CleanupPlace) -> None:
    """Checks that a list belongs to the run, the snapshot and the cluster recorded in the lake.

    Raises:
        RefusedError: one of them does not match, or is not recorded.
    """
    if (manifest.cluster, manifest.run_id) != (decided.run.cluster, decided.run.run_id):
        raise RefusedError(
            Condition.LIST_OF_ANOTHER_RUN,
            f"the manifest is that of run {manifest.run_id} of cluster {manifest.cluster}, not of {decided.run.run_id} "
            f"of {place.cluster}: somebody copied it. Use the list where reconcile wrote it",
        )
    if manifest.snapshot_sha256 != decided.snapshot_sha256:
        raise RefusedError(
            Condition.LIST_OF_ANOTHER_RUN,
            f"the list of run {manifest.run_id} was decided on another snapshot than the lake says: --lists and --lake "
            "do not belong together",
        )
    if manifest.cluster_id is None:
        raise RefusedError(
            Condition.LIST_WITHOUT_PROOF,
            "the list does not say which cluster (hbase.id) it was decided for, so nothing proves that it is this one; "
            "capture with a source that knows the cluster's id, and reconcile again",
        )
    if decided.peer_ids is None:
        raise RefusedError(
            Condition.LIST_WITHOUT_PROOF,
            f"run {manifest.run_id} was decided by a walsafe that did not write its peers down, so a new one would not "
            "be seen; capture and reconcile again, or reconcile under another --run-id",
        )
    if decided.cluster_id != manifest.cluster_id:
        raise RefusedError(
            Condition.ANOTHER_CLUSTER,
            f"run {manifest.run_id} was decided for the cluster with id {manifest.cluster_id} by the list, and with "
            f"{decided.cluster_id or 'none'} by the lake: an older walsafe decided it, or somebody changed one of the "
            "two. Capture and reconcile again, or reconcile under another --run-id",
        )


def check_approved(manifest: Manifest, approved: str | None) -> None:
    """Checks that a list is the one that was approved.

    Args:
        manifest: of the list.
        approved: `list_sha256` of the approved list; None = any list is.

    Raises:
        RefusedError: it is another list.
    """
    found = list_sha256(manifest)
    if approved is not None and approved != found:
        raise RefusedError(
            Condition.LIST_NOT_APPROVED,
            f"the list of run {manifest.run_id} has the digest {found}, but {approved} was approved: rehearse again, "
            "and approve what that rehearsal shows",
        )


def check_age(manifest: Manifest, ports: CleanupPorts) -> None:
    """Checks that a list has not passed its `not_after`.

    Raises:
        RefusedError: the list has passed it.
    """
    now = ports.clock.now_ms()
    if now > manifest.not_after:
        raise RefusedError(
            Condition.LIST_EXPIRED,
            f"the list is valid until {format_instant(manifest.not_after)}, and it is {format_instant(now)}: capture "
            "and reconcile again, and clean that list",
        )


def check_once(actions: frozenset[CleanupAction], run_id: str, *, anew: bool) -> None:
    """Checks that a list is cleaned only once.

    Args:
        actions: the actions for which files of the run were touched.
        run_id: the run that wrote the list.
        anew: whether this is an execution that does not resume an earlier one.

    Raises:
        RefusedError: the list was cleaned before.
    """
    if actions & {CleanupAction.RESTORE, CleanupAction.PURGE}:
        raise RefusedError(
            Condition.LIST_RESTORED_OR_PURGED,
            f"files of run {run_id} were restored or purged already: a list is cleaned once. Reconcile a new capture",
        )
    if anew and CleanupAction.CLEAN in actions:
        raise RefusedError(
            Condition.LIST_ALREADY_CLEANED,
            f"run {run_id} was cleaned before, and a list is cleaned once. If that attempt stopped or died, go on with "
            "--resume",
        )


def check_begun(actions: frozenset[CleanupAction], run_id: str) -> None:
    """Checks that there is a clean-up of a list to go on with.

    Args:
        actions: the actions for which files of the run were touched.
        run_id: the run that wrote the list.

    Raises:
        UsageError: no attempt has begun to move a file. `check_once` lets an execution begin then.
    """
    if CleanupAction.CLEAN not in actions:
        raise UsageError(
            f"there is nothing to resume: no clean-up of run {run_id} has begun to move a file; start it with --execute"
        )
