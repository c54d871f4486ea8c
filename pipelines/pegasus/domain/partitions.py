"""Which partition owns a hash, and what a replica answers (src/client/partition_resolver.cpp)."""

from enum import Enum

REJECTING = -1
"""`partition_version` of a parent that is being registered: it answers nobody."""
UNREGISTERED = -1
"""Ballot of a child that meta does not have yet."""


class Answer(Enum):
    """What a primary says to a request before it looks at the data."""

    OK = "ERR_OK"
    REJECT = "REJECT"
    MISUSED = "ERR_PARENT_PARTITION_MISUSED"


REJECT_CODES = {"seed": "ERR_OBJECT_NOT_FOUND", "shipped": "ERR_SPLITTING"}
"""The name of `Answer.REJECT`: in the seed, and in the code since 2.3 (src/replica/replica.h)."""


def is_power_of_two(count: int) -> bool:
    """Whether a table may have so many partitions; the meta server itself checks only that it is above 0."""
    return count > 0 and count & (count - 1) == 0


def partition_index(key_hash: int, count: int) -> int:
    """Where a client sends a hash: `hash % count`, unsigned.

    Args:
        key_hash: 0 … 2^64-1, or the same bits as a signed number.
        count: partitions of the table.
    """
    return (key_hash & 0xFFFF_FFFF_FFFF_FFFF) % count


def is_owner(key_hash: int, index: int, version: int) -> bool:
    """`check_pegasus_key_hash`: what a server takes for its own; `version` must not be negative."""
    return key_hash & version == index


def answer(key_hash: int, index: int, version: int) -> Answer:
    """What the primary of a partition says to a hash.

    Args:
        key_hash: of the request's header.
        index: of the partition.
        version: its `partition_version`: partitions - 1, or -1 while it rejects.
    """
    if version == REJECTING:
        return Answer.REJECT
    return Answer.OK if is_owner(key_hash, index, version) else Answer.MISUSED


def target(key_hash: int, count: int, ballot: int | None) -> int:
    """Where a client sends a request by what it has cached of the table.

    Args:
        key_hash: of the request.
        count: partitions that it knows.
        ballot: that it knows of the partition `hash % count`; None = unknown.
    """
    index = partition_index(key_hash, count)
    return partition_index(key_hash, count // 2) if ballot == UNREGISTERED else index


def parent_of(child: int, count: int) -> int:
    """The partition that a child is split from, in a table of `count` partitions afterwards."""
    return child - count // 2
