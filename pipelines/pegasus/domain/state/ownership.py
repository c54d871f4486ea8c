"""What a split does to the keys of a table whose count is no power of two.

The server only asks for a positive count at creation and for its double at a split. But before, a key lay in partition
`hash % count`; afterwards its owner is `hash & (new count - 1)`, and compaction drops what is elsewhere.
"""

from math import gcd, lcm

from pipelines.pegasus.domain.partitions import is_owner, is_power_of_two

_MOST = 1 << 18


def deleted_share(count: int) -> float:
    """The share of a table's keys that compaction drops after a split of `count` to `2 · count` partitions.

    Exact where both formulas repeat within 262,144 hashes, else over as many, spread evenly. 0 for powers of two.

    Args:
        count: partitions before the split.
    """
    if is_power_of_two(count):
        return 0.0
    version = 2 * count - 1
    period = lcm(count, 1 << version.bit_length())
    step = 1 if period <= _MOST else period // _MOST
    while gcd(step, period) > 1:  # else some remainders would never be looked at
        step += 1
    hashes = range(0, period, step)
    kept = sum(any(is_owner(one, index, version) for index in (one % count, one % count + count)) for one in hashes)
    return 1 - kept / len(hashes)
