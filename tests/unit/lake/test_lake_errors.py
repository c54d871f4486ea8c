"""What Delta and Hadoop say, turned into what a person can do; texts as the real classes gave them."""

from unittest.mock import Mock

import pytest

from pipelines.common.errors import UnavailableError, UsageError, WalsafeError
from pipelines.lake.lake_errors import is_conflict, is_damaged_file, lake_error, lake_errors, retry_commit

CONFLICT = "[DELTA_CONCURRENT_APPEND.WITH_PARTITION_HINT] Transaction conflict detected. a concurrent WRITE added data"
JAVA = "An error occurred while calling o1.save.\n: {}\n\tat org.apache.spark.sql.delta.X.x(X.scala:1)"


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("[DELTA_MISSING_DELTA_TABLE] `/l/t` is not a Delta table.", UsageError, "a folder of its own"),
        ("[PATH_NOT_FOUND] Path does not exist: /l/t.", UsageError, "check --lake"),
        (
            JAVA.format("org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading "
                        "file file:///l/t/_delta_log/00000000000000000001.json."),
            UsageError,
            "restore it from a backup",
        ),
        (
            JAVA.format("org.apache.spark.sql.delta.DeltaIllegalState: [DELTA_VERSIONS_NOT_CONTIGUOUS] (0, 2)"),
            UsageError,
            "transaction log is damaged: restore it from a backup; docs/runbook.md says",
        ),
        (
            JAVA.format("org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed")
            + "\nCaused by: java.io.IOException: No space left on device\n\tat java.base/x",
            UnavailableError,
            "free some space.*No space left on device",
        ),
        (JAVA.format("java.net.ConnectException: Call From vm to localhost:1 failed"), UnavailableError, "try again"),
        (
            JAVA.format("org.apache.hadoop.security.AccessControlException: Permission denied: user=a, access=WRITE"),
            UsageError,
            "check owner and permissions",
        ),
        (
            JAVA.format("org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading "
                        "file file:///l/t/part-0.parquet.")
            + "\nCaused by: java.lang.RuntimeException: file:///l/t/part-0.parquet is not a Parquet file (too short)",
            UsageError,
            "a data file is damaged: restore it from a backup",
        ),
        (
            JAVA.format("org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading "
                        "file hdfs://n/l/t/part-0.parquet.")
            + "\nCaused by: java.net.ConnectException: Call From vm to n:1 failed\n\tat org.apache.parquet.hadoop.X",
            UnavailableError,
            "try again",
        ),
        (JAVA.format('org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "foo"'), UsageError,
         "no file system for that URI"),
    ],
)  # fmt: skip
def test_known_errors_name_the_table_and_the_way_out(text: str, kind: type[WalsafeError], words: str) -> None:
    with pytest.raises(kind, match=f"(?s)Delta table /l/t: .*{words}"), lake_errors("/l/t"):
        raise RuntimeError(text)


@pytest.mark.parametrize(
    ("code", "cause", "damaged"),
    [
        ("NO_HINT", "java.lang.RuntimeException: file:/p is not a Parquet file. Expected magic number at tail", True),
        ("NO_HINT", "java.io.IOException: can not read class org.apache.parquet.format.PageHeader: closed", True),
        ("PARQUET_COLUMN_DATA_TYPE_MISMATCH", "SchemaColumnConvertNotSupportedException: column: [path]", True),
        ("FILE_NOT_EXIST", "java.io.FileNotFoundException: File file:/p does not exist", False),
        ("NO_HINT", "org.apache.hadoop.hdfs.BlockMissingException: Could not obtain block", False),
        ("NO_HINT", "java.net.ConnectException: Call From a to b failed on connection exception", False),
    ],
)
def test_only_what_is_in_a_file_is_damage(code: str, cause: str, damaged: bool) -> None:
    text = f": org.apache.spark.SparkException: [FAILED_READ_FILE.{code}] Encountered error\nCaused by: {cause}"
    assert is_damaged_file(RuntimeError(text)) == damaged


def test_a_conflict_is_left_to_the_retry() -> None:
    assert is_conflict(RuntimeError(CONFLICT))
    assert is_conflict(RuntimeError(JAVA.format("io.delta.exceptions.ConcurrentAppendException: x")))
    assert is_conflict(RuntimeError(JAVA.format("io.delta.exceptions.MetadataChangedException: x")))
    assert lake_error(RuntimeError(CONFLICT), "/l/t") is None


def test_a_rejected_commit_is_tried_again_and_the_last_attempt_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", slept := Mock())
    commit = Mock(side_effect=[RuntimeError(CONFLICT), None])
    retry_commit("/l/t", commit, 2)
    assert commit.call_count == 2
    with pytest.raises(UnavailableError, match="Delta table /l/t: other runs kept committing for 3 attempts"):
        retry_commit("/l/t", Mock(side_effect=RuntimeError(CONFLICT)), 3)
    assert slept.call_count == 1 + 2, "nobody waits after the last attempt"
    with pytest.raises(ZeroDivisionError):
        retry_commit("/l/t", Mock(side_effect=ZeroDivisionError), 3)


def test_other_errors_pass_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError), lake_errors("/l/t"):
        raise ZeroDivisionError
    with pytest.raises(UsageError, match=r"^mine$"), lake_errors("/l/t"):
        raise UsageError("mine")
