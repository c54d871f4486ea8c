"""What the exceptions of the JVM mean."""

import pytest

from jobs.cli import failures
from pipelines.common.conditions import Condition


def jvm_error(text: str, name: str = "Py4JJavaError") -> Exception:
    return type(name, (Exception,), {"__module__": "py4j.protocol"})(text)


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


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (jvm_error("Answer from Java side is empty", "Py4JNetworkError"), "the JVM did not answer"),
        (jvm_error("An error occurred while calling o21.sc", "Py4JError"), "the JVM did not answer"),
        (
            jvm_error("x: Lost task 0.3: ExecutorLostFailure (executor 1 exited) Reason: exited with code 137\n\tat x"),
            "ExecutorLostFailure (executor 1 exited) Reason: exited with code 137",
        ),
        (jvm_error("Job 7 cancelled because SparkContext was shut down\n\tat x"), "SparkContext was shut down"),
        (
            jvm_error('x: because the return value of "org.apache.spark.SparkContext.dagScheduler()" is null'),
            "SparkContext.dagScheduler",
        ),
        (jvm_error("x: java.lang.OutOfMemoryError: Java heap space\n\tat x"), "OutOfMemoryError: Java heap space"),
    ],
)
def test_a_spark_that_ended_is_unavailable_and_not_a_bug(error: Exception, words: str) -> None:
    failure = failures.failure_of(error)
    assert (failure.exit_code, failure.is_bug, failure.condition) == (4, False, Condition.SPARK_ENDED)
    assert failure.message.startswith("Spark's JVM or its executors ended (")
    assert words in failure.message
    assert "--driver-memory" in failure.message


def test_the_second_question_to_a_dead_jvm_is_told_as_the_first() -> None:
    refused = ConnectionRefusedError(111, "Connection refused")
    refused.__context__ = jvm_error("Answer from Java side is empty", "Py4JNetworkError")
    assert "the JVM did not answer" in failures.failure_of(refused).message
    assert "source or sink" in failures.failure_of(ConnectionRefusedError(111, "Connection refused")).message


def test_an_exception_whose_words_only_the_dead_jvm_knows_is_unavailable() -> None:
    def refuse(_error: Exception) -> str:
        raise ConnectionRefusedError

    silent = type("Py4JJavaError", (Exception,), {"__module__": "py4j.protocol", "__str__": refuse})()
    assert failures.failure_of(silent).exit_code == 4


def test_a_folder_from_which_java_may_load_no_library_is_wrong_usage() -> None:
    file = "/tmp/libzstd-jni-1.5.7-71.so"  # noqa: S108 - as Java says it
    cause = f"Exception java.lang.UnsatisfiedLinkError: {file}: {file}: failed to map segment from shared object"
    failure = failures.failure_of(jvm_error(f"x\nCaused by: java.lang.ExceptionInInitializerError: {cause}\n"))
    assert failure.exit_code == 2
    assert failure.message.startswith(f"Java may not load {file}: mount this folder without noexec")
    assert "-Djava.io.tmpdir=" in failure.message
