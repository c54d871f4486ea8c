"""Table `verdict_totals`: files and bytes by verdict and reason; reports over many nights read this small table."""

from pyspark.sql.types import LongType, StringType, StructType

from schemas.table import Table, column, identity

VERDICT_TOTALS = Table(
    "verdict_totals",
    "Files and bytes under oldWALs by verdict, reason and HBase's own verdict; a few rows each night.",
    StructType(
        [
            *identity(),
            column("verdict", StringType(), "DELETABLE or HELD."),
            column("reason", StringType(), "Reason of the verdict; see docs/verdicts.md."),
            column("hbase_verdict", StringType(), "HBase's own verdict: DELETE, KEEP or THROWS."),
            column("files", LongType(), "Files."),
            column("bytes", LongType(), "Bytes."),
            column("oldest_modification_age_ms", LongType(), "Longest time since archiving, ms."),
        ]
    ),
)
