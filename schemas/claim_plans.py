"""Table `claim_plans`: the live server that each orphan queue is assigned to."""

from pyspark.sql.types import LongType, StringType, StructType

from schemas.table import Table, column, identity

CLAIM_PLANS = Table(
    "claim_plans",
    "Orphan queues in the order in which to have them claimed, balanced over the live servers.",
    StructType(
        [
            *identity(),
            column("step", LongType(), "Dead servers in order, the one with the oldest pending WAL first."),
            column("server", StringType(), "The dead server whose queues are claimed in this step."),
            column("queue", StringType(), "As in `queue_audits`."),
            column("peer_id", StringType(), "Peer of the queue."),
            column("source", StringType(), "The server that wrote the WALs."),
            column("pending_files", LongType(), "Files under oldWALs that the claimer has to ship."),
            column("pending_bytes", LongType(), "Their bytes."),
            column("oldest_pending_timestamp", LongType(), "Timestamp of the oldest of them, ms."),
            column("target", StringType(), "A live server that it would suit; HBase itself picks at random."),
            column("target_bytes", LongType(), "What that one has to ship then, its own queues included."),
        ]
    ),
)
