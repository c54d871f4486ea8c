"""Table `queue_edits`: what each queue still has to read, and how much of it its peer wants."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType

from schemas.table import Table, column, identity

QUEUE_EDITS = Table(
    "queue_edits",
    "Per queue row and WAL group, of the files that `inspect-wals` read: where the offset stands, what is pending.",
    StructType(
        [
            *identity(),
            column("peer_id", StringType(), "Peer of the queue."),
            column("peer_state", StringType(), "ENABLED or DISABLED; NULL for a removed peer."),
            column("peer_exists", BooleanType(), "False: the row belongs to a removed peer, which wants nothing."),
            column(
                "rule_known", BooleanType(), "The snapshot has the peer's tables; else every edit of scope 1 counts."
            ),
            column("owner", StringType(), "The server whose row it is."),
            column("source", StringType(), "The server that wrote the WALs; equals owner in a normal queue."),
            column("wal_group", StringType(), "WAL group, URL-encoded."),
            column("wal", StringType(), "WAL of the offset (the smaller of two passes); NULL without an offset."),
            column("offset", LongType(), "Bytes into that WAL, as read; negative = that WAL is finished."),
            column(
                "offset_status",
                StringType(),
                "OK, AT_END, FINISHED, MID_ENTRY, BEYOND_EOF, NO_HEADER, UNREADABLE, GONE, NOT_READ, NONE.",
            ),
            column("head", StringType(), "Path of the first WAL that it still has to read; NULL = none of those read."),
            column("head_ending", StringType(), "`ending` of that WAL."),
            column("pending_files", LongType(), "Files that it still has to read."),
            column("pending_entries", LongType(), "Entries behind the offset in them."),
            column("pending_bytes", LongType(), "Bytes that these take."),
            column("wanted_entries", LongType(), "Those of which the peer is sent at least one cell."),
            column("wanted_bytes", LongType(), "Bytes that these take."),
            column(
                "foreign_entries",
                LongType(),
                "Those of the wanted ones that came from other clusters: the peer is not sent its own back.",
            ),
            column("unread_files", LongType(), "Pending files that could not be read, or not to their end."),
            column("unread_bytes", LongType(), "Bytes in them of which nobody knows what they are."),
        ]
    ),
)
