"""Table `queue_edits`: what each queue still has to read, and how much of it its peer wants."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType

from schemas.table import Table, column, identity, twin

QUEUE_EDITS = Table(
    "queue_edits",
    "One row for each queue row and WAL group in the files that `inspect-wals` read: its offset and its pending edits.",
    StructType(
        [
            *identity(),
            column("peer_id", StringType(), "Peer of the queue."),
            column("peer_state", StringType(), "ENABLED or DISABLED; NULL for a removed peer."),
            column("peer_exists", BooleanType(), "Whether the peer exists; a removed peer needs nothing."),
            column(
                "rule_known",
                BooleanType(),
                "Whether the snapshot says which edits the peer takes; if not, every edit of scope 1 counts as wanted, "
                "and with an endpoint other than HBase's usual one, every edit.",
            ),
            column("owner", StringType(), "The server that owns the row."),
            column("source", StringType(), "The server that wrote the WALs; equals owner in a normal queue."),
            column("wal_group", StringType(), "WAL group, URL-encoded."),
            column("wal", StringType(), "WAL of the offset (the smaller of two passes); NULL without an offset."),
            column("offset", LongType(), "Offset in this WAL, bytes, as read; negative = the WAL is finished."),
            column(
                "offset_status",
                StringType(),
                "OK, AT_END, FINISHED, MID_ENTRY, BEYOND_EOF, NO_HEADER, UNREADABLE, GONE, NOT_READ, NONE.",
            ),
            column(
                "head",
                StringType(),
                "Path of the first WAL that the queue still has to read; NULL = it is not among the files that "
                "were read.",
            ),
            column("head_ending", StringType(), "`ending` of this WAL."),
            column("pending_files", LongType(), "Number of files that the queue still has to read."),
            column("pending_entries", LongType(), "Number of entries in these files after the offset."),
            column("pending_bytes", LongType(), "Bytes that these take."),
            column(
                "wanted_entries", LongType(), "Number of pending entries of which the peer is sent at least one cell."
            ),
            column("wanted_bytes", LongType(), "Bytes that these take."),
            column(
                "foreign_entries",
                LongType(),
                "Number of wanted entries that came from other clusters; HBase does not send a peer its own "
                "edits back.",
            ),
            column("unread_files", LongType(), "Pending files that could not be read, or not to their end."),
            column(
                "unread_bytes",
                LongType(),
                "Bytes of unknown content that the queue still has to read; the whole length of a file that could not "
                "be opened.",
            ),
            twin("offset"),
        ]
    ),
)
