"""Table `findings`: problems and oddities, with evidence and remedy."""

from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity

FINDINGS = Table(
    "findings",
    "What an operator should know; `key` stays the same from night to night.",
    StructType(
        [
            *identity(),
            column("key", StringType(), "Code and subject, the same every night; used to acknowledge the finding."),
            column("code", StringType(), "Kind of finding; see docs/findings.md."),
            column("severity", StringType(), "error, warning or info."),
            column("subject", StringType(), "The queue, peer, server, file or directory that the finding is about."),
            column("peer_id", StringType(), "Peer that the finding is about, if there is one."),
            column("server", StringType(), "Server that the finding is about, if there is one."),
            column("message", StringType(), "One sentence."),
            column("evidence", StringType(), "The values on which the finding is based, as JSON."),
            column("remedy", StringType(), "What to do."),
            column("files", LongType(), "Files concerned."),
            column("bytes", LongType(), "Bytes of these files."),
            column("first_seen", TimestampType(), "Start of step `files` of the first night with this finding (UTC)."),
            column("nights", IntegerType(), "Number of consecutive nights with this finding, including this night."),
            column(
                "is_new",
                BooleanType(),
                "Whether the cluster's previous run of the job did not have this finding; for `inspect-wals` and the "
                "split jobs, whether no run of the last 40 days had it.",
            ),
            column(
                "acknowledged",
                BooleanType(),
                "Whether the configuration acknowledges the finding; then it never changes the exit code.",
            ),
            column("acknowledged_reason", StringType(), "The reason that the configuration gives."),
            column("acknowledged_until", TimestampType(), "Until when the configuration acknowledges it (UTC)."),
            column("host", StringType(), "Host of `server`."),
        ]
    ),
)
