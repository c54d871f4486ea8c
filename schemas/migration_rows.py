"""Table `migration_rows`: what the migration to `hbase:replication` writes, drops and throws on."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType

from schemas.table import Table, column, identity

MIGRATION_ROWS = Table(
    "migration_rows",
    "What `plan-migration` found in ZooKeeper: a row for each cell that would be written, or not.",
    StructType(
        [
            *identity(),
            column("family", StringType(), "Column family: queue, sid (last pushed sequence ids) or hfileref."),
            column("action", StringType(), "WRITE, DROP, or BLOCK: HBase throws on it and tries again forever."),
            column("reason", StringType(), "Why it is dropped or blocks, or which doubt there is; NULL = none."),
            column("peer_id", StringType(), "Peer, as HBase takes it from the queue's id."),
            column("owner", StringType(), "The server below whose znode the queue stands."),
            column("source", StringType(), "The server that wrote the WALs; equals owner in a normal queue."),
            column("znode", StringType(), "Where it stands, below /hbase/replication."),
            column("row", StringType(), "Key in hbase:replication; of what is dropped too."),
            column("qualifier", StringType(), "WAL group (URL-encoded), encoded region, or HFile; NULL of a queue."),
            column("value", StringType(), "`<wal>:<position>`, sequence id, or empty; of BLOCK the WAL's znode."),
            column("wals", LongType(), "WALs of the group in the queue."),
            column("bytes", LongType(), "Their bytes, of those that the listing has."),
            column("wal_listed", BooleanType(), "The WAL of `value` is below WALs/ or oldWALs/."),
        ]
    ),
)
