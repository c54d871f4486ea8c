"""The audit of the clean-up: an intent before anything is touched, an outcome after (table `deletions`)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Action(str, Enum):
    """What a job does to files."""

    CLEAN = "CLEAN"
    RESTORE = "RESTORE"
    PURGE = "PURGE"


class FileOutcome(str, Enum):
    """What became of one file."""

    MOVED = "MOVED"
    ALREADY_GONE = "ALREADY_GONE"
    CHANGED = "CHANGED"
    REFUSED = "REFUSED"
    FAILED = "FAILED"
    RESTORED = "RESTORED"
    PURGED = "PURGED"
    ARCHIVED = "ARCHIVED"


DONE_OUTCOMES = frozenset({FileOutcome.MOVED, FileOutcome.RESTORED, FileOutcome.PURGED, FileOutcome.ARCHIVED})
"""The job did to the file what it was started for."""
LEFT_OUTCOMES = frozenset({FileOutcome.CHANGED, FileOutcome.REFUSED, FileOutcome.FAILED})
"""The file is where it was; somebody may want to know why."""
PLACING_OUTCOMES = frozenset(FileOutcome) - LEFT_OUTCOMES
"""Where a file is follows from the last of these; an outcome that left it alone says nothing new."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One file of the clean-up.

    Attributes:
        path: relative to wal_root.
        length: bytes.
        modification_time: ms since the epoch; a rename keeps it, so it tells a file from another of its name.
        reason: of the verdict when it was decided again.
    """

    path: str
    length: int
    modification_time: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a subject.

    Attributes:
        place: where it is now, when that is the quarantine or the archive.
        why: why it was left; a person reads it.
        error: the file system's words.
    """

    subject: Subject
    outcome: FileOutcome
    place: str | None = None
    why: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums of an attempt; files and bytes."""

    done_files: int = 0
    done_bytes: int = 0
    left_files: int = 0
    left_bytes: int = 0
    gone_files: int = 0

    @property
    def files(self) -> int:
        """All that were looked at."""
        return self.done_files + self.left_files + self.gone_files

    def plus(self, results: Iterable[Result]) -> "Tally":
        """The tally after some more results."""
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
        return Tally(done_files, done_bytes, left_files, left_bytes, gone)
