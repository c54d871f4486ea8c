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

    A WalsafeError carries its own exit code. A path that Spark does not find is wrong usage (2). An OSError, or a Java
    exception caused by an I/O, network, Hadoop or login failure, is an unavailable source or sink (4). Anything else is
    a bug (1).
    """
    if isinstance(error, WalsafeError):
        return JobFailure(error.exit_code, type(error).__name__, str(error), error.condition)
    if isinstance(error, KeyboardInterrupt):
        return JobFailure(EXIT_INTERRUPTED, "Interrupted", "interrupted; the same command may be run again")
    if isinstance(error, OSError):
        return _unavailable(str(error))
    if type(error).__module__.split(".")[0] in _JVM_LIBRARIES:
        missing = _MISSING_PATH.search(str(error))
        if missing:
            return JobFailure(EXIT_USAGE, "UsageError", f"{missing.group(1)}; check the path", Condition.USAGE)
        cause = _JAVA_UNAVAILABLE.search(str(error))
        if cause:
            return _unavailable(cause.group(0).strip()[:_LONGEST_CAUSE])
    return JobFailure(
        EXIT_BUG, type(error).__name__, f"unexpected {type(error).__name__}: {_first_line(error)}", is_bug=True
    )


def _unavailable(cause: str) -> JobFailure:
    message = f"a source or sink is unavailable: {cause}; put it right and run the same command again"
    return JobFailure(EXIT_UNAVAILABLE, "UnavailableError", message, Condition.UNAVAILABLE)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "")
