"""Determines the outcome of an open intent from the present place of the file."""

from dataclasses import dataclass

from pipelines.cleanup.deletions import CleanupAction, CleanupFile, FileOutcome, FileResult

INTERRUPTED = "the job ended before it was done"
GONE = "it is neither below oldWALs nor in the quarantine"
SWAPPED = "it is not below oldWALs, and another file of its name rests in the quarantine"
REPLACED = "another file of its name rests in the quarantine: whether it left before that is not known"

PUT_BACK = "it is below oldWALs: somebody put it back"


@dataclass(frozen=True, slots=True)
class FoundPlaces:
    """Where the file of an intent was found.

    Attributes:
        at_home: whether exactly this file (by length and time) is below oldWALs.
        in_quarantine: whether exactly this file is in the quarantine.
        taken: whether the quarantine has any file at that path, this one or another.
    """

    at_home: bool
    in_quarantine: bool
    taken: bool = False


def outcome_of_intent(
    action: CleanupAction, subject: CleanupFile, found: FoundPlaces, place: str, archive: str | None = None
) -> FileResult:
    """Returns the outcome of an intent for which a dead job wrote no outcome.

    A rename is atomic, so the file is in one of the two places, unless another program removed it from oldWALs, as
    HBase's own cleaner does.

    Args:
        action: the action of the intent.
        subject: the file of the intent.
        found: where the file is now.
        place: the URI of the file in the quarantine.
        archive: the URI at which the file was to be archived before its deletion; None = it was not to be archived.
    """
    if action is CleanupAction.CLEAN:
        if found.in_quarantine:
            return FileResult(subject, FileOutcome.MOVED, place)
        if found.at_home:
            return _left(subject)
        if found.taken:
            return FileResult(subject, FileOutcome.FAILED, place, why=SWAPPED)
        return FileResult(subject, FileOutcome.ALREADY_GONE, why=GONE)
    if found.in_quarantine:
        return _left(subject, place)
    if found.taken and not (action is CleanupAction.RESTORE and found.at_home):
        return FileResult(subject, FileOutcome.CHANGED, place, why=REPLACED)
    # the file is no longer in the quarantine: it was moved back (and perhaps deleted by HBase since), or deleted
    if action is CleanupAction.RESTORE:
        return FileResult(subject, FileOutcome.RESTORED)
    if found.at_home:
        return FileResult(subject, FileOutcome.ALREADY_GONE, why=PUT_BACK)
    return FileResult(subject, FileOutcome.ARCHIVED if archive else FileOutcome.PURGED, archive)


def _left(subject: CleanupFile, place: str | None = None) -> FileResult:
    return FileResult(subject, FileOutcome.FAILED, place, why=INTERRUPTED)
