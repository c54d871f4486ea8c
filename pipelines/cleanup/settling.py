"""What became of an intent whose outcome was never written: the file system says."""

from dataclasses import dataclass

from pipelines.cleanup.deletions import Action, FileOutcome, Result, Subject

INTERRUPTED = "the job ended before it was done"
GONE = "it is neither below oldWALs nor in the quarantine"
SWAPPED = "it is not below oldWALs, and another file of its name rests in the quarantine"


@dataclass(frozen=True, slots=True)
class Places:
    """Where an intent's file was found.

    Attributes:
        at_home: the very file (length and time) is below oldWALs.
        in_quarantine: the very file is in the quarantine.
        taken: some file is there in the quarantine, this one or another.
    """

    at_home: bool
    in_quarantine: bool
    taken: bool = False


def settled(action: Action, subject: Subject, found: Places, place: str, archive: str | None = None) -> Result:
    """The outcome of an intent that a dead job left.

    A rename is atomic, so the file is in one of the two places, unless somebody took it from oldWALs, as HBase's own
    cleaner does.

    Args:
        action: of the intent.
        subject: of the intent.
        found: where it is now.
        place: its URI in the quarantine.
        archive: where it was to be kept, and compared, before it was deleted.
    """
    if action is Action.CLEAN:
        if found.in_quarantine:
            return Result(subject, FileOutcome.MOVED, place)
        if found.at_home:
            return _left(subject)
        if found.taken:
            return Result(subject, FileOutcome.FAILED, place, why=SWAPPED)
        return Result(subject, FileOutcome.ALREADY_GONE, why=GONE)
    if found.in_quarantine:
        return _left(subject, place)
    # not in the quarantine any more: put back (and perhaps taken by HBase since), or deleted
    if action is Action.RESTORE:
        return Result(subject, FileOutcome.RESTORED)
    return Result(subject, FileOutcome.ARCHIVED if archive else FileOutcome.PURGED, archive)


def _left(subject: Subject, place: str | None = None) -> Result:
    return Result(subject, FileOutcome.FAILED, place, why=INTERRUPTED)
