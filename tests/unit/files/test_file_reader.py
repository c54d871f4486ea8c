"""What a directory on the local disk has."""

from pathlib import Path

from pipelines.files.file_reader import DirectoryEntry, LocalFileReader


def test_a_link_counts_for_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    links = {"a": "folder", "b": "file", "c": "nothing", "d": "file/below", "e": "e"}
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    directories = {entry.name: entry.is_directory for entry in LocalFileReader().entries(str(tmp_path)) or ()}
    assert directories == {**dict.fromkeys(links, False), "a": True, "folder": True, "file": False}


def test_entries_are_sorted_and_what_is_no_directory_has_none(tmp_path: Path) -> None:
    for name in ("b", "a", "Z"):
        (tmp_path / name).touch()
    assert LocalFileReader().entries(f"file://{tmp_path}") == [DirectoryEntry(name, False) for name in ("Z", "a", "b")]
    assert LocalFileReader().entries(str(tmp_path / "a")) is None
    assert LocalFileReader().entries(str(tmp_path / "none")) is None
