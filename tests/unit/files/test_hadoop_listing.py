"""The text of a page that the JVM makes of a directory; the JVM's part: tests/integration/test_capture.py."""

import pytest

from pipelines.files.file_status import FileStatus
from pipelines.files.hadoop_listing import parse_page, parse_status


def test_files_directories_and_links() -> None:
    text = "fdl\n42,96,3,\n1795312047457,7,8,\nh1%2C16020%2C5.7\nh1,16020,5\nelsewhere"
    assert parse_page(text) == [
        FileStatus("h1%2C16020%2C5.7", True, False, 42, 1795312047457),
        FileStatus("h1,16020,5", False, True, 0, 7),
        FileStatus("elsewhere", False, False, 3, 8),
    ]
    assert parse_page("") == []
    assert parse_status("f,42,7") == FileStatus("", True, False, 42, 7)
    assert parse_status("d,96,7") == FileStatus("", False, True, 0, 7)
    assert parse_status("l,3,7") == FileStatus("", False, False, 3, 7)


def test_a_page_whose_columns_differ_in_length_is_no_page() -> None:
    with pytest.raises(ValueError, match="zip"):
        parse_page("ff\n1,2,\n3,4,\nonly one name")


@pytest.mark.parametrize(
    "name",
    ["a; b", "line\nend", "\n", "a, b", "%", "%0A", "%250A", "back\\slash", "\\n", "\\\\n\n", "end\\", "f,1,2,x"],
)
def test_every_name_comes_back(name: str) -> None:
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n")
    assert [one.name for one in parse_page(f"ff\n1,1,\n2,2,\n{escaped}\nplain")] == [name, "plain"]
