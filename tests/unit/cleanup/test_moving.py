"""A batch of renames: which files are renamed, and what each of them gets for an outcome."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from pipelines.cleanup.deletions import CleanupFile, FileOutcome, FileResult
from pipelines.cleanup.holder import LeaseHolder
from pipelines.cleanup.move_files import BatchResult, MoveRoute, batches, move_files
from pipelines.cleanup.ports import Move
from pipelines.common.errors import UnavailableError
from tests.labs.cleanup.memory import Disk, Entry, MemoryStore, Process
from tests.labs.cleanup.odd_store import BROKEN
from tests.labs.cleanup.world import FIRST, LEASE_MS, PLACE, ROOT, START

A, B, C = (f"oldWALs/h1/wal.{number}" for number in (1, 2, 3))
REST = PLACE.at_rest("n1")
NO = "NSQuotaExceededException: The NameSpace quota is exceeded"


@dataclass
class Answer:
    """What a rename answers, in the place of its own answer; and what somebody else does just before it, and after."""

    text: str | None = ""
    does: bool = True
    before: Callable[[Disk], object] = lambda _: None
    after: Callable[[Disk], object] = lambda _: None


class Odd(MemoryStore):
    """Answers the renames of the first file oddly, one after the other."""

    def __init__(self, disk: Disk, *answers: Answer) -> None:
        super().__init__(disk, Process())
        self._answers = list(answers)

    def move(self, moves: Sequence[Move]) -> list[str | None]:
        return [self._one(one) if one.source.endswith(A) else super(Odd, self).move([one])[0] for one in moves]

    def _one(self, one: Move) -> str | None:
        answer = self._answers.pop(0) if self._answers else Answer()
        answer.before(self._disk)
        own = super().move([one])[0] if answer.does else None
        answer.after(self._disk)
        return own if answer.text == "" else answer.text


def subject(path: str, number: int = 0) -> CleanupFile:
    return CleanupFile(path, 1 + number, START + number)


def full(*paths: str, below: str = ROOT) -> Disk:
    disk = Disk(START)
    for path in paths:
        put(disk, f"{below}/{path}")
    return disk


def put(disk: Disk, uri: str, number: int = 0) -> None:
    disk.make(uri.rpartition("/")[0])
    disk.files[uri] = Entry(1 + number, START + number)


@contextmanager
def moving(store: MemoryStore, kind: FileOutcome = FileOutcome.MOVED) -> Iterator[Callable[..., BatchResult]]:
    """Moves files into the quarantine, or back."""
    with LeaseHolder(store, PLACE, "me 1", LEASE_MS) as holder:
        directory = holder.make_run("n1")
        way = MoveRoute(ROOT, directory, kind, REST)
        if kind is FileOutcome.RESTORED:
            way = MoveRoute(directory, ROOT, kind, ROOT)
        yield lambda *paths: move_files(store, [subject(path) for path in paths], way, holder)


def told(batch: BatchResult) -> dict[str, str]:
    """Outcome of each file, `open` without one."""
    known = {one.subject.path: one.outcome.value for one in batch.results}
    return {**known, **{one.path: "open" for one in batch.open}}


def below(disk: Disk, directory: str) -> dict[str, int]:
    return {uri[len(directory) + 1 :]: entry.length for uri, entry in disk.below(directory).items()}


# before the rename


@pytest.mark.promise("list-is-cleaned-once", "restore-gives-back-what-was-taken")
@pytest.mark.parametrize("kind", [FileOutcome.MOVED, FileOutcome.RESTORED])
@pytest.mark.parametrize("change", ["another length", "another time", "a directory", "gone", "target taken"])
def test_only_the_file_that_was_decided_on_is_renamed_and_nothing_is_overwritten(
    change: str, kind: FileOutcome
) -> None:
    disk = full(A, B) if kind is FileOutcome.MOVED else full(A, B, below=REST)
    origin, target = (ROOT, REST) if kind is FileOutcome.MOVED else (REST, ROOT)
    own = disk.files[f"{origin}/{A}"]
    if change == "another length":
        disk.files[f"{origin}/{A}"] = Entry(own.length + 1, own.modification_time)
    elif change == "another time":
        disk.files[f"{origin}/{A}"] = Entry(own.length, own.modification_time + 1)
    elif change == "target taken":
        put(disk, f"{target}/{A}", 5)
    else:
        del disk.files[f"{origin}/{A}"]
        if change == "a directory":
            disk.make(f"{origin}/{A}")
    before = {uri: entry for uri, entry in disk.files.items() if uri.endswith(A)}
    with moving(store := MemoryStore(disk, process := Process()), kind) as work:
        begun = len(process.steps)
        batch = work(A, B)
        renamed = [name for name in process.steps[begun:] if name.startswith("move ")]
    assert renamed == ["move wal.2"], store
    found = {"gone": "ALREADY_GONE", "target taken": "REFUSED"}.get(change, "CHANGED")
    assert told(batch) == {A: found, B: kind.value}
    (one,) = (one for one in batch.results if one.subject.path == A)
    if found == "CHANGED":
        said = "it is not a file any more" if change == "a directory" else "it is not the file that was decided on"
        assert str(one.why).startswith(said)
    assert {uri: entry for uri, entry in disk.files.items() if uri.endswith(A)} == before


def test_where_nothing_may_be_renamed_nothing_is_tried() -> None:
    disk = full(B)
    put(disk, f"{REST}/{B}", 5)
    with moving(MemoryStore(disk, process := Process())) as work:
        begun = len(process.steps)
        assert told(work(A, B)) == {A: "ALREADY_GONE", B: "REFUSED"}
        assert [name for name in process.steps[begun:] if ".now-" not in name] == []


@pytest.mark.promise("holder-that-overslept-does-nothing")
def test_who_is_taken_over_before_it_makes_the_directories_renames_nothing_into_them() -> None:
    """The next holder has renamed the run's directory, so this one would make it anew, and fill it."""
    disk = full(A, B)
    rehearsed = Process()
    with moving(MemoryStore(full(A, B), rehearsed)) as work:
        work(A, B)
    make = rehearsed.steps.index("make_directories h1")

    def meanwhile() -> None:
        disk.now += LEASE_MS
        assert LeaseHolder(MemoryStore(disk, Process()), PLACE, "next 2", LEASE_MS).__enter__().take_run("n1")

    process = Process(meanwhile={make: meanwhile})
    said = f"another job holds lease {FIRST + 1}: this job stops"
    with pytest.raises(UnavailableError, match=said), moving(MemoryStore(disk, process)) as work:
        work(A, B)
    assert below(disk, ROOT) == {A: 1, B: 1}
    assert not [name for name in process.steps if name.startswith("move ")]


