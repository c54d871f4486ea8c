"""Remedies for queues: the exact commands, taken from the sources of HBase and hbase-operator-tools.

`scheduleRecoveries` of HBCK2 takes servers, not queues: the master submits a `HBCKServerCrashProcedure`, which has
every queue of that server claimed by servers that it picks at random. A master that still lists the server as dead
returns -1 (`ServerManager.expireServer`): run `clear_deadservers` first. `replication --fix` removes the queues and
hfile-refs of all removed peers (`ReplicationChecker`), in both storages since HBASE-29671. HBase 1 has no HBCK2: its
`hbase hbck -fixReplication` does the same.
"""

from collections.abc import Sequence

from pipelines.hbase.server_names import ServerName
from pipelines.queues.audit.classes import OwnerState, QueueClass
from pipelines.queues.audit.observed_cluster import ObservedCluster, ObservedQueue
from pipelines.reconcile.findings.storage_words import STORAGE_WORDS

HBCK2 = "hbase hbck -j hbase-hbck2.jar"
"""The HBCK2 command; the jar is from hbase-operator-tools."""
_FIX_PEERS, _FIX_PEERS_1 = f"{HBCK2} replication --fix", "hbase hbck -fixReplication"


def recover_command(server: ServerName | str) -> str:
    """Returns the command that has the queues of a dead server claimed."""
    return f"{HBCK2} scheduleRecoveries {server}"


def fix_peers(cluster: ObservedCluster) -> str:
    """Returns the command that removes queues of removed peers; two if the HBase version is unknown."""
    by_hbck2 = cluster.storage.repaired_by_hbck2(cluster.hbase_version)
    if by_hbck2 is None:
        return f"HBase 2 and later: {_FIX_PEERS}; HBase 1: {_FIX_PEERS_1}"
    return _FIX_PEERS if by_hbck2 else _FIX_PEERS_1


def remedy(
    cluster: ObservedCluster,
    queue: ObservedQueue | None,
    classes: Sequence[QueueClass],
    *,
    server: ServerName | None = None,
) -> str | None:
    """Returns the remedy; None = no action is needed.

    Args:
        cluster: the snapshot.
        queue: None for a znode that is not a queue.
        classes: all classes of the queue or znode; the first one decides.
        server: the server of the znode, if there is no queue.
    """
    if queue is None:
        return _of_znode(cluster, classes[0], server)
    return _of_queue(cluster, queue, classes)


def claim_words(cluster: ObservedCluster, server: ServerName | str) -> str:
    """Returns how a live server gets the queues of a fully dead server, for the HBase version of the cluster."""
    by_procedure = cluster.claims_by_procedure()
    start = "Start or restart one region server: at its start it claims the queues of all dead ones."
    master = (
        f"{recover_command(server)}; where it answers -1, first clear_deadservers '{server}' in the hbase shell. "
        "See the claim plan (--plan)."
    )
    if by_procedure is None:
        return f"From HBase 2.5 on: {master} Before: {start}"
    return master if by_procedure else start


def _of_znode(cluster: ObservedCluster, one: QueueClass, server: ServerName | None) -> str | None:
    if one is QueueClass.STALE_LOCK:
        return (
            f"Make sure that no region server is copying these queues, then delete the znode of replication rs/{server}"
            f"/lock. {claim_words(cluster, str(server))}"
        )
    if one is QueueClass.EMPTY_REPLICATOR:
        return f"Harmless: once {server} is known to be dead, delete the znode of replication rs/{server}."
    return None


def _of_queue(cluster: ObservedCluster, queue: ObservedQueue, classes: Sequence[QueueClass]) -> str | None:
    owner = queue.key.owner
    match classes[0]:
        case QueueClass.UNDELETED_PEER:
            return (
                "Look at all queues and hfile-refs of removed peers without the fix option, then remove them: "
                f"{fix_peers(cluster)}."
            )
        case QueueClass.LOST_WALS:
            return (
                "Look for the WAL in corrupt/ and in quarantines. If it is gone, its edits are lost to the peer: "
                f"{_without_wal(cluster, classes)}, and compare the tables with VerifyReplication."
            )
        case QueueClass.MISSING_WAL:
            return (
                "Look for the WAL in corrupt/ and in quarantines and put it back into oldWALs/; if it is gone, "
                f"{_without_wal(cluster, classes)}, and compare the tables with VerifyReplication."
            )
        case QueueClass.SUSPECT:
            return (
                "Two servers may ship the same WALs: find out why the master took the source for dead (a long pause, a "
                "lost ZooKeeper session) and restart it; edits that arrive twice do no harm."
            )
        case QueueClass.DUPLICATE:
            return (
                "Let all finish: edits that arrive twice do no harm. If one never moves, remove one only if "
                f"{STORAGE_WORDS[cluster.storage.name].removable}."
                + (f" {claim_words(cluster, owner)}" if QueueClass.ORPHAN in classes else "")
            )
        case QueueClass.ORPHAN:
            return claim_words(cluster, owner)
        case QueueClass.IN_FAILOVER:
            return _in_failover(cluster, owner)
        case QueueClass.UNPROVEN:
            return "Capture again with a walsafe that reads /hbase/rs, or look whether the owner is online."
        case _:
            return None


def _without_wal(cluster: ObservedCluster, classes: Sequence[QueueClass]) -> str:
    """Returns how a queue goes on without a WAL that is gone: its owner looks for the WAL as long as it runs."""
    forget = STORAGE_WORDS[cluster.storage.name].forget_wal
    if QueueClass.ORPHAN in classes:
        return f"{forget}have the queue claimed"
    restart = f"{forget}restart the region server that owns the queue"
    return f"wait until the queue is claimed, then {restart}" if QueueClass.IN_FAILOVER in classes else restart


def _in_failover(cluster: ObservedCluster, owner: ServerName) -> str:
    wait = "Wait, and do not touch it: HBase is at it."
    if cluster.servers.state(owner) is OwnerState.DIRECTORY and cluster.claims_by_procedure() is not False:
        return f"{wait} If the next audit says the same, its WALs were never split: {recover_command(owner)}"
    return wait
