"""Table `claim_plans`: the live server that each orphan queue is assigned to."""

from pyspark.sql.types import LongType, StringType, StructType

from schemas.table import Table, column, identity, twin

CLAIM_PLANS = Table(
    "claim_plans",
    "The order in which orphan queues should be claimed, balanced over the live servers; one row for each queue.",
    StructType(
        [
            *identity(),
            column(
                "step",
                LongType(),
                "Position of the dead server in the plan; the server with the oldest pending WAL comes first.",
            ),
            column("server", StringType(), "The dead server whose queues are claimed in this step."),
            column("queue", StringType(), "The queue, named as in `queue_audits`."),
            column("peer_id", StringType(), "Peer of the queue."),
            column("source", StringType(), "The server that wrote the WALs."),
            column("pending_files", LongType(), "Number of files under oldWALs that the claimer has to ship."),
            column("pending_bytes", LongType(), "Bytes of these files."),
            column("oldest_pending_timestamp", LongType(), "Timestamp of the oldest pending file, ms."),
            column(
                "target", StringType(), "A live server that suits the queue; HBase itself picks a server at random."
            ),
            column("target_bytes", LongType(), "Bytes that this server has to ship then, including its own queues."),
            column("host", StringType(), "Host of `server`."),
            twin("oldest_pending_timestamp"),
        ]
    ),
)
