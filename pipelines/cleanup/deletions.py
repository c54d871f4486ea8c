"""Values of the clean-up's audit (table `deletions`): an intent before a file is touched, an outcome after."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class CleanupAction(StrEnum):
    """What a job does to files."""

    CLEAN = "CLEAN"
    RESTORE = "RESTORE"
    PURGE = "PURGE"


class FileOutcome(StrEnum):
    """The outcome of one file."""

    MOVED = "MOVED"
    ALREADY_GONE = "ALREADY_GONE"
    CHANGED = "CHANGED"
    REFUSED = "REFUSED"
    FAILED = "FAILED"
    RESTORED = "RESTORED"
    PURGED = "PURGED"
    ARCHIVED = "ARCHIVED"


DONE_OUTCOMES = frozenset({FileOutcome.MOVED, FileOutcome.RESTORED, FileOutcome.PURGED, FileOutcome.ARCHIVED})
"""With these outcomes the job has done its work on the file."""
LEFT_OUTCOMES = frozenset({FileOutcome.CHANGED, FileOutcome.REFUSED, FileOutcome.FAILED})
"""With these outcomes the file is still where it was; the audit says why."""
PLACING_OUTCOMES = frozenset(FileOutcome) - LEFT_OUTCOMES
"""The last of these outcomes determines where a file is; other outcomes do not change its place."""


@dataclass(frozen=True, slots=True)
class CleanupFile:
    """A file that the clean-up works on.

    Attributes:
        path: relative to wal_root.
        length: bytes.
        modification_time: ms since the epoch; a rename keeps it, so it distinguishes files of the same name.
        reason: the reason of the second look's verdict.
    """

    path: str
    length: int
    modification_time: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class FileResult:
    """The outcome of one file.

    Attributes:
        place: the URI of the file now, if it is in the quarantine or the archive.
        why: why the file was left, as text for a person.
        error: the error message of the file system.
    """

    subject: CleanupFile
    outcome: FileOutcome
    place: str | None = None
    why: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class CleanupTally:
    """The sums of an attempt: files and bytes."""

    done_files: int = 0
    done_bytes: int = 0
    left_files: int = 0
    left_bytes: int = 0
    gone_files: int = 0

    @property
    def files(self) -> int:
        """Returns the number of all files that have a result."""
        return self.done_files + self.left_files + self.gone_files

    def plus(self, results: Iterable[FileResult]) -> "CleanupTally":
        """Returns the tally with these results added."""
        done_files, done_bytes, left_files, left_bytes = (
            self.done_files, self.done_bytes, self.left_files, self.left_bytes
        )  # fmt: skip
        gone = self.gone_files
        for result in results:
            if result.outcome in DONE_OUTCOMES:
                done_files, done_bytes = done_files + 1, done_bytes + result.subject.length
            elif result.outcome is FileOutcome.ALREADY_GONE:
                gone += 1
            else:
                left_files, left_bytes = left_files + 1, left_bytes + result.subject.length
        return CleanupTally(done_files, done_bytes, left_files, left_bytes, gone)
