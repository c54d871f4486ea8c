"""Computes which partition owns a hash, and how a replica answers (src/client/partition_resolver.cpp)."""

from enum import StrEnum

MOST_PARTITIONS = 1 << 20
"""Jobs refuse tables with more partitions."""
REJECTING = -1
"""`partition_version` of a parent whose child is being registered: it rejects every request."""
UNREGISTERED = -1
"""Ballot of a child that is not registered in meta yet."""


class PrimaryAnswer(StrEnum):
    """The answer of a primary before it reads the data."""

    OK = "ERR_OK"
    REJECT = "REJECT"
    MISUSED = "ERR_PARENT_PARTITION_MISUSED"


REJECT_CODES = {"seed": "ERR_OBJECT_NOT_FOUND", "shipped": "ERR_SPLITTING"}
"""The error code of `PrimaryAnswer.REJECT`: in Pegasus's split design, and since 2.3 in src/replica/replica.h."""


def is_power_of_two(count: int) -> bool:
    """Returns whether a number is a power of two, as a partition count should be.

    Meta checks only that it is above 0.
    """
    return count > 0 and count & (count - 1) == 0


def partition_index(key_hash: int, count: int) -> int:
    """Returns the partition to which a client sends a hash: `hash % count`, unsigned.

    Args:
        key_hash: the hash, 0 … 2^64-1, or the same bits as a signed number.
        count: the number of the table's partitions.
    """
    return (key_hash & 0xFFFF_FFFF_FFFF_FFFF) % count


def is_owner(key_hash: int, index: int, version: int) -> bool:
    """Returns whether a server accepts a hash, as `check_pegasus_key_hash` does.

    Args:
        key_hash: the hash, 0 … 2^64-1.
        index: the index of the partition.
        version: the `partition_version`; must not be negative.
    """
    return key_hash & version == index


def primary_answer(key_hash: int, index: int, version: int) -> PrimaryAnswer:
    """Returns the answer of a partition's primary to a request with this hash.

    Args:
        key_hash: the hash in the request's header.
        index: the index of the partition.
        version: the `partition_version` of the partition: its partition count - 1, or -1 while it rejects requests.
    """
    if version == REJECTING:
        return PrimaryAnswer.REJECT
    return PrimaryAnswer.OK if is_owner(key_hash, index, version) else PrimaryAnswer.MISUSED


def target_partition(key_hash: int, count: int, ballot: int | None) -> int:
    """Returns the partition to which a client sends a request, given its cached configuration.

    Args:
        key_hash: the hash of the request.
        count: the partition count that the client has cached.
        ballot: the ballot of the partition `hash % count` that the client has cached; None = unknown.
    """
    index = partition_index(key_hash, count)
    return partition_index(key_hash, count // 2) if ballot == UNREGISTERED else index
