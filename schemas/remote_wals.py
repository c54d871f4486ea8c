"""Table `remote_wals`: files below `remoteWALs/`, where synchronous replication keeps copies of WALs."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity

REMOTE_WALS = Table(
    "remote_wals",
    "One row per directory below `remoteWALs/`. Nothing in there is ever listed for deletion.",
    StructType(
        [
            *identity(),
            column("directory", StringType(), "Relative to wal_root."),
            column("peer_id", StringType(), "The peer it is named after."),
            column("peer_exists", BooleanType(), "Whether there is such a peer."),
            column(
                "kind",
                StringType(),
                "REMOTE: written by the ACTIVE cluster; REPLAY: being replayed here; SNAPSHOT: kept after a replay.",
            ),
            column("files", LongType(), "Files in it."),
            column("bytes", LongType(), "Their bytes."),
            column("empty_files", LongType(), "Of length 0: replayed, or being written."),
            column("unfinished_files", LongType(), "`.syncrep.ren`: HBase does not know yet whether all arrived."),
            column("oldest_modification", TimestampType(), "Of a file that is not empty (UTC)."),
            column("newest_modification", TimestampType(), "Of any file (UTC)."),
        ]
    ),
)