# after it


def test_a_file_that_vanished_between_look_and_rename_is_gone() -> None:
    """HBase's own cleaner took it, and the file system says so."""
    disk = full(A, B)
    odd = Answer(before=lambda disk: disk.files.pop(f"{ROOT}/{A}"))
    with moving(Odd(disk, odd)) as work:
        batch = work(A, B)
    assert told(batch) == {A: "ALREADY_GONE", B: "MOVED"}
    assert [one.error for one in batch.results] == ["FileNotFoundException", None]


def test_a_name_that_is_taken_in_the_quarantine_between_look_and_rename_is_left_to_its_file() -> None:
    """Nothing was renamed, so nothing is moved back either: not even where the origin has no such name any more."""
    for gone in (False, True):
        disk = full(A, B)

        def others(disk: Disk, *, gone: bool = gone) -> None:
            put(disk, f"{PLACE.at_work('n1', FIRST)}/{A}", 5)
            if gone:
                del disk.files[f"{ROOT}/{A}"]

        with moving(Odd(disk, Answer(NO, does=False, before=others))) as work:
            batch = work(A, B)
        assert told(batch) == {A: "ALREADY_GONE" if gone else "FAILED", B: "MOVED"}
        (one,) = (one for one in batch.results if one.subject.path == A)
        assert (one.place, one.error) == (None, NO)
        assert below(disk, REST) == {A: 6, B: 1}
        assert below(disk, ROOT) == ({} if gone else {A: 1})


