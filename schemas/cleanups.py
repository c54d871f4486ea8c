"""Table `cleanups`: a STARTED row before clean, restore or purge begins, and a terminal row after it."""

from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity, twin

CLEANUPS = Table(
    "cleanups",
    "One STARTED and one terminal row for each attempt at clean, restore or purge; a lone STARTED row is an "
    "attempt that died.",
    StructType(
        [
            *identity(),
            column("action", StringType(), "CLEAN, RESTORE or PURGE."),
            column("attempt", StringType(), "Random id of the attempt."),
            column("status", StringType(), "STARTED, DONE, STOPPED, REFUSED or FAILED."),
            column("at", TimestampType(), "When the row was written (UTC)."),
            column(
                "reason",
                StringType(),
                "Why the attempt stopped, was refused or failed; or the reason given with --before-grace.",
            ),
            column("resumed", BooleanType(), "Whether it continued an earlier attempt."),
            column("lease", LongType(), "Number of the lease."),
            column(
                "recheck_sha256",
                StringType(),
                "SHA-256 of the snapshot.json that the second look at the cluster wrote.",
            ),
            column(
                "list_files",
                LongType(),
                "Files that the attempt was to work on: of CLEAN the delete-safe list, of PURGE what rests in the "
                "quarantine, of RESTORE what was asked for.",
            ),
            column("list_bytes", LongType(), "Bytes of these files."),
            column("done_files", LongType(), "Files moved, restored, purged or archived by this attempt."),
            column("done_bytes", LongType(), "Bytes of these files."),
            column("left_files", LongType(), "Files left where they were: changed, refused or failed."),
            column("gone_files", LongType(), "Files that were gone already; who removed them is not known."),
            column(
                "exit_code",
                IntegerType(),
                "Exit code of the job; NULL in a STARTED row, and if the job was interrupted or failed unexpectedly.",
            ),
            column("walsafe_version", StringType(), "Version of walsafe that ran."),
            column("done_by", StringType(), "User who ran the job."),
            column("host", StringType(), "Host on which the job's driver ran."),
            twin("at"),
        ]
    ),
)
