"""The errors that walsafe raises on purpose, and the exit code of each.

Every message ends with what the user can do. Programs ask for the condition, never for words of a message
(pipelines/common/conditions.py). A traceback appears only for a bug.
"""

from pipelines.common.conditions import Condition

EXIT_DONE = 0
EXIT_USAGE = 2
EXIT_REFUSED = 3
EXIT_UNAVAILABLE = 4
EXIT_PARTIAL = 5


class WalsafeError(Exception):
    """Base class of all errors that walsafe raises on purpose.

    Attributes:
        exit_code: the process's exit code.
        condition: the stable name of the error for programs.
    """

    exit_code = EXIT_USAGE

    def __init__(self, message: str, condition: Condition) -> None:
        super().__init__(message)
        self.condition = condition


class UsageError(WalsafeError):
    """Wrong arguments, wrong configuration or an ambiguous question: the user must change the call (exit 2)."""

    exit_code = EXIT_USAGE

    def __init__(self, message: str, *, condition: Condition = Condition.USAGE) -> None:
        super().__init__(message, condition)


class RefusedError(WalsafeError):
    """To continue could lose data, so the job wrote nothing (exit 3)."""

    exit_code = EXIT_REFUSED

    def __init__(self, condition: Condition, message: str) -> None:
        super().__init__(message, condition)

    def __reduce__(self) -> tuple[object, ...]:  # a Spark task returns its error pickled
        return type(self), (self.condition, str(self))


class SnapshotError(RefusedError):
    """The snapshot cannot be trusted: it is truncated, edited, out of order or unreadable (exit 3)."""


class UnavailableError(WalsafeError):
    """A source or sink did not answer; the same command may succeed later (exit 4)."""

    exit_code = EXIT_UNAVAILABLE

    def __init__(self, message: str, *, condition: Condition = Condition.UNAVAILABLE) -> None:
        super().__init__(message, condition)


class SparkNeededError(Exception):
    """This process has no Spark, and only Spark can answer; no user sees it, because Spark is started instead."""


class MalformedError(ValueError):
    """HBase's own parser would throw on this name, row or offset; callers turn it into a verdict or a finding."""
