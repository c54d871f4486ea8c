"""A read of the file system counts only if it shows what the job had just made."""

from collections.abc import Sequence

import pytest

from pipelines.cleanup.current_reads import CurrentReads
from pipelines.cleanup.ports import FileState
from pipelines.common.errors import UnavailableError
from tests.labs.cleanup.memory import Disk, Entry, MemoryStore, Picture, Process
from tests.labs.cleanup.world import START

FOLDER, HOME, FILE = "hdfs://ns1/q/prod/.leases", "hdfs://ns1/q/prod", "hdfs://ns1/q/prod/n1/oldWALs/wal"
STALE = "which this job had just made: its answers are stale"


class Old(MemoryStore):
    """What was kept of an earlier moment answers some of the calls."""

    def __init__(self, disk: Disk, process: Process | None = None) -> None:
        super().__init__(disk, process or Process())
        self.disk = disk
        self.kept: Picture | None = None
        self.stale: tuple[str, ...] = ()

    def keep(self, *calls: str) -> None:
        self.kept, self.stale = Picture(dict(self.disk.files), set(self.disk.directories)), calls

    def seen(self, uris: Sequence[str]) -> list[FileState | None]:
        if self.kept is None or "seen" not in self.stale:
            return super().seen(uris)
        return [self.kept.look(uri) for uri in uris]

    def names(self, directory: str) -> list[str]:
        if self.kept is None or "names" not in self.stale:
            return super().names(directory)
        return self.kept.names(directory)


def disk() -> Disk:
    disk = Disk(START)
    for uri in (FILE, f"{FOLDER}/0000000001.json"):
        disk.files[uri] = Entry(1, START)
        disk.make(uri.rpartition("/")[0])
    return disk


def test_a_current_read_is_answered_and_leaves_nothing_behind() -> None:
    store = Old(disk())
    before = dict(store.disk.files)
    reads = CurrentReads(store, FOLDER, "7f3a")
    assert reads.seen([FILE, f"{FILE}.1"]) == [FileState(1, START), None]
    assert reads.timed([FILE]) == ([FileState(1, START)], START)
    assert reads.names(HOME) == [".leases", "n1"]
    assert reads.names(FOLDER) == ["0000000001.json"]
    assert store.disk.files == before


@pytest.mark.promise("look-that-is-behind-counts-for-nothing")
def test_the_names_in_the_folder_of_leases_are_current_or_none() -> None:
    """The proof before them was current; the list itself comes from another name node."""
    store = Old(disk())
    store.keep("names")
    store.disk.files[f"{FOLDER}/0000000002.json"] = Entry(1, START)
    reads = CurrentReads(store, FOLDER, "7f3a")
    with pytest.raises(UnavailableError, match=STALE):
        reads.names(FOLDER)
    assert [uri for uri in store.disk.files if ".now-" in uri] == []


@pytest.mark.promise("look-that-is-behind-counts-for-nothing")
def test_no_names_are_read_from_a_file_system_that_is_behind() -> None:
    store = Old(disk())
    store.keep("seen", "names")
    with pytest.raises(UnavailableError, match=rf"does not show {FOLDER}/\.now-7f3a-1, {STALE}"):
        CurrentReads(store, FOLDER, "7f3a").names(HOME)


@pytest.mark.promise("look-that-is-behind-counts-for-nothing")
def test_what_proved_an_earlier_read_proves_no_later_one() -> None:
    """The answers are of the moment when the earlier proof was there, and the file still was."""

    class Keeping(Old):
        def seen(self, uris: Sequence[str]) -> list[FileState | None]:
            if self.kept is None:
                self.keep("seen", "names")
            return super().seen(uris)

    for read in (lambda reads: reads.seen([FILE]), lambda reads: reads.names(HOME), lambda reads: reads.names(FOLDER)):
        store = Keeping(disk())
        reads = CurrentReads(store, FOLDER, "7f3a")
        assert reads.seen([FILE]) == [FileState(1, START)]
        del store.disk.files[FILE]
        with pytest.raises(UnavailableError, match=STALE):
            read(reads)
