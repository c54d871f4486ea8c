"""Table `split_logs`: private logs, and whether they may be deleted."""

from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from schemas.table import Table, column, identity

SPLIT_LOGS = Table(
    "split_logs",
    "One row for each private log that `split-audit-log` read, with its verdict.",
    StructType(
        [
            *identity(),
            column("node", StringType(), "Replica server: the directories between the root and the replica's."),
            column("app_id", IntegerType(), "Id of the table."),
            column("partition", IntegerType(), "Index of the partition."),
            column("log", StringType(), "Name of the file."),
            column("log_index", IntegerType(), "Index of its name; they follow each other."),
            column("start_offset", LongType(), "Global offset of its first byte."),
            column("length", LongType(), "Bytes up to its last whole block."),
            column("ending", StringType(), "WHOLE, TORN (inside of its last block), NO_HEADER, CORRUPT, UNREADABLE."),
            column("problem", StringType(), "The first thing that is wrong with it; NULL = nothing is."),
            column("bad_blocks", IntegerType(), "Blocks with a wrong CRC or with something that is no mutation."),
            column("mutations", IntegerType(), "Mutations that could be read."),
            column("min_decree", LongType(), "Smallest decree."),
            column("max_decree", LongType(), "Largest decree."),
            column("min_ballot", LongType(), "Smallest ballot."),
            column("max_ballot", LongType(), "Largest ballot."),
            column("max_decree_before", LongType(), "Largest decree of the logs before it, by its header."),
            column("foreign", IntegerType(), "Mutations of another partition than the directory's."),
            column("ballots_back", IntegerType(), "Mutations with a lower ballot than one before them."),
            column("undecoded", IntegerType(), "Requests that cannot be replayed from the log alone."),
            column("verdict", StringType(), "DELETABLE or HELD."),
            column("reason", StringType(), "Why; see docs/split-audit-log.md."),
        ]
    ),
)
