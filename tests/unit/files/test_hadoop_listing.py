"""The lines of a page that the JVM makes of a directory; the JVM's part: tests/integration/test_capture.py."""

import pytest

from pipelines.files.file_status import FileStatus
from pipelines.files.hadoop_listing import parse_status


def test_files_directories_and_links() -> None:
    assert parse_status("file,42,1795312047457,h1%252C16020%252C5.7") == FileStatus(
        "h1%2C16020%2C5.7", True, False, 42, 1795312047457
    )
    assert parse_status("directory,96,7,h1,16020,5") == FileStatus("h1,16020,5", False, True, 0, 7)
    assert parse_status("link,3,7,elsewhere") == FileStatus("elsewhere", False, False, 3, 7)


@pytest.mark.parametrize("name", ["a; b", "line\nend", "a, b", "%", "%0A", "%250A", "back\\slash", "file,1,2,x"])
def test_every_name_comes_back(name: str) -> None:
    escaped = name.replace("%", "%25").replace("\n", "%0A")
    assert parse_status(f"file,1,2,{escaped}").name == name
