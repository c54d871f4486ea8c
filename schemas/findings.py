"""Table `findings`: problems and oddities, with evidence and remedy."""

from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity

FINDINGS = Table(
    "findings",
    "What an operator should know; `key` stays the same from night to night.",
    StructType(
        [
            *identity(),
            column("key", StringType(), "Stable across nights: code and subject; used to acknowledge it."),
            column("code", StringType(), "Kind of finding; see docs/findings.md."),
            column("severity", StringType(), "error, warning or info."),
            column("subject", StringType(), "The queue, peer, server, file or directory it is about."),
            column("peer_id", StringType(), "Peer, where there is one."),
            column("server", StringType(), "Server, where there is one."),
            column("message", StringType(), "One sentence."),
            column("evidence", StringType(), "JSON: the values it was drawn from."),
            column("remedy", StringType(), "What to do."),
            column("files", LongType(), "Files concerned."),
            column("bytes", LongType(), "Their bytes."),
            column("first_seen", TimestampType(), "Start of step `files` of the first night it was seen (UTC)."),
            column("nights", IntegerType(), "Nights in a row, this one included."),
            column("is_new", BooleanType(), "Not in the cluster's previous run."),
            column("acknowledged", BooleanType(), "Acknowledged in the configuration: never changes the exit code."),
            column("acknowledged_reason", StringType(), "The words given there."),
            column("acknowledged_until", TimestampType(), "Until when it is acknowledged there (UTC)."),
        ]
    ),
)
