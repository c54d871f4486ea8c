"""Table `runs`: a STARTED row before a run begins its work, and a terminal row after it."""

from pyspark.sql.types import ArrayType, BooleanType, IntegerType, LongType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity, twin

ACCEPTED = ArrayType(
    StructType(
        [
            column("expectation", StringType(), "The expectation that a person overruled."),
            column("reason", StringType(), "The reason that the person gave."),
        ]
    )
)

RUNS = Table(
    "runs",
    "One STARTED and one terminal row for each attempt at a run; a STARTED row alone is a run that died.",
    StructType(
        [
            *identity(),
            column("job", StringType(), "Name of the job, as typed in the command: reconcile …"),
            column("attempt", StringType(), "Random id that ties a STARTED row to its terminal row."),
            column("status", StringType(), "STARTED, DONE, REFUSED or FAILED."),
            column("mode", StringType(), "NIGHTLY, or REPLAY past not_after: tables, but no list."),
            column("at", TimestampType(), "When the row was written (UTC)."),
            column("reason", StringType(), "Why the run was refused or failed, and what to do about it."),
            column(
                "exit_code",
                IntegerType(),
                "This cluster's own exit code; NULL while STARTED, and after an error that walsafe does not know.",
            ),
            column("files_started_at", TimestampType(), "Start of the capture's step `files`; ages count from it."),
            column("not_after", TimestampType(), "After this no list is emitted and no list may be acted on."),
            column("snapshot_uri", StringType(), "Path from which the snapshot was read."),
            column("snapshot_sha256", StringType(), "SHA-256 of snapshot.json."),
            column("config_sha256", StringType(), "SHA-256 of the effective configuration without its secrets."),
            column("walsafe_version", StringType(), "Version of walsafe that decided."),
            column("spark_app_id", StringType(), "Spark application id."),
            column("run_by", StringType(), "User who ran the job."),
            column("quiet", BooleanType(), "Whether no server left and no queue moved during the capture."),
            column("accepted", ACCEPTED, "Expectations that a person overruled with --accept."),
            column("files", LongType(), "Number of files under oldWALs."),
            column("bytes", LongType(), "Bytes of these files."),
            column(
                "deletable_files", LongType(), "Number of DELETABLE files; they are on the list if list_uri is set."
            ),
            column("deletable_bytes", LongType(), "Bytes of these files."),
            column("list_uri", StringType(), "Directory of the delete-safe list; NULL = there is no list."),
            column("peer_ids", ArrayType(StringType()), "The replication peers of the snapshot, sorted."),
            column("cluster_id", StringType(), "The content of hbase.id, as the snapshot has it; NULL = unknown."),
            column(
                "capacity_bytes", LongType(), "Bytes that oldWALs and the quarantine may take together: `capacity`."
            ),
            column("free_bytes", LongType(), "Bytes of files that the file system could still take, if captured."),
            column("valid_for_reason", StringType(), "Why its lists are valid for this time: list.valid_for_reason."),
            column(
                "seq",
                IntegerType(),
                "1 in a STARTED row, 2 in a terminal row: ORDER BY at, seq puts the rows of a run in order.",
            ),
            twin("at"),
        ]
    ),
)
