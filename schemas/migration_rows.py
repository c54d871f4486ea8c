"""Table `migration_rows`: what the migration to `hbase:replication` writes, drops and throws on."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType

from schemas.table import Table, column, identity

MIGRATION_ROWS = Table(
    "migration_rows",
    "One row for each cell that the migration would write, drop or throw on, as `plan-migration` found it "
    "in ZooKeeper.",
    StructType(
        [
            *identity(),
            column("family", StringType(), "Column family: queue, sid (last pushed sequence ids) or hfileref."),
            column("action", StringType(), "WRITE, DROP or BLOCK (HBase would throw on it)."),
            column("reason", StringType(), "Why the cell is dropped or blocks, or a doubt about it; NULL = neither."),
            column("peer_id", StringType(), "Peer, as HBase reads it from the queue's id."),
            column("owner", StringType(), "The server whose znode contains the queue."),
            column("source", StringType(), "The server that wrote the WALs; equals owner in a normal queue."),
            column("znode", StringType(), "Path of the znode, below /hbase/replication."),
            column("row", StringType(), "Row key in hbase:replication; also for dropped cells."),
            column(
                "qualifier",
                StringType(),
                "WAL group (URL-encoded), encoded region, or HFile; NULL in the row of a queue.",
            ),
            column(
                "value",
                StringType(),
                "`<wal>:<position>`, sequence id, or empty; for BLOCK, the name of the WAL's znode.",
            ),
            column("wals", LongType(), "Number of WALs of the group in the queue."),
            column("bytes", LongType(), "Bytes of these WALs, as far as they are in the listing."),
            column(
                "wal_listed",
                BooleanType(),
                "Whether the WAL of `value` is below WALs/ or oldWALs/; null if it may be younger than the listing.",
            ),
        ]
    ),
)