@pytest.mark.promise("hbases-cleaner-is-no-rival")
@pytest.mark.parametrize("replaced", [False, True])
def test_a_restored_file_that_hbase_has_taken_is_restored(*, replaced: bool) -> None:
    """The rename was acknowledged, and what is there came later: it is none of ours."""
    disk = full(A, B, below=REST)

    def cleaner(disk: Disk) -> None:
        del disk.files[f"{ROOT}/{A}"]
        if replaced:
            put(disk, f"{ROOT}/{A}", 5)

    with moving(Odd(disk, Answer(after=cleaner)), FileOutcome.RESTORED) as work:
        batch = work(A, B)
    assert told(batch) == {A: "RESTORED", B: "RESTORED"}
    assert below(disk, ROOT) == ({A: 6, B: 1} if replaced else {B: 1})
    assert below(disk, REST) == {}


@pytest.mark.promise("unseen-gets-no-outcome")
@pytest.mark.parametrize(
    "answer",
    [
        Answer(None, does=False),
        Answer(None, does=False, after=lambda disk: put(disk, f"{ROOT}/{A}", 5)),
        Answer(BROKEN, after=lambda disk: disk.files.pop(f"{ROOT}/{A}")),
    ],
)
def test_a_restored_file_is_open_if_it_rests_still_or_its_answer_was_lost(answer: Answer) -> None:
    with moving(Odd(full(A, B, below=REST), answer), FileOutcome.RESTORED) as work:
        assert told(work(A, B)) == {A: "open", B: "RESTORED"}


# another file was renamed in the place of the one that was decided on


def late(disk: Disk) -> None:
    """Another file takes the name between the look and the rename."""
    put(disk, f"{ROOT}/{A}", 5)


def anew(disk: Disk) -> None:
    """And one more, after the rename."""
    put(disk, f"{ROOT}/{A}", 7)


def person(disk: Disk) -> None:
    """Takes it out of the quarantine by hand."""
    disk.files.pop(f"{PLACE.at_work('n1', FIRST)}/{A}")


@pytest.mark.promise("restore-gives-back-what-was-taken")
@pytest.mark.parametrize(
    ("back", "outcome", "home", "resting"),
    [
        pytest.param(Answer(), "CHANGED", {A: 6}, {B: 1}, id="it goes back"),
        pytest.param(Answer(before=anew), "FAILED", {A: 8}, {A: 6, B: 1}, id="its name is taken by a third one"),
        pytest.param(Answer(NO, does=False), "FAILED", {}, {A: 6, B: 1}, id="the file system refuses"),
        pytest.param(Answer(before=person), "open", {}, {B: 1}, id="a person has taken it"),
        pytest.param(Answer(None, does=False), "open", {}, {A: 6, B: 1}, id="acknowledged, and not seen"),
        pytest.param(Answer(None, after=anew), "CHANGED", {A: 8}, {B: 1}, id="it goes back, and HBase replaces it"),
    ],
)
def test_a_file_that_was_renamed_in_the_place_of_another_goes_back_or_is_named(
    back: Answer, outcome: str, home: dict[str, int], resting: dict[str, int]
) -> None:
    disk = full(A, B)
    with moving(Odd(disk, Answer(before=late), back)) as work:
        batch = work(A, B)
    assert told(batch) == {A: outcome, B: "MOVED"}
    assert (below(disk, ROOT), below(disk, REST)) == (home, resting)
    if outcome == "FAILED":
        (one,) = (one for one in batch.results if one.subject.path == A)
        assert one.place == f"{REST}/{A}"
        assert one.why == "another file took its name, was moved in its place, and could not be moved back"


# batches


def test_batches_are_full_but_the_last_and_none_is_empty() -> None:
    files = [subject(path) for path in (A, B, C)]
    assert list(batches(files, 2)) == [files[:2], files[2:]]
    assert list(batches(files[:2], 2)) == [files[:2]]
    assert list(batches([], 2)) == []


def test_a_batch_whose_outcomes_are_all_known_is_no_reason_to_stop() -> None:
    BatchResult([FileResult(subject(A), FileOutcome.FAILED)]).check("moving", "clean --resume")
    with pytest.raises(UnavailableError, match=rf"^moving 1 files .*first {A}: .* clean --resume looks them up"):
        BatchResult([], [subject(A)]).check("moving", "clean --resume")
