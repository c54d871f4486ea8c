"""Table `wal_tables`: the HBase tables whose edits each WAL contains."""

from pyspark.sql.types import LongType, StringType, StructType

from schemas.table import Table, column, identity, twin

WAL_TABLES = Table(
    "wal_tables",
    "One row for each WAL that `inspect-wals` read and each table with edits in it.",
    StructType(
        [
            *identity(),
            column("path", StringType(), "Path below the WAL root, as in the snapshot."),
            column("table", StringType(), "`namespace:table` without the default namespace, as WALs write it."),
            column("entries", LongType(), "Whole entries."),
            column("cells", LongType(), "Their cells."),
            column("bytes", LongType(), "Bytes of the file that the table's entries take."),
            column(
                "global_entries",
                LongType(),
                "Number of entries with a cell of replication scope 1, which a peer may need.",
            ),
            column("global_bytes", LongType(), "Bytes of the file that these entries take."),
            twin("table"),
        ]
    ),
)
