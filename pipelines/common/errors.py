"""The errors a person can act on, and the exit code each one carries.

Every message ends with the way out; a traceback is for bugs alone.
"""

EXIT_DONE = 0
EXIT_USAGE = 2
EXIT_REFUSED = 3
EXIT_UNAVAILABLE = 4
EXIT_PARTIAL = 5


class WalsafeError(Exception):
    """Root of all errors that walsafe raises on purpose; `exit_code` is the process's answer."""

    exit_code = EXIT_USAGE


class UsageError(WalsafeError):
    """Wrong arguments, configuration or an ambiguous question: the caller changes the call (exit 2)."""

    exit_code = EXIT_USAGE


class RefusedError(WalsafeError):
    """Going on could lose data, so nothing was emitted (exit 3)."""

    exit_code = EXIT_REFUSED


class SnapshotError(RefusedError):
    """The snapshot cannot be trusted: truncated, tampered with, out of order or unreadable (exit 3)."""


class UnavailableError(WalsafeError):
    """A source or sink did not answer; the same command may succeed later (exit 4)."""

    exit_code = EXIT_UNAVAILABLE


class MalformedError(ValueError):
    """A name, row or offset that HBase's own parser would throw on; callers turn it into a verdict or a finding."""
