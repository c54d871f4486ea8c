"""Table `wal_tables`: the HBase tables whose edits each WAL contains."""

from pyspark.sql.types import LongType, StringType, StructType

from schemas.table import Table, column, identity

WAL_TABLES = Table(
    "wal_tables",
    "One row for each WAL that `inspect-wals` read and each table with edits in it.",
    StructType(
        [
            *identity(),
            column("path", StringType(), "Below the WAL root, as in the snapshot."),
            column("table", StringType(), "`namespace:table`, the default namespace left out, as WALs spell it."),
            column("entries", LongType(), "Whole entries."),
            column("cells", LongType(), "Their cells."),
            column("bytes", LongType(), "Bytes of the file that they take."),
            column(
                "global_entries",
                LongType(),
                "Those with a cell of replication scope 1: what some peer may want at all.",
            ),
            column("global_bytes", LongType(), "Bytes that these take."),
        ]
    ),
)
