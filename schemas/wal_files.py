"""Table `wal_files`: what `inspect-wals` found in each WAL that it read."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity, twin

WAL_FILES = Table(
    "wal_files",
    "One row for each WAL that `inspect-wals` was asked to read; run ids of inspections end in `-wals`.",
    StructType(
        [
            *identity(),
            column("path", StringType(), "Path below the WAL root, as in the snapshot."),
            column("server", StringType(), "The server that wrote the WAL; NULL = its name contains no server."),
            column("wal_group", StringType(), "WAL group, URL-encoded."),
            column("wal_timestamp", LongType(), "Timestamp in the WAL's name, ms."),
            column("length", LongType(), "Length in the listing, bytes; too small while the file is open."),
            column("read_length", LongType(), "Length as read, bytes; NULL unless the file was read to its end."),
            column(
                "ending",
                StringType(),
                "CLOSED (with its trailer), OPEN (after an entry), TORN (inside an entry), NO_HEADER, CORRUPT, "
                "ENCRYPTED, FOREIGN (another codec), GONE, UNREADABLE.",
            ),
            column("problem", StringType(), "What is wrong with the file, in words; NULL = nothing."),
            column("writer", StringType(), "Writer class, from the header."),
            column("compressed", BooleanType(), "Whether names are in dictionaries (WAL compression)."),
            column("value_compression", StringType(), "Compression of the values; NULL = not compressed."),
            column("entries", LongType(), "Whole entries."),
            column("cells", LongType(), "Their cells."),
            column("entry_bytes", LongType(), "Bytes of the file that the entries take."),
            column("good_end", LongType(), "Offset after the last whole entry."),
            column("first_sequence_id", LongType(), "Sequence id of the first entry; each region counts its own."),
            column("last_sequence_id", LongType(), "Sequence id of the last entry."),
            column(
                "first_write_time",
                TimestampType(),
                "Write time of the first entry (UTC); NULL also if it is not in 1970 to 2999.",
            ),
            column(
                "last_write_time",
                TimestampType(),
                "Write time of the last entry (UTC); NULL also if it is not in 1970 to 2999.",
            ),
            column("host", StringType(), "Host of `server`."),
            twin("wal_timestamp"),
        ]
    ),
)
