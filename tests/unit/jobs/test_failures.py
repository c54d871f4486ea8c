"""What the exceptions of the JVM mean."""

import pytest

from jobs.cli import failures


def jvm_error(text: str) -> Exception:
    return type("Py4JJavaError", (Exception,), {"__module__": "py4j.protocol"})(text)


@pytest.mark.parametrize(
    "cause",
    [
        "java.io.IOException: No space left on device",
        "java.io.FileNotFoundException: /lake/_delta_log (Permission denied)",
        "java.net.ConnectException: Call From edge1 to nn:8020 failed on connection exception",
        "java.net.UnknownHostException: ns1",
        "org.apache.hadoop.hdfs.server.namenode.SafeModeException: Name node is in safe mode",
        "org.apache.hadoop.security.AccessControlException: Permission denied: user=walsafe",
        "org.apache.hadoop.ipc.StandbyException: Operation category READ is not supported in state standby",
        "javax.security.auth.login.LoginException: Unable to obtain password from user",
    ],
)
def test_io_in_the_chain_of_causes_is_unavailable(cause: str) -> None:
    text = f"An error occurred while calling o1.save.\n: SparkException: Job aborted.\n\tat x.y\nCaused by: {cause}\n"
    failure = failures.failure_of(jvm_error(text))
    assert failure.exit_code == 4
    assert cause in failure.message
    assert "\n" not in failure.message


@pytest.mark.parametrize(
    "text",
    [
        "java.lang.NullPointerException: of our own making",
        "org.apache.spark.sql.AnalysisException: [UNRESOLVED_COLUMN] x",
        "java.lang.IllegalArgumentException: java.iou",
    ],
)
def test_everything_else_of_the_jvm_is_a_bug(text: str) -> None:
    assert failures.failure_of(jvm_error(text)).exit_code == 1


def test_the_same_words_from_elsewhere_are_a_bug() -> None:
    assert failures.failure_of(ValueError("java.io.IOException: x")).is_bug


def test_a_path_that_does_not_exist_is_wrong_usage() -> None:
    failure = failures.failure_of(jvm_error("[PATH_NOT_FOUND] Path does not exist: hdfs://ns1/x. SQLSTATE: 42K03"))
    assert (failure.exit_code, failure.message) == (2, "Path does not exist: hdfs://ns1/x; check the path")
