"""Old partitions are divided into ranges of keys that together have every key once."""

import random
from dataclasses import replace

import pytest

from pipelines.common.errors import UnavailableError
from pipelines.pegasus.domain.offline.copies import CopyProblem
from pipelines.pegasus.domain.offline.model import PartFile, PartitionResult, UnprovenCopies
from pipelines.pegasus.domain.offline.ranges import SplitTask, StoredPiece, is_uneven, joined, pieces_of, tasks_of

GROUP = range(1, 2)


@pytest.mark.parametrize("seed", range(20))
def test_every_key_is_in_one_range(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - repeatable, no secret
    files = [
        StoredPiece(draw.randbytes(draw.randrange(3)), b"", draw.randrange(100)) for _ in range(draw.randrange(30))
    ]
    tasks = tasks_of(GROUP, files, draw.choice((1, 50, 300)))
    assert len({task.name for task in tasks}) == len(tasks) <= max(1, len({file.first for file in files}))
    for key in [b"", *(draw.randbytes(draw.randrange(4)) for _ in range(200)), *(file.first for file in files)]:
        assert sum(task.has(key) for task in tasks) == 1
    assert tasks == sorted(tasks, key=lambda task: task.begin)
    assert all(task.begin == b"" or any(task.has(file.first) for file in files) for task in tasks), "none is empty"


def test_ranges_have_about_the_bytes_of_a_task() -> None:
    files = [file(key, key, 64) for key in range(100)]
    assert [task.begin for task in tasks_of(GROUP, files, 640)] == [b"", *(bytes([10 * n]) for n in range(1, 10))]
    assert tasks_of(GROUP, files, 10**6) == [SplitTask(GROUP)], "one task, as if there were no ranges"
    assert tasks_of(GROUP, [], 1) == [SplitTask(GROUP)]
    of_one_key = [StoredPiece(b"k", b"k", 1000)] * 9
    assert [(task.begin, task.end) for task in tasks_of(GROUP, of_one_key, 10)] == [(b"", None)]


def file(first: int, last: int, size: int) -> StoredPiece:
    return StoredPiece(bytes([first]), bytes([last]), size)


def test_ranges_by_ssts_are_uneven_if_one_is_large_or_many_have_the_same_keys() -> None:
    apart = [file(key, key, 64) for key in range(100)]
    assert not is_uneven(apart, 640)
    assert not is_uneven([*apart, file(0, 99, 640)], 640), "a newer SST over all keys is nothing unusual"
    assert is_uneven([*apart, file(100, 101, 2000)], 640)
    assert not is_uneven([file(0, 99, 640 * 3)], 640)
    assert is_uneven([file(0, 99, 640 * 3 + 1)], 640)
    assert is_uneven([file(key, 99, 64) for key in range(50)], 640)
    assert not is_uneven([], 640)


def test_pieces_of_keys_give_even_ranges() -> None:
    keys = [bytes([key]) for key in range(100)]
    tasks = tasks_of(GROUP, pieces_of(keys, 6400), 640)
    assert [task.begin for task in tasks] == [b"", *(bytes([10 * n]) for n in range(1, 10))]
    assert pieces_of([b"k"], 5) == [StoredPiece(b"k", b"k", 5)]


def part(number: int, file: PartFile, *, resumed: bool = False) -> PartitionResult:
    copies = (UnprovenCopies(CopyProblem.NEWER, 4, tuple(f"{number}/{key}" for key in range(4))),)
    return PartitionResult(
        1,
        (file, replace(file, partition=9, file=f"b{number}")),
        read=10,
        logged=3,
        flushed=20,
        committed=23,
        owned=7,
        expired=1,
        stale=2,
        malformed=3,
        empty=4,
        copies=copies,
        owners=(number, 5),
        resumed=resumed,
    )


def test_the_results_of_ranges_are_joined() -> None:
    first, second = (part(number, PartFile(1, 1, f"a{number}", 2, 3, "x", 4), resumed=number == 0) for number in (0, 1))
    other = PartitionResult(2, read=5)
    whole, same = joined([first, other, second])
    assert same == other
    assert [(file.partition, file.file) for file in whole.files] == [(1, "a0"), (1, "a1"), (9, "b0"), (9, "b1")]
    assert (whole.read, whole.owned, whole.expired, whole.stale, whole.malformed, whole.empty) == (20, 14, 2, 4, 6, 8)
    assert (whole.logged, whole.flushed, whole.committed) == (3, 20, 23), "each range has read the whole log"
    assert whole.copies == (UnprovenCopies(CopyProblem.NEWER, 8, ("0/0", "0/1", "0/2", "0/3", "1/0")),)
    assert (whole.owners, whole.resumed) == ((0, 1, 5), False)


@pytest.mark.parametrize("change", [{"flushed": 21}, {"committed": 24}, {"logged": 4}, {"left_out": (30,)}])
def test_a_partition_that_changes_between_two_ranges_is_not_joined(change: dict[str, int]) -> None:
    first = part(0, PartFile(1, 1, "a", 2, 3, "x", 4))
    with pytest.raises(UnavailableError, match="partition 1 changed while the job read it"):
        list(joined([first, replace(first, **change)]))
