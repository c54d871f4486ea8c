"""A WAL root read directory by directory while HBase renames below it, and Hadoop's text of what is there."""

from collections.abc import Iterator, Sequence

import pytest

from pipelines.capture.sources.wal_tree import NoSuchDirectoryError, WalTree, WalTreeEntry
from pipelines.common.errors import UnavailableError, UsageError
from tests.labs.listed_files import H1, ROOT, rows_of


class Tree:
    """A file system whose directories are renamed while they are listed."""

    def __init__(self, directories: dict[str, list[WalTreeEntry]], moves: Sequence[tuple[str, str]] = ()) -> None:
        self.directories = directories
        self.moves = list(moves)
        self.listed: list[str] = []

    def free_bytes(self) -> int | None:
        raise UnavailableError("no such call")

    def pages(self, directory: str) -> Iterator[Sequence[WalTreeEntry]]:
        if directory not in self.directories:
            raise NoSuchDirectoryError(directory)
        self.listed.append(directory)
        for entry in list(self.directories[directory]):
            yield [entry]
        for source, target in self.moves:
            if source in self.directories:
                self.directories[target] = self.directories.pop(source)
                parent, _, name = source.rpartition("/")
                kept = [entry for entry in self.directories[parent] if entry.name != name]
                self.directories[parent] = [*kept, WalTreeEntry(target.rpartition("/")[2], True, 0, 9)]


def directory(name: str) -> WalTreeEntry:
    return WalTreeEntry(name, True, 0, 9)


class TestWalTree:
    @pytest.mark.promise("live-before-archived")
    def test_live_first_archived_last_and_each_once(self) -> None:
        tree = Tree(
            {
                "WALs": [directory("h1,16020,5")],
                "WALs/h1,16020,5": [WalTreeEntry("a.1", False, 1, 1), WalTreeEntry("b.2", False, 2, 2)],
                "oldWALs": [WalTreeEntry("c.0", False, 3, 3), directory("h1,16020,5")],
                "oldWALs/h1,16020,5": [WalTreeEntry("a.1", False, 4, 4)],
            }
        )
        assert rows_of(WalTree(tree, ROOT).files()) == [
            ("oldWALs/c.0", 3, 3),
            ("oldWALs/h1,16020,5/a.1", 4, 4),
            ("WALs/h1,16020,5/b.2", 2, 2),
        ]
        assert tree.listed == ["WALs", "WALs/h1,16020,5", "oldWALs", "oldWALs/h1,16020,5"]

    @pytest.mark.promise("live-before-archived")
    def test_a_directory_renamed_meanwhile_is_read_under_its_new_name(self) -> None:
        tree = Tree(
            {
                "WALs": [directory("h1,16020,5")],
                "WALs/h1,16020,5": [WalTreeEntry("a.1", False, 1, 1)],
                "oldWALs": [],
            },
            moves=[("WALs/h1,16020,5", "WALs/h1,16020,5-splitting")],
        )
        assert [row[0] for row in rows_of(WalTree(tree, ROOT).files())] == ["WALs/h1,16020,5-splitting/a.1"]

    def test_a_directory_that_vanishes_is_not_called_empty(self) -> None:
        tree = Tree(
            {"WALs": [directory("h1,16020,5")], "WALs/h1,16020,5": []},
            moves=[("WALs/h1,16020,5", "WALs/h1,16020,5-splitting")],
        )
        (found,) = WalTree(tree, ROOT).wal_directories()
        assert (found.server, found.entries) == (H1, 1)

    def test_both_names_of_a_server_are_one_directory(self) -> None:
        tree = Tree(
            {
                "WALs": [directory("h1,16020,5"), directory("H1,16020,5-splitting"), directory("operator")],
                "WALs/h1,16020,5": [WalTreeEntry("a.1", False, 1, 1)],
                "WALs/H1,16020,5-splitting": [WalTreeEntry("b.1", False, 1, 1)],
            }
        )
        (found,) = WalTree(tree, ROOT).wal_directories()
        assert (found.server, found.entries) == (H1, 2)

    @pytest.mark.parametrize("present", ["WALs", "oldWALs"])
    def test_a_root_without_its_directories_is_the_wrong_root(self, present: str) -> None:
        tree = WalTree(Tree({present: []}), ROOT)

        def read() -> None:
            list(tree.files())
            tree.wal_directories()

        with pytest.raises(UsageError, match="check wal_root"):
            read()

    def test_a_capture_goes_on_without_the_free_space(self) -> None:
        assert WalTree(Tree({}), ROOT).free_bytes() is None

    def test_directories_that_never_rest_end_the_capture(self) -> None:
        class Restless(Tree):
            def pages(self, directory: str) -> Iterator[Sequence[WalTreeEntry]]:
                if directory.startswith("WALs/"):
                    raise NoSuchDirectoryError(directory)
                return super().pages(directory)

        with pytest.raises(UnavailableError, match="kept changing"):
            list(WalTree(Restless({"WALs": [directory("h1,16020,5")], "oldWALs": []}), ROOT).files())
