"""The audit-queues use case: classifies every replication queue, dates its claims and plans the claim of orphans.

It reads snapshots and writes tables and a plan. It has no access to the cluster, so it cannot change it.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from pipelines.common.clock import Clock
from pipelines.common.errors import UsageError
from pipelines.common.instants import utc_day
from pipelines.common.job_result import JobResult
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.lake.job_run import JobLake
from pipelines.queues.audit.classify import audit_rows
from pipelines.queues.audit.findings import audit_findings
from pipelines.queues.audit.listing import listed_evidence
from pipelines.queues.audit.observed_cluster import ListedEvidence, ObservedCluster
from pipelines.queues.audit.plan import claim_plan, peer_restarts
from pipelines.queues.audit.plan_text import PLAN, SERVERS, claim_plan_text, claim_servers_text
from pipelines.queues.audit.queue_storage import AuditedQueues, observe_cluster
from pipelines.queues.audit.rows import AUDIT_SUFFIX, AuditRow, SeenRow
from pipelines.queues.audit.storages import AUDITED_STORAGES, IN_TABLE, IN_ZOOKEEPER
from pipelines.queues.audit.table_queues import TABLE_QUEUES
from pipelines.queues.audit.text import AuditResult, audit_lines, audit_result
from pipelines.queues.audit.timeline import Sighting, sighting, timeline
from pipelines.queues.audit.zookeeper_queues import ZOOKEEPER_QUEUES
from pipelines.queues.snapshot_run import snapshot_run
from pipelines.reconcile.cluster_cases import ClusterCase, cluster_cases
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from pipelines.snapshot.reader import SnapshotDirectories
from schemas.claim_plans import CLAIM_PLANS
from schemas.findings import FINDINGS
from schemas.queue_audits import QUEUE_AUDITS
from schemas.queue_claims import QUEUE_CLAIMS
from schemas.registry import AUDIT_TABLES

_LOG = logging.getLogger(__name__)

AUDITED_QUEUES: Mapping[str, AuditedQueues] = {
    IN_TABLE.name: TABLE_QUEUES,
    IN_ZOOKEEPER.name: ZOOKEEPER_QUEUES,
}
"""By the name of the storage in snapshot.json."""


def audit_queues(
    uris: Sequence[str],
    settings: ReconcileSettings,
    snapshots: SnapshotDirectories,
    lake: JobLake,
    clock: Clock,
    write_plan: Callable[[str, str], str] | None,
) -> JobResult:
    """Audit the queues of the newest snapshot.

    Args:
        uris: snapshot directories of one cluster; the newest is audited, the older ones feed the timeline.
        settings: from the configuration.
        snapshots: opens the directories.
        lake: of the job; it has the tables of this and of earlier audits.
        clock: checks that the clock of a capture is plausible.
        write_plan: writes a file of the claim plan from its name and text, and returns its URI; None = writes none.

    Returns:
        Exit code 5 when a finding of severity error is new and not acknowledged, else 0.

    Raises:
        UsageError: a directory does not exist or is given twice, or the snapshots do not belong together.
        RefusedError: a snapshot cannot be trusted.
        UnavailableError: the lake or the plan cannot be written.
    """
    twice = [uri for uri in uris if uris.count(uri) > 1]
    if twice:
        raise UsageError(f"--snapshot {twice[0]} is given twice: a timeline needs captures that follow one another")
    believed = _in_time_order([_believed(one, settings, clock.now_ms()) for one in snapshots.open(uris)])
    case = believed[-1]
    cluster = _observed(case, listed_evidence(snapshots, case, settings, _queues(case)))
    if cluster.restless is not None:
        _LOG.warning("The capture was not quiet: %s. This is its last reading", cluster.restless)
    rows = audit_rows(cluster)
    earlier = [_seen(before) for before in believed[:-1]]
    lake.ensure((*AUDIT_TABLES, FINDINGS))
    run = snapshot_run(case.opened, AUDIT_SUFFIX, settings)
    remembered = _remembered(lake, case.key.cluster, min((one.at for one in earlier), default=run.at_ms))
    claims = timeline([*remembered, *earlier, _sighting(cluster, rows)])
    planned = claim_plan(cluster, rows)
    tables = ((QUEUE_AUDITS, rows), (QUEUE_CLAIMS, claims), (CLAIM_PLANS, planned))
    found = audit_findings(rows, claims, quiet=cluster.restless is None)
    findings = run.record(lake, tables, found, QUEUE_AUDITS)
    again = peer_restarts(cluster, planned)
    texts = {
        SERVERS: claim_servers_text(cluster, planned),
        PLAN: claim_plan_text(run.key, cluster, rows, planned, again),
    }
    files = {} if write_plan is None else {name: write_plan(name, text) for name, text in texts.items()}
    audit = AuditResult(
        run.key, cluster, rows, claims, planned, again, findings, files, len(remembered) + len(believed)
    )
    return run.answer(audit_result(audit), audit_lines(audit), findings)


def _believed(opened: OpenedSnapshot, settings: ReconcileSettings, now_ms: int) -> ClusterCase:
    """Checks a snapshot as reconcile does.

    Raises:
        RefusedError: reconcile would refuse the snapshot.
    """
    (case,) = cluster_cases([opened], None, settings, now_ms)
    _ = case.believed
    return case


def _in_time_order(found: Sequence[ClusterCase]) -> list[ClusterCase]:
    """Returns the snapshots oldest first.

    Raises:
        UsageError: two snapshots are of different clusters, or one capture began before the previous one finished.
    """
    ordered = sorted(found, key=lambda case: case.snapshot.files_step.started_at)
    for one, other in pairwise(ordered):
        if one.key.cluster != other.key.cluster or _other_id(one, other):
            raise UsageError(
                f"{one.opened.uri} is of cluster {_named(one)}, {other.opened.uri} of {_named(other)}: audit one "
                "cluster at a time"
            )
        if one.snapshot.steps[-1].finished_at > other.snapshot.files_step.started_at:
            raise UsageError(
                f"{one.opened.uri} was not finished when {other.opened.uri} was begun: a timeline needs captures that "
                "follow one another"
            )
    return ordered


def _other_id(one: ClusterCase, other: ClusterCase) -> bool:
    ids = {case.snapshot.cluster_id for case in (one, other)} - {None}
    return len(ids) > 1


def _named(case: ClusterCase) -> str:
    cluster_id = case.snapshot.cluster_id
    return case.key.cluster + (f" ({cluster_id})" if cluster_id else "")


def _observed(case: ClusterCase, listed: ListedEvidence) -> ObservedCluster:
    view = case.believed[0]
    return observe_cluster(case.snapshot, view, _queues(case).stored(case.opened, view, listed), listed)


def _queues(case: ClusterCase) -> AuditedQueues:
    return AUDITED_QUEUES[case.snapshot.queue_storage]


def _seen(case: ClusterCase) -> Sighting:
    """Returns the queues and owners of an earlier snapshot, without reading its listing."""
    cluster = _observed(case, ListedEvidence())
    return _sighting(cluster, audit_rows(cluster))


def _sighting(cluster: ObservedCluster, rows: Sequence[AuditRow]) -> Sighting:
    return sighting(rows, cluster.servers.at, all_hops=cluster.storage.all_hops)


def _remembered(lake: JobLake, cluster: str, before: int) -> list[Sighting]:
    """Returns what each audit of `LOOK_BACK` before an instant (ms since the epoch) saw, the oldest audit first.

    Of several audits of one instant, the one with the greatest run id counts.

    Only audits whose snapshot is older than the instant are returned.
    """
    runs: dict[int, dict[str, list[SeenRow]]] = {}
    for key, row in lake.recent(QUEUE_AUDITS, SeenRow, cluster, utc_day(before)):
        if row.observed_at < before:
            runs.setdefault(row.observed_at, {}).setdefault(key.run_id, []).append(row)
    newest = (audits[max(audits)] for _, audits in sorted(runs.items()))
    return [sighting(rows, rows[0].observed_at, all_hops=AUDITED_STORAGES[rows[0].storage].all_hops) for rows in newest]
