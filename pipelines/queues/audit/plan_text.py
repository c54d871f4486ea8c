"""The claim plan as files: the instructions for the operator, and a server list for HBCK2's option `-i`."""

from collections.abc import Container, Iterator, Sequence

from pipelines.common.human import human_bytes, human_count, human_instant
from pipelines.lake.run_summary import RunKey
from pipelines.queues.audit.classes import QueueClass
from pipelines.queues.audit.observed_cluster import ObservedCluster
from pipelines.queues.audit.plan import PeerRestart
from pipelines.queues.audit.remedies import HBCK2, fix_peers, recover_command
from pipelines.queues.audit.rows import AuditRow, ClaimPlanRow

PLAN, SERVERS = "claim-plan.txt", "servers.txt"
"""Names of the two files."""


def claim_servers_text(cluster: ObservedCluster, plan: Sequence[ClaimPlanRow]) -> str:
    """Returns the dead servers, one per line and nothing else: `HBCK2.getFromFiles` takes every line as a server name.

    Empty for HBase versions whose master does not claim queues by procedure.
    """
    if cluster.claims_by_procedure() is False:
        return ""
    return "".join(f"{server}\n" for server in dict.fromkeys(row.server for row in plan))


def claim_plan_text(
    key: RunKey,
    cluster: ObservedCluster,
    rows: Sequence[AuditRow],
    plan: Sequence[ClaimPlanRow],
    again: Sequence[PeerRestart],
) -> str:
    """Returns the plan as instructions for the operator.

    Args:
        key: the run key of the audit.
        cluster: the audited snapshot.
        rows: the rows of the audit.
        plan: the planned claims of the orphans.
        again: peers whose recovered queues will ship edits a second time.
    """
    twice = {row.queue for row in rows if QueueClass.DUPLICATE.value in row.classes}
    head, steps = _head(key, cluster, rows, plan), _steps(cluster, plan, again, twice)
    return "\n".join([*head, *_before(cluster, rows), *steps, *_after(cluster, plan)]) + "\n"


def _head(
    key: RunKey, cluster: ObservedCluster, rows: Sequence[AuditRow], plan: Sequence[ClaimPlanRow]
) -> Iterator[str]:
    at = human_instant(cluster.servers.at)
    yield f"Claim plan of cluster {key.cluster}, from its snapshot of {at} ({key.run_id})"
    if not plan:
        if orphans := sum(QueueClass.ORPHAN.value in row.classes for row in rows):
            queues = human_count(orphans, "orphan queue")
            yield f"No live server is there to claim {queues}: start one, and capture again."
        else:
            yield "Nothing is to be claimed."
        return
    size = human_bytes(sum(row.pending_bytes for row in plan))
    dead = len({row.server for row in plan})
    live = len({row.target for row in plan})
    yield (
        f"{human_count(len(plan), 'orphan queue')} of {human_count(dead, 'dead server')}, {size} to ship, "
        f"over {human_count(live, 'live server')}."
    )
    yield "HBase picks who claims at random; `to` is what a balanced distribution looks like. Any live server is right."


def _before(cluster: ObservedCluster, rows: Sequence[AuditRow]) -> Iterator[str]:
    """Yields what must be removed first: HBase 2's `ClaimReplicationQueuesProcedure` retries queues of removed peers.

    It retries such a queue forever.
    """
    removed = [row for row in rows if QueueClass.UNDELETED_PEER.value in row.classes]
    locks = [row for row in rows if row.queue_class == QueueClass.STALE_LOCK.value]
    if removed or locks:
        yield ""
        yield "first"
    if removed:
        yield f"  {human_count(len(removed), 'queue')} of removed peers: {fix_peers(cluster)}"
    for row in locks:
        yield f"  lock left behind: {row.remedy}"


def again_words(one: PeerRestart) -> str:
    """Returns what a peer ships a second time, and why."""
    how = "whose queue of it was claimed before" if one.claimed else "which has finished with it"
    return (
        f"peer {one.peer_id}, {how}, begins again with its oldest WAL: {human_count(one.files, 'file')}, "
        f"{human_bytes(one.bytes)} are shipped twice"
    )


def _steps(
    cluster: ObservedCluster, plan: Sequence[ClaimPlanRow], again: Sequence[PeerRestart], twice: Container[str]
) -> Iterator[str]:
    for server in dict.fromkeys(row.server for row in plan):
        queues = [row for row in plan if row.server == server]
        yield ""
        yield f"step {queues[0].step}: {server}"
        for row in queues:
            size = f"{human_bytes(row.pending_bytes)} in {human_count(row.pending_files, 'file')}"
            yield f"  queue  {row.queue}: {size}, to {row.target}"
            if row.queue in twice:
                yield f"  note   another queue of peer {row.peer_id} reads the same WALs: edits may be shipped twice"
        yield from _commands(cluster, server)
        yield from (f"  note   {again_words(one)}" for one in again if one.server == server)


def _commands(cluster: ObservedCluster, server: str) -> Iterator[str]:
    by_procedure = cluster.claims_by_procedure()
    if by_procedure is not True:
        early = "" if by_procedure is False else "before HBase 2.5: "
        yield f"  run    {early}start or restart one region server; it claims the queues of all dead ones by itself"
    if by_procedure is not False:
        if cluster.storage.sync_up_marks:
            yield (
                f"  check  <hbase.rootdir>/ReplicationSyncUp/{server} must not exist: with it the master removes the "
                "queues instead of having them claimed"
            )
        yield f"  check  hbase shell: list_deadservers; if it is among them: clear_deadservers '{server}'"
        yield f"  run    {recover_command(server)}"
        yield "         it prints a procedure id; -1 means that the master did nothing (its log says why)"


def _after(cluster: ObservedCluster, plan: Sequence[ClaimPlanRow]) -> Iterator[str]:
    if plan:
        yield ""
        if cluster.claims_by_procedure() is not False:
            yield f"All at once: {HBCK2} scheduleRecoveries -i {SERVERS}"
        yield "Then capture again, and audit that snapshot after this one: the queues must be RECOVERED."
