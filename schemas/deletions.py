"""Table `deletions`: the actions of the clean-up on each file, an intent before and an outcome after."""

from pyspark.sql.types import IntegerType, LongType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity, twin

DELETIONS = Table(
    "deletions",
    "Every file that clean, restore or purge touched or left, with an INTENT row before and an OUTCOME row "
    "after. An INTENT "
    "row without its OUTCOME row belongs to a job that died; the next job settles it.",
    StructType(
        [
            *identity(),
            column("path", StringType(), "Path of the file relative to wal_root, as in the snapshot."),
            column("action", StringType(), "CLEAN, RESTORE or PURGE."),
            column("phase", StringType(), "INTENT or OUTCOME."),
            column(
                "outcome",
                StringType(),
                "MOVED, ALREADY_GONE, CHANGED, REFUSED, FAILED, RESTORED, PURGED or ARCHIVED; NULL in an INTENT row.",
            ),
            column("reason", StringType(), "The reason of the verdict at the second look, or why the file was left."),
            column("length", LongType(), "Bytes."),
            column("modification_time", TimestampType(), "Modification time of the file (UTC); a rename keeps it."),
            column(
                "place",
                StringType(),
                "URI of the file in the quarantine once it is there, and in CLEAN's INTENT rows; for ARCHIVED and in "
                "PURGE's INTENT rows, in the archive.",
            ),
            column("attempt", StringType(), "Id of the attempt; joins the row with its rows in `cleanups`."),
            column("lease", LongType(), "Number of the lease that the job held; it rises with every job."),
            column("batch", IntegerType(), "Number of the batch within the attempt."),
            column("at", TimestampType(), "When the row was written (UTC)."),
            column("done_by", StringType(), "User who ran the job."),
            column("host", StringType(), "Host on which the job's driver ran."),
            column("error", StringType(), "The error message of the file system."),
            twin("at"),
        ]
    ),
    checkpoint_interval=50,  # a clean-up commits twice for each batch; Spark's commit takes seconds of a long one
)
