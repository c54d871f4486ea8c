"""Table `remote_wals`: files below `remoteWALs/`, where synchronous replication keeps copies of WALs."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity

REMOTE_WALS = Table(
    "remote_wals",
    "One row per directory below `remoteWALs/`. No file in these directories is ever listed for deletion.",
    StructType(
        [
            *identity(),
            column("directory", StringType(), "Path of the directory relative to wal_root."),
            column("peer_id", StringType(), "The peer after which the directory is named."),
            column("peer_exists", BooleanType(), "Whether this peer exists."),
            column(
                "kind",
                StringType(),
                "REMOTE: written by the ACTIVE cluster; REPLAY: being replayed here; SNAPSHOT: kept after a replay.",
            ),
            column("files", LongType(), "Number of files in the directory."),
            column("bytes", LongType(), "Bytes of these files."),
            column("empty_files", LongType(), "Number of files of length 0, which were replayed or are being written."),
            column(
                "unfinished_files",
                LongType(),
                "Number of files `.syncrep.ren`, for which HBase does not know yet whether all edits arrived.",
            ),
            column(
                "oldest_modification", TimestampType(), "Oldest modification time of a file that is not empty (UTC)."
            ),
            column("newest_modification", TimestampType(), "Newest modification time of any file (UTC)."),
        ]
    ),
)
