"""Table `wal_verdicts`: one row per file under oldWALs and night. Other programs rely on its columns."""

from pyspark.sql.types import ArrayType, LongType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity, twin

BLOCKING = ArrayType(
    StructType(
        [
            column("peer_id", StringType(), "The peer that may still need the file."),
            column("owner", StringType(), "The server that owns the queue row; NULL = the queue is missing."),
            column("source", StringType(), "The server that wrote the WAL."),
            column("wal", StringType(), "The WAL of the row's offset, as read; NULL without an offset for the group."),
            column("offset", LongType(), "Offset in this WAL, bytes, as read; negative = the WAL is finished."),
        ]
    ),
    containsNull=False,
)

WAL_VERDICTS = Table(
    "wal_verdicts",
    "The verdict on every file under oldWALs, with the reason and all holders of each held file.",
    StructType(
        [
            *identity(),
            column("path", StringType(), "Path relative to wal_root, as in the snapshot."),
            column(
                "server",
                StringType(),
                "Server that wrote the WAL, host,port,startcode; NULL = the name contains no server.",
            ),
            column(
                "wal_group", StringType(), "WAL group: the part of the name before the timestamp, still URL-encoded."
            ),
            column("wal_timestamp", LongType(), "Timestamp in the name, ms; NULL = absent or longer than 64 bits."),
            column("length", LongType(), "Bytes."),
            column("modification_time", TimestampType(), "When HBase archived the file (UTC)."),
            column("verdict", StringType(), "DELETABLE or HELD."),
            column("reason", StringType(), "Reason of the verdict; see docs/verdicts.md."),
            column(
                "hbase_verdict",
                StringType(),
                "Answer of HBase's own ReplicationLogCleaner (HBase 3's; with queues in ZooKeeper, HBase 2's): "
                "DELETE, KEEP or THROWS.",
            ),
            column("blocking", BLOCKING, "Each (peer, queue row) that needs the file; empty = none needs it."),
            column("host", StringType(), "Host of `server`, as in the name of the WAL."),
            column(
                "eligible_at",
                TimestampType(),
                "When a file that only its TTL holds (TOO_YOUNG) becomes deletable (UTC), if queues, "
                "peers and servers stay as they are; NULL = not held, not by its TTL alone, or after the year 2999.",
            ),
            twin("wal_timestamp"),
        ]
    ),
    # columns that walsafe's own jobs filter by; statistics of all columns would take a fifth of the time of the write
    statistics=("cluster", "path", "reason"),
)
