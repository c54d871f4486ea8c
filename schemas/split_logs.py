"""Table `split_logs`: private logs, and whether they may be deleted."""

from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from schemas.table import Table, column, identity, twin

SPLIT_LOGS = Table(
    "split_logs",
    "One row for each private log that `split-audit-log` read, with its verdict.",
    StructType(
        [
            *identity(),
            column(
                "node",
                StringType(),
                "Replica server, named by the directories between the root and the replica's directory.",
            ),
            column("app_id", IntegerType(), "Id of the table."),
            column("partition", IntegerType(), "Index of the partition."),
            column("log", StringType(), "Name of the file."),
            column(
                "log_index", IntegerType(), "Index in the log's name; the logs of a replica have consecutive indexes."
            ),
            column("start_offset", LongType(), "Global offset of the log's first byte."),
            column("length", LongType(), "Bytes up to the end of the log's last whole block."),
            column("ending", StringType(), "WHOLE, TORN (ends inside its last block), NO_HEADER, CORRUPT, UNREADABLE."),
            column("problem", StringType(), "The first problem found in the log; NULL = none."),
            column("bad_blocks", IntegerType(), "Number of blocks with a wrong CRC or an invalid mutation."),
            column("mutations", IntegerType(), "Number of mutations that could be read."),
            column("min_decree", LongType(), "Smallest decree."),
            column("max_decree", LongType(), "Largest decree."),
            column("min_ballot", LongType(), "Smallest ballot."),
            column("max_ballot", LongType(), "Largest ballot."),
            column("max_decree_before", LongType(), "Largest decree of earlier logs, according to the log's header."),
            column("foreign", IntegerType(), "Number of mutations of another partition than the directory's."),
            column("ballots_back", IntegerType(), "Number of mutations with a lower ballot than an earlier mutation."),
            column("undecoded", IntegerType(), "Number of requests that cannot be replayed from the log alone."),
            column("verdict", StringType(), "DELETABLE or HELD."),
            column("reason", StringType(), "Reason of the verdict; see docs/split-audit-log.md."),
            twin("foreign"),
            column(
                "valid_offset",
                LongType(),
                "Global offset from which the replica's mutations count, according to the log's header.",
            ),
        ]
    ),
)
