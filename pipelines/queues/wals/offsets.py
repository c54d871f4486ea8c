"""Checks a stored offset against the content of its WAL."""

from enum import StrEnum

from pipelines.hbase.wal_format.reader import WalEnd
from pipelines.queues.wals.tally import WalContents


class OffsetStatus(StrEnum):
    """What replication finds at an offset."""

    OK = "OK"
    """An entry begins at the offset, or the offset is 0, which HBase also takes as the beginning."""
    AT_END = "AT_END"
    """Behind the last entry: nothing of this WAL is pending."""
    FINISHED = "FINISHED"
    """A negative offset: the WAL was shipped to its end."""
    MID_ENTRY = "MID_ENTRY"
    """Inside an entry or the header: no reader can continue from there, and the queue is stuck.

    In a TORN file also anywhere behind the last whole entry; if the file is damaged, an entry may begin there.
    """
    BEYOND_EOF = "BEYOND_EOF"
    """Behind the last byte: the file was truncated or replaced, and the queue is stuck."""
    NO_HEADER = "NO_HEADER"
    """The WAL has no whole header: the queue is stuck."""
    UNREADABLE = "UNREADABLE"
    """The WAL cannot be read as far as the offset: broken before it, encrypted, or in an unknown codec."""
    GONE = "GONE"
    """The WAL is not in any directory where HBase would look for it."""
    NOT_READ = "NOT_READ"
    """The WAL was not among the files that this run reads."""
    NONE = "NONE"
    """The queue has no offset for the group yet: it will begin with the oldest WAL."""


def offset_status(offset: int, contents: WalContents) -> OffsetStatus:
    """Returns the status of an offset in a WAL that was tallied with this offset as a cut.

    Args:
        offset: as stored.
        contents: of its WAL.
    """
    if offset < 0:
        return OffsetStatus.FINISHED
    if contents.length is not None and offset > contents.length:
        return OffsetStatus.BEYOND_EOF
    if contents.ending is WalEnd.NO_HEADER:
        return OffsetStatus.NO_HEADER
    if offset == 0:
        return OffsetStatus.OK
    if contents.ending in {WalEnd.ENCRYPTED, WalEnd.FOREIGN}:
        return OffsetStatus.UNREADABLE
    if offset in contents.boundaries:
        at_end = contents.is_read and offset == contents.good_end > contents.header_end
        return OffsetStatus.AT_END if at_end else OffsetStatus.OK
    if contents.ending is WalEnd.CORRUPT and offset > contents.good_end:
        return OffsetStatus.UNREADABLE
    if offset == contents.length and contents.is_plain:
        return OffsetStatus.AT_END  # a reader that seeks there finds the end of the file, not part of an entry
    return OffsetStatus.MID_ENTRY
