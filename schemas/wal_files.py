"""Table `wal_files`: what `inspect-wals` found in each WAL that it read."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity

WAL_FILES = Table(
    "wal_files",
    "One row for each WAL that `inspect-wals` was to read; run ids of inspections end in `-wals`.",
    StructType(
        [
            *identity(),
            column("path", StringType(), "Below the WAL root, as in the snapshot."),
            column("server", StringType(), "The server that wrote it; NULL where its name tells none."),
            column("wal_group", StringType(), "WAL group, URL-encoded."),
            column("wal_timestamp", LongType(), "Timestamp of its name, ms."),
            column("length", LongType(), "Bytes as listed; an open file shows short."),
            column("read_length", LongType(), "Bytes as read; NULL unless it was read to its end."),
            column(
                "ending",
                StringType(),
                "CLOSED (with its trailer), OPEN (after an entry), TORN (inside of one), NO_HEADER, CORRUPT, "
                "ENCRYPTED, FOREIGN (another codec), GONE, UNREADABLE.",
            ),
            column("problem", StringType(), "What is wrong, in words; NULL when nothing is."),
            column("writer", StringType(), "Writer class, from the header."),
            column("compressed", BooleanType(), "Names are in dictionaries."),
            column("value_compression", StringType(), "What values are compressed with; NULL = not at all."),
            column("entries", LongType(), "Whole entries."),
            column("cells", LongType(), "Their cells."),
            column("entry_bytes", LongType(), "Bytes of the file that they take."),
            column("good_end", LongType(), "Offset behind the last whole entry."),
            column("first_sequence_id", LongType(), "Sequence id of the first entry; each region counts its own."),
            column("last_sequence_id", LongType(), "Sequence id of the last entry."),
            column("first_write_time", TimestampType(), "Write time of the first entry (UTC)."),
            column("last_write_time", TimestampType(), "Write time of the last entry (UTC)."),
        ]
    ),
)
