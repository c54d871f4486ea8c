"""Computes how many keys a split loses if the partition count is not a power of two.

The server only requires a positive count at creation, and twice the count at a split. Before the split a key is in
partition `hash % count`; after it, the owner is `hash & (new count - 1)`, and compaction drops the key from all others.
"""

from math import gcd, lcm

from pipelines.pegasus.domain.partitions import is_owner, is_power_of_two

_MOST = 1 << 18


def deleted_share(count: int) -> float:
    """Returns the share of a table's keys that compaction drops after a split of `count` to `2 · count` partitions.

    The result is exact if both formulas repeat within 262,144 hashes, else it is sampled over as many, spread evenly.
    It is 0 for powers of two.

    Args:
        count: the number of partitions before the split.
    """
    if is_power_of_two(count):
        return 0.0
    version = 2 * count - 1
    period = lcm(count, 1 << version.bit_length())
    step = 1 if period <= _MOST else period // _MOST
    while gcd(step, period) > 1:  # else some remainders are never sampled
        step += 1
    hashes = range(0, period, step)
    kept = sum(any(is_owner(one, index, version) for index in (one % count, one % count + count)) for one in hashes)
    return 1 - kept / len(hashes)
