"""What the clean-up jobs share: the request, the edges, and the checks that come before everything."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pipelines.cleanup.audit_ports import Archive, CleanupAudit, DecidedRun, DeleteLists, Looked, SecondLook
from pipelines.cleanup.ports import WalStore
from pipelines.cleanup.quarantine import Quarantine
from pipelines.common.acknowledgement import Acknowledgement
from pipelines.common.clock import Clock
from pipelines.common.errors import RefusedError, UsageError
from pipelines.common.names import NAME
from pipelines.lake.answers import FindingReader

ARCHIVED_WALS = "oldWALs"


@dataclass(frozen=True)
class CleanupPorts:
    """The edges of clean, restore and purge.

    Attributes:
        store: of the cluster and its quarantine; the only thing that can move or delete.
        stop: a person has asked for an end (Ctrl-C); looked at between batches.
        tell: progress, a line at a time.
        seconds: a clock that never goes back.
        archive: None = purge deletes.
        findings: of the cluster's newest run, which may pause the clean-up.
    """

    store: WalStore
    audit: CleanupAudit
    lists: DeleteLists
    second_look: SecondLook
    clock: Clock
    stop: Callable[[], bool]
    tell: Callable[[str], None]
    seconds: Callable[[], float]
    archive: Archive | None = None
    findings: FindingReader = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class CleanupPlace:
    """Where and how.

    Attributes:
        wal_root: of the configuration, without a slash at the end.
        holder: who takes the lease; its last word is unique.
        identity: of this attempt.
        batch: files between two looks at the lease, the audit and a wish to stop.
        lease_ms: time to live of the lease.
        grace_ms: how long files rest before purge may delete them.
        acknowledged: findings that a person has accepted in the configuration.
    """

    cluster: str
    wal_root: str
    quarantine: Quarantine
    holder: str
    identity: str
    batch: int
    lease_ms: int
    grace_ms: int
    acknowledged: tuple[Acknowledgement, ...] = ()


def decided_run(ports: CleanupPorts, place: CleanupPlace, run_id: str) -> DecidedRun:
    """The run of reconcile that everything goes back to.

    Raises:
        UsageError: a run_id that cannot be one.
        RefusedError: reconcile never ended it.
    """
    if not NAME.fullmatch(run_id):
        raise UsageError(f"--run-id {run_id!r} must match {NAME.pattern}")
    found = ports.audit.decided(place.cluster, run_id)
    if found is None:
        raise RefusedError(
            f"run {run_id} of cluster {place.cluster} never ended in this lake: check --run-id, --cluster and --lake"
        )
    return found


def believe(looked: Looked, known_peers: tuple[str, ...] | None, cluster_id: str | None) -> None:
    """Stop at anything that makes the second look another world than the list was decided in.

    Args:
        looked: the second look.
        known_peers: of the list's snapshot; None where peers do not matter.
        cluster_id: that the files were decided for; None = a run of an older walsafe, which did not write it down.

    Raises:
        RefusedError: with the way out; nothing was touched.
    """
    if cluster_id is not None and looked.cluster_id != cluster_id:
        raise RefusedError(
            f"the files were decided on for the cluster with id {cluster_id}, but the one that answers is "
            f"{looked.cluster_id or 'unknown'}: check wal_root, capture.queues and hbase.site in the configuration"
        )
    if looked.refused is not None:
        raise RefusedError(f"the cluster cannot be believed now: {looked.refused}")
    if looked.add_peer_running:
        raise RefusedError("a peer is being added (AddPeer is running); try again when it has ended")
    if known_peers is not None:
        new = sorted(set(looked.peer_ids) - set(known_peers))
        if new:
            raise RefusedError(
                f"peer {new[0]!r} was added since the list was decided: capture, reconcile, and clean that new list"
            )
    if looked.restless is not None:
        raise RefusedError(f"the cluster moved while it was read ({looked.restless}); try again when it is quiet")
