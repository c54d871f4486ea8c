"""snapshot.json of a generated cluster in which nothing is wrong; whoever makes a cluster changes the rest."""

from collections.abc import Iterable
from dataclasses import replace

from pipelines.common.instants import DAY_MS
from pipelines.hbase.peers import Peer
from pipelines.snapshot.capture_order import CAPTURE_ORDER, ZOOKEEPER_CAPTURE_ORDER
from pipelines.snapshot.model import (
    QUEUE_STORAGE_TABLE,
    QUEUE_STORAGE_ZOOKEEPER,
    Backup,
    CaptureStep,
    MasterFlags,
    Membership,
    Retention,
    Snapshot,
)

CLUSTER_ID = "5c7a0f0e-3a52-4a8e-9a53-2f1f6d6c2a10"
LOG_CLEANERS = (
    "org.apache.hadoop.hbase.master.cleaner.TimeToLiveLogCleaner",
    "org.apache.hadoop.hbase.master.cleaner.TimeToLiveProcedureWALCleaner",
    "org.apache.hadoop.hbase.master.cleaner.TimeToLiveMasterLocalStoreWALCleaner",
)
"""HBase's plugins besides ReplicationLogCleaner, as a site that changes nothing has them."""
SAFE_FLAGS = MasterFlags(queue_table_exists=True, add_peer_running=False, migration_pending=False, zk_queue_data=False)
RETENTION = Retention(wal_ttl_ms=600_000, procedure_wal_ttl_ms=7 * DAY_MS, master_local_wal_ttl_ms=7 * DAY_MS)
"""HBase's own."""
NO_BACKUP = Backup(enabled=False)


def steps_at(at: int, each: int, gap: int = 1) -> tuple[CaptureStep, ...]:
    """The steps of a capture from `at` on, one beginning every `each` ms and ending `gap` ms before the next."""
    return tuple(
        CaptureStep(name, at + number * each, at + (number + 1) * each - gap)
        for number, name in enumerate(CAPTURE_ORDER)
    )


def healthy_snapshot(
    cluster: str,
    steps: tuple[CaptureStep, ...],
    peers: Iterable[Peer],
    first: Membership,
    second: Membership,
    *,
    cluster_id: str | None = CLUSTER_ID,
    flags: MasterFlags = SAFE_FLAGS,
    flags_2: MasterFlags = SAFE_FLAGS,
    retention: Retention = RETENTION,
) -> Snapshot:
    """Returns the snapshot of a healthy cluster; what is not an argument has a harmless value.

    Args:
        cluster: its name; WALs lie below `hdfs://<name, lower case>/hbase`.
        steps: of the capture, with their start and end times.
        peers: all replication peers.
        first: who is alive at the first look.
        second: the same at the second.
        cluster_id: `hbase.id`; None = unknown, which a fleet needs: no two clusters have one.
        flags: at the first look.
        flags_2: at the second.
        retention: times to live.

    Returns:
        Without `contents`, which the writer of the snapshot directory computes.
    """
    return Snapshot(
        cluster=cluster,
        cluster_id=cluster_id,
        hbase_version="3.0.0",
        queue_storage=QUEUE_STORAGE_TABLE,
        wal_root=f"hdfs://{cluster.lower()}/hbase",
        clock_host="edge1.example.org",
        steps=steps,
        contents={},
        peers=tuple(peers),
        membership=first,
        membership_2=second,
        flags=flags,
        flags_2=flags_2,
        retention=retention,
        log_cleaner_plugins=LOG_CLEANERS,
        backup=NO_BACKUP,
        extras=(),
    )


def queues_in_zookeeper(snapshot: Snapshot) -> Snapshot:
    """The same of a cluster whose queues are in ZooKeeper: fewer steps, and nobody's life matters."""
    kept = {*ZOOKEEPER_CAPTURE_ORDER, "peers"}
    return replace(
        snapshot,
        hbase_version="2.6.4",
        queue_storage=QUEUE_STORAGE_ZOOKEEPER,
        steps=tuple(step for step in snapshot.steps if step.step in kept),
        membership=None,
        membership_2=None,
        flags=None,
        flags_2=None,
    )
