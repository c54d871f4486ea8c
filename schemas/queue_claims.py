"""Table `queue_claims`: which server claimed which queue when, and how long the queue waited."""

from pyspark.sql.types import ArrayType, LongType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity

QUEUE_CLAIMS = Table(
    "queue_claims",
    "The claims of queues as seen in successive snapshots; every event happened between two of them.",
    StructType(
        [
            *identity(),
            column("peer_id", StringType(), "Peer of the queue."),
            column("source", StringType(), "The server that wrote the WALs."),
            column(
                "event",
                StringType(),
                "CLAIMED (by to_owner), WAITING (for a claim, in the last snapshot), ENDED (the queue is gone).",
            ),
            column("from_owner", StringType(), "The server that had the queue before; NULL = unknown."),
            column("to_owner", StringType(), "The server that claimed the queue; NULL unless CLAIMED."),
            column(
                "via",
                ArrayType(StringType()),
                "Further servers that had the queue in between, in order, seen in no snapshot; only ZooKeeper "
                "shows them.",
            ),
            column(
                "died_after", TimestampType(), "Last time that from_owner was seen online (UTC); NULL = never seen."
            ),
            column("died_before", TimestampType(), "First time that from_owner was seen not online any more (UTC)."),
            column(
                "happened_after",
                TimestampType(),
                "Time of the last snapshot before the event; NULL = it came before the first snapshot.",
            ),
            column("happened_before", TimestampType(), "Time of the first snapshot after the event."),
            column("waited_min_ms", LongType(), "The least time that the queue waited for its claim, ms."),
            column(
                "waited_max_ms",
                LongType(),
                "The longest time that the queue can have waited, ms; NULL = no bound is known.",
            ),
        ]
    ),
)
