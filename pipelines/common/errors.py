"""The errors that walsafe raises on purpose, and the exit code of each.

Every message ends with what the user can do. A traceback appears only for a bug.
"""

EXIT_DONE = 0
EXIT_USAGE = 2
EXIT_REFUSED = 3
EXIT_UNAVAILABLE = 4
EXIT_PARTIAL = 5


class WalsafeError(Exception):
    """Base class of all errors that walsafe raises on purpose; `exit_code` is the process's exit code."""

    exit_code = EXIT_USAGE


class UsageError(WalsafeError):
    """Wrong arguments, wrong configuration or an ambiguous question: the user must change the call (exit 2)."""

    exit_code = EXIT_USAGE


class RefusedError(WalsafeError):
    """To continue could lose data, so the job wrote nothing (exit 3)."""

    exit_code = EXIT_REFUSED


class SnapshotError(RefusedError):
    """The snapshot cannot be trusted: it is truncated, edited, out of order or unreadable (exit 3)."""


class UnavailableError(WalsafeError):
    """A source or sink did not answer; the same command may succeed later (exit 4)."""

    exit_code = EXIT_UNAVAILABLE


class MalformedError(ValueError):
    """HBase's own parser would throw on this name, row or offset; callers turn it into a verdict or a finding."""
