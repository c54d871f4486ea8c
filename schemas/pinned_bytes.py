"""Table `pinned_bytes`: bytes that each peer, queue and WAL group pins, and what its removal would free."""

from pyspark.sql.types import LongType, StringType, StructType

from schemas.table import Table, column, identity, twin

PINNED_BYTES = Table(
    "pinned_bytes",
    "Bytes under oldWALs that each peer, queue and group holds: alone (exclusive), with others (joint), and "
    "freed without it.",
    StructType(
        [
            *identity(),
            column(
                "level",
                StringType(),
                "What the row sums up: peer, queue or group; files of fully dead servers without any queue are summed "
                "up at level peer only.",
            ),
            column("peer_id", StringType(), "Peer that holds the files."),
            column("peer_state", StringType(), "ENABLED or DISABLED."),
            column(
                "owner", StringType(), "Server whose queue holds the files; NULL at level peer or for a missing queue."
            ),
            column("source", StringType(), "Server that wrote the WALs; NULL at level peer."),
            column(
                "wal_group",
                StringType(),
                "WAL group; NULL above level group, and for the sum of the groups in which no queue has an offset yet.",
            ),
            column("exclusive_files", LongType(), "Files that no other holder holds."),
            column("exclusive_bytes", LongType(), "Bytes of these files."),
            column("joint_files", LongType(), "Files that other holders hold too."),
            column("joint_bytes", LongType(), "Bytes of these files."),
            column("freed_files", LongType(), "Files that become deletable if this holder finishes or is removed."),
            column("freed_bytes", LongType(), "Bytes of these files."),
            column("oldest_timestamp", LongType(), "Timestamp of the oldest held WAL, ms."),
            column("oldest_age_ms", LongType(), "Age of this WAL at the start of step `files`, ms."),
            column("remedy", StringType(), "What an operator can do about it."),
            twin("oldest_timestamp"),
        ]
    ),
)
