"""Judges rows that lie in a partition that does not own them: whether they may be left out."""

from enum import StrEnum

from pipelines.common.errors import MalformedError
from pipelines.pegasus.domain.rows import Placement, RowKind, kind_of
from pipelines.pegasus.domain.values import decode_value, is_expired


class CopyProblem(StrEnum):
    """Why a row that its partition does not own may not be left out."""

    FOREIGN = "FOREIGN"
    """It never belonged to this partition, neither before nor after any split."""
    OWNER_LACKS = "OWNER_LACKS"
    """The partition that owns the key has no row with it."""
    NEWER = "NEWER"
    """It is newer than the row of its owner, or nothing shows which is newer."""


def copy_problem(
    key: bytes, copy: bytes, lies_in: int, owner: bytes | None, placement: Placement, now_s: int
) -> CopyProblem | None:
    """Returns why a row may not be left out; None = it is a copy that a split has left, and its owner has the row.

    Args:
        key: the raw key.
        copy: the raw value of the row.
        lies_in: the partition that stores the row.
        owner: the raw value in the partition that owns the key; None = it has no such row.
        placement: how the rows of the table are distributed.
        now_s: the time that decides which rows have expired, seconds since 1970.
    """
    if kind_of(key, lies_in, placement) is RowKind.FOREIGN:
        return CopyProblem.FOREIGN
    if copy == owner:
        return None
    try:
        mine = decode_value(copy, placement.data_version)
        if owner is None:
            return None if is_expired(mine.expire_ts, now_s) else CopyProblem.OWNER_LACKS
        theirs = decode_value(owner, placement.data_version)
    except MalformedError:
        return CopyProblem.OWNER_LACKS if owner is None else CopyProblem.NEWER
    # a converted value of version 0 has the tag 0, which is no time
    times = [0 if value.timetag is None else value.timetag.packed for value in (mine, theirs)]
    if 0 in times or times[0] > times[1]:
        return CopyProblem.NEWER
    if times[0] == times[1] and mine.data != theirs.data:  # of one write, only the TTL can have changed
        return CopyProblem.NEWER
    return None
