"""Maps an exception to an exit code and a one-line message."""

import re
from dataclasses import dataclass

from pipelines.common.conditions import Condition
from pipelines.common.errors import EXIT_UNAVAILABLE, EXIT_USAGE, WalsafeError

EXIT_BUG = 1
EXIT_INTERRUPTED = 130

_JVM_LIBRARIES = ("py4j", "pyspark")
# Exceptions of Java and Hadoop for "the other side did not answer" and "the disk refused"; a bug never looks like this.
_JAVA_UNAVAILABLE = re.compile(
    r"(?:java\.io\.(?:\w*IO|FileNotFound|EOF|Interrupted\w*)Exception"
    r"|java\.net\.\w+Exception"
    r"|java\.nio\.(?:file\.\w+|channels\.\w+)Exception"
    r"|org\.apache\.hadoop\.\w+(?:\.\w+)*\.\w*Exception"
    r"|javax\.security\.\w+(?:\.\w+)*\.\w*Exception)"
    r"(?::[^\n]*)?"
)
_MISSING_PATH = re.compile(r"\[PATH_NOT_FOUND\] (Path does not exist: \S+?)\.? ")
# py4j's only words for a call that a dead JVM did not answer; it adds the exception of Java where there is one
_UNANSWERED = re.compile(r"An error occurred while calling \S+")
_SPARK_ENDED = re.compile(
    r"ExecutorLostFailure[^\n]*|SparkContext was shut down|Cannot call methods on a stopped SparkContext"
    r"|return value of \"org\.apache\.spark\.(?:SparkContext\.\w+|SparkEnv\$\.get)\(\)\" is null"
    r"|java\.lang\.OutOfMemoryError[^\n]*"
)
_NO_LIBRARY = re.compile(r"UnsatisfiedLinkError: ([^\s:]+): [^\n]*failed to map segment")
_LONGEST_CAUSE = 400


@dataclass(frozen=True, slots=True)
class JobFailure:
    """The outcome of an exception.

    Attributes:
        exit_code: of the process.
        kind: the class of the error, stable for programs.
        message: for the user.
        condition: its name for programs (docs/conditions.md); None for a bug and an interruption.
        is_bug: the exception was not expected, so its traceback belongs in the log.
    """

    exit_code: int
    kind: str
    message: str
    condition: Condition | None = None
    is_bug: bool = False

    def line(self, job: str) -> str:
        """Returns the line for standard error."""
        return f"walsafe {job}: {self.message}"


def failure_of(error: BaseException) -> JobFailure:
    """Maps an exception to a failure.

    A WalsafeError carries its own exit code. A path that Spark does not find, or a temporary folder from which Java may
    load no library, is wrong usage (2). A JVM or executors that ended are unavailable (4), and so is a source or sink
    after an OSError, or after a Java exception caused by an I/O, network, Hadoop or login failure. Anything else is a
    bug (1).
    """
    if isinstance(error, WalsafeError):
        return JobFailure(error.exit_code, type(error).__name__, str(error), error.condition)
    if isinstance(error, KeyboardInterrupt):
        return JobFailure(EXIT_INTERRUPTED, "Interrupted", "interrupted; the same command may be run again")
    if _lost_the_jvm(error):
        return spark_ended("the JVM did not answer")
    if isinstance(error, OSError):
        return _unavailable(str(error))
    if type(error).__module__.split(".")[0] in _JVM_LIBRARIES:
        try:
            text = str(error)
        except Exception:  # noqa: BLE001 - py4j asks the JVM for the words of its exception
            return spark_ended("the JVM did not answer")
        missing = _MISSING_PATH.search(text)
        if missing:
            return _usage(f"{missing.group(1)}; check the path")
        library = _NO_LIBRARY.search(text)
        if library:
            return _usage(
                f"Java may not load {library.group(1)}: mount this folder without noexec, or name another one, for "
                "example SPARK_SUBMIT_ARGS='--driver-java-options -Djava.io.tmpdir=/var/lib/walsafe/tmp'"
            )
        ended = _SPARK_ENDED.search(text)
        if ended:
            return spark_ended(ended.group(0).strip()[:_LONGEST_CAUSE])
        cause = _JAVA_UNAVAILABLE.search(text)
        if cause:
            return _unavailable(cause.group(0).strip()[:_LONGEST_CAUSE])
    return JobFailure(
        EXIT_BUG, type(error).__name__, f"unexpected {type(error).__name__}: {_first_line(error)}", is_bug=True
    )


def _lost_the_jvm(error: BaseException | None) -> bool:
    """Whether py4j lost the JVM first; who then asks the dead JVM again gets another error."""
    while error is not None:
        name = type(error).__name__
        if name == "Py4JNetworkError" or (name == "Py4JError" and _UNANSWERED.fullmatch(str(error))):
            return True
        error = error.__cause__ or error.__context__
    return False


def _usage(message: str) -> JobFailure:
    return JobFailure(EXIT_USAGE, "UsageError", message, Condition.USAGE)


def spark_ended(cause: str) -> JobFailure:
    """Returns the failure of a job whose Spark is gone: only another application can try again."""
    way = (
        "see the log above, give it more memory (--driver-memory, --executor-memory), and start the same command again"
    )
    message = f"Spark's JVM or its executors ended ({cause}); {way}"
    return JobFailure(EXIT_UNAVAILABLE, "UnavailableError", message, Condition.SPARK_ENDED)


def _unavailable(cause: str) -> JobFailure:
    message = f"a source or sink is unavailable: {cause}; put it right and run the same command again"
    return JobFailure(EXIT_UNAVAILABLE, "UnavailableError", message, Condition.UNAVAILABLE)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "")
