"""Table `queue_claims`: which server claimed which queue when, and how long the queue waited."""

from pyspark.sql.types import ArrayType, LongType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity

QUEUE_CLAIMS = Table(
    "queue_claims",
    "Lives of queues over successive snapshots; every instant lies between two of them.",
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
            column("from_owner", StringType(), "The server that had it before; NULL = not known."),
            column("to_owner", StringType(), "The server that claimed it; NULL unless CLAIMED."),
            column(
                "via",
                ArrayType(StringType()),
                "Further servers that had it in between, in order, unseen by any snapshot; known from ZooKeeper alone.",
            ),
            column("died_after", TimestampType(), "from_owner was online then (UTC); NULL = never seen."),
            column("died_before", TimestampType(), "It was not any more then (UTC)."),
            column("happened_after", TimestampType(), "The event came after this snapshot; NULL = before the first."),
            column("happened_before", TimestampType(), "And before this one."),
            column("waited_min_ms", LongType(), "The queue waited for its claim at least so long, ms."),
            column("waited_max_ms", LongType(), "And at most so long, ms; NULL = no bound is known."),
        ]
    ),
)
