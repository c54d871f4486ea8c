"""Table `split_mutations`: mutations in private logs, without users' keys and values."""

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from schemas.table import Table, column, identity, twin

SPLIT_MUTATIONS = Table(
    "split_mutations",
    "One row for each mutation in the private logs that `split-audit-log` read; no user's key or value is in it.",
    StructType(
        [
            *identity(),
            column("node", StringType(), "Replica server."),
            column("app_id", IntegerType(), "Id of the table."),
            column("partition", IntegerType(), "Index of the partition whose directory has the log."),
            column("log", StringType(), "Name of the log."),
            column("log_offset", LongType(), "Global offset of the mutation."),
            column("decree", LongType(), "Decree."),
            column(
                "ballot",
                LongType(),
                "Ballot; if a decree has several mutations, the one with the highest ballot counts.",
            ),
            column("committed", LongType(), "Last committed decree of the writer."),
            column("at", TimestampType(), "When the primary created the mutation, by its clock (UTC)."),
            column("codes", ArrayType(StringType()), "Task codes of its requests."),
            column("hashes", ArrayType(LongType()), "CRC-64 of the requests' keys, as signed numbers, each once."),
            column("digest", StringType(), "Digest of the requests; equal in parent and child."),
            column("empty", BooleanType(), "Whether the mutation has only empty writes."),
            twin("at"),
        ]
    ),
)
