"""Table `verdict_changes`: what each night changed, by verdict and reason before and after."""

from pyspark.sql.types import LongType, StringType, StructType

from schemas.table import Table, column, identity

VERDICT_CHANGES = Table(
    "verdict_changes",
    "Files under oldWALs whose verdict or reason is another one than on the cluster's night before, that are new or "
    "that are gone, by old and new verdict; a few rows each night, none on a first night.",
    StructType(
        [
            *identity(),
            column("previous_run_id", StringType(), "The run of the night before with which it was compared."),
            column("from_verdict", StringType(), "Verdict on the night before; NULL = the file is new."),
            column("from_reason", StringType(), "Reason on the night before."),
            column("to_verdict", StringType(), "Verdict on this night; NULL = the file is gone."),
            column("to_reason", StringType(), "Reason on this night."),
            column("files", LongType(), "Files."),
            column("bytes", LongType(), "Bytes of these files; of files that are gone, as on the night before."),
        ]
    ),
)
