"""Table `deletions`: the actions of the clean-up on each file, an intent before and an outcome after."""

from pyspark.sql.types import IntegerType, LongType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity

DELETIONS = Table(
    "deletions",
    "Every file that clean, restore or purge touched or left: an INTENT row before, an OUTCOME row after. An INTENT "
    "without its OUTCOME belongs to a job that died; the next one settles it.",
    StructType(
        [
            *identity(),
            column("path", StringType(), "Relative to wal_root, as in the snapshot."),
            column("action", StringType(), "CLEAN, RESTORE or PURGE."),
            column("phase", StringType(), "INTENT or OUTCOME."),
            column(
                "outcome",
                StringType(),
                "MOVED, ALREADY_GONE, CHANGED, REFUSED, FAILED, RESTORED, PURGED or ARCHIVED; NULL in an INTENT row.",
            ),
            column("reason", StringType(), "The verdict's reason when it was decided again, or why the file was left."),
            column("length", LongType(), "Bytes."),
            column("modification_time", TimestampType(), "Of the file (UTC); a rename keeps it."),
            column(
                "place",
                StringType(),
                "URI in the quarantine, once it rests there; in the archive for ARCHIVED, and in PURGE's INTENT rows.",
            ),
            column("attempt", StringType(), "Ties the row to its rows in `cleanups`."),
            column("lease", LongType(), "Number of the lease under which it was done; rises with every job."),
            column("batch", IntegerType(), "Number of the batch within the attempt."),
            column("at", TimestampType(), "When the row was written (UTC)."),
            column("done_by", StringType(), "User who ran the job."),
            column("host", StringType(), "Where the job's driver ran."),
            column("error", StringType(), "What went wrong, in the file system's words."),
        ]
    ),
)
