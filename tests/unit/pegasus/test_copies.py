"""When a row that its partition does not own may be left out: only if the partition that owns it has it."""

import pytest

from pipelines.pegasus.domain.keys import encode_key, key_hash
from pipelines.pegasus.domain.offline.copies import CopyProblem, copy_problem
from pipelines.pegasus.domain.offline.model import PartitionCounts
from pipelines.pegasus.domain.rows import Placement
from pipelines.pegasus.domain.values import EPOCH_S, StoredValue, Timetag, as_version_1, decode_value, encode_value

NOW = EPOCH_S + 1000
KEY = next(key for n in range(99) if key_hash(key := encode_key(b"k%d" % n, b"")) % 8 == 5)
"""Partition 5 of 8 owns it; of 4, partition 1 did; of 2, partition 1."""


def value(data: bytes, time: int = 5, expire_ts: int = 0, version: int = 1) -> bytes:
    tag = Timetag(time, 1, deleted=False) if version else None
    return encode_value(StoredValue(version, expire_ts, tag, data))


@pytest.mark.parametrize(
    ("copy", "owner", "problem"),
    [
        (value(b"a"), value(b"a"), None),
        (value(b"a", 5), value(b"b", 6), None),
        (value(b"a", 5), value(b"b", 5), CopyProblem.NEWER),
        (value(b"a", 5), value(b"a", 5, expire_ts=2000), None),
        (value(b"a", 6), value(b"b", 5), CopyProblem.NEWER),
        (value(b"a"), None, CopyProblem.OWNER_LACKS),
        (value(b"a", expire_ts=999), None, None),
        (value(b"a", expire_ts=1001), None, CopyProblem.OWNER_LACKS),
        (b"short", value(b"a"), CopyProblem.NEWER),
        (b"short", None, CopyProblem.OWNER_LACKS),
        (value(b"a"), b"short", CopyProblem.NEWER),
    ],
)
def test_of_one_split(copy: bytes, owner: bytes | None, problem: CopyProblem | None) -> None:
    assert copy_problem(KEY, copy, 1, owner, Placement(8, 4), NOW) is problem


def test_a_row_that_never_belonged_there() -> None:
    same = value(b"a")
    assert copy_problem(KEY, same, 3, same, Placement(8, 4), NOW) is CopyProblem.FOREIGN, "5 % 4 is 1"
    assert copy_problem(KEY, same, 3, same, Placement(8, 2), NOW) is None, "with two partitions, 1 had all odd ones"


def test_without_a_time_nothing_is_newer() -> None:
    old, placement = value(b"a", version=0), Placement(8, 4, data_version=0)
    assert copy_problem(KEY, old, 1, value(b"b", version=0), placement, NOW) is CopyProblem.NEWER
    assert copy_problem(KEY, old, 1, old, placement, NOW) is None


@pytest.mark.parametrize("owner", [value(b"b", 6), value(b"a", version=0, expire_ts=2000)])
def test_a_converted_value_has_no_time(owner: bytes) -> None:
    converted, new = as_version_1(value(b"a", version=0)), as_version_1(owner) if len(owner) < 12 else owner
    assert converted is not None
    assert new is not None
    assert copy_problem(KEY, converted, 1, new, Placement(8, 4), NOW) is CopyProblem.NEWER
    assert copy_problem(KEY, converted, 1, converted, Placement(8, 4), NOW) is None


def test_values_of_version_0_become_version_1() -> None:
    old = value(b"data", expire_ts=77, version=0)
    new = as_version_1(old)
    assert new is not None
    assert decode_value(new) == StoredValue(1, 77, Timetag(0, 0, deleted=False), b"data")
    marked = value(b"data", version=2)
    assert as_version_1(marked) == marked, "it contains its version"
    assert as_version_1(b"abc") is None


@pytest.mark.parametrize(("old", "new", "groups"), [(4, 8, 4), (6, 8, 2), (3, 8, 1), (1, 4, 1), (12, 16, 4)])
def test_groups_share_no_new_partition(old: int, new: int, groups: int) -> None:
    counts = PartitionCounts(old, new)
    found = counts.groups()
    assert len(found) == groups
    assert sorted(index for group in found for index in group) == list(range(old))
    targets = [set(counts.targets(group[0])) for group in found]
    assert sorted(target for one in targets for target in one) == list(range(new))
    for hashed in range(old * new):
        (place,) = [place for place, group in enumerate(found) if hashed % old in group]
        assert hashed % new in targets[place]
