"""Shared by the clean-up jobs: their ports, the description of the cluster, and the first checks."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pipelines.cleanup.audit_ports import (
    Archive,
    CleanupAudit,
    DecidedRun,
    ManifestReader,
    SecondLook,
    SecondLookResult,
)
from pipelines.cleanup.ports import WalStore
from pipelines.cleanup.quarantine import Quarantine
from pipelines.common.clock import Clock
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UsageError
from pipelines.common.names import NAME
from pipelines.lake.findings import Acknowledgement
from pipelines.lake.run_summary import DONE
from pipelines.reconcile.pause import FindingReader


@dataclass(frozen=True)
class CleanupPorts:
    """The ports of clean, restore and purge.

    Attributes:
        store: the store of the cluster and its quarantine; the only port that can move or delete files.
        stop: returns whether a person asked the job to end (Ctrl-C); called before each batch.
        tell: reports progress, one line at a time.
        seconds: a monotonic clock, in seconds.
        archive: None = purge deletes without archiving.
        findings: reads the findings of the cluster's newest run, which may pause the clean-up.
    """

    store: WalStore
    audit: CleanupAudit
    lists: ManifestReader
    second_look: SecondLook
    clock: Clock
    stop: Callable[[], bool]
    tell: Callable[[str], None]
    seconds: Callable[[], float]
    archive: Archive | None = None
    findings: FindingReader = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class CleanupPlace:
    """The cluster, its directories, and the limits of a clean-up job.

    Attributes:
        wal_root: from the configuration, without a trailing slash.
        holder: the name of the lease holder; its last word is unique.
        identity: the id of this attempt.
        batch: the number of files in a batch; between batches the lease and `stop` are checked and the audit is
            written.
        lease_ms: the time to live of the lease.
        grace_ms: how long files stay in the quarantine before purge may delete them.
        acknowledged: findings that a person has acknowledged in the configuration.
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
    """Returns the run of reconcile on which the clean-up is based.

    Raises:
        UsageError: the run_id is not valid.
        RefusedError: the lake has no DONE row of that run.
    """
    if not NAME.fullmatch(run_id):
        raise UsageError(f"--run-id {run_id!r} must match {NAME.pattern}")
    found = ports.audit.decided(place.cluster, run_id)
    if found is None:
        raise RefusedError(Condition.RUN_UNKNOWN, _why_unknown(ports, place.cluster, run_id))
    return found


def _why_unknown(ports: CleanupPorts, cluster: str, run_id: str) -> str:
    runs = ports.findings.newest_runs(cluster)
    for run in runs:
        if run.run_id == run_id:
            return f"run {run_id} of cluster {cluster} was {run.status} ({run.reason}): capture and reconcile again"
    done = next((f"; its newest run there is {run.run_id}" for run in runs if run.status == DONE), "")
    return f"run {run_id} of cluster {cluster} never ended in this lake: check --run-id, --cluster and --lake{done}"


def check_second_look(looked: SecondLookResult, known_peers: tuple[str, ...] | None, cluster_id: str | None) -> None:
    """Refuses to go on if the second look shows another cluster, a new peer or a running AddPeer.

    It also refuses if the second look cannot be trusted or the cluster was not quiet.

    Args:
        looked: the second look.
        known_peers: the peers in the list's snapshot; None = peers do not matter.
        cluster_id: the id of the cluster for which the files were decided; None = an older walsafe did not
            record it, or the snapshot has no id.

    Raises:
        RefusedError: the message says what to do; nothing was touched.
    """
    if cluster_id is not None and looked.cluster_id != cluster_id:
        raise RefusedError(
            Condition.ANOTHER_CLUSTER,
            f"the files were decided on for the cluster with id {cluster_id}, but the cluster that answers has id "
            f"{looked.cluster_id or 'unknown'}: check wal_root, capture.queues and capture.hbase.site",
        )
    if looked.refused is not None:
        raise RefusedError(looked.condition, f"the cluster cannot be believed now: {looked.refused}")
    if looked.add_peer_running:
        raise RefusedError(
            Condition.ADD_PEER_RUNNING, "a peer is being added (AddPeer is running); try again when it has ended"
        )
    if known_peers is not None:
        new = sorted(set(looked.peer_ids) - set(known_peers))
        if new:
            raise RefusedError(
                Condition.PEER_ADDED,
                f"peer {new[0]!r} was added since the list was decided: capture, reconcile, and clean that new list",
            )
    if looked.restless is not None:
        raise RefusedError(
            Condition.CLUSTER_NOT_QUIET,
            f"the cluster moved while it was read ({looked.restless}); try again when it is quiet",
        )
