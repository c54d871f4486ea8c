"""The local path that a `file:` URI means."""

from pathlib import Path

import pytest

from pipelines.common.errors import UsageError
from pipelines.files.local_paths import check_replaceable, local_path


@pytest.mark.parametrize(
    "uri", ["file:/var/x", "file:///var/x", "file:////var/x", "FILE:///var/x", "file://host/var/x"]
)
def test_all_forms_of_a_uri_mean_one_path(uri: str) -> None:
    assert local_path(uri) == Path("/var/x")


@pytest.mark.parametrize("name", ["run#1", "a%20b", "a?b", "a b"])
def test_nothing_is_decoded(name: str) -> None:
    assert local_path(f"file:///var/{name}") == Path("/var", name)


@pytest.mark.parametrize("given", ["hdfs://ns1/x", "/var/x", "x", "files:x"])
def test_what_is_no_file_uri_has_none(given: str) -> None:
    assert local_path(given) is None


@pytest.mark.parametrize("uri", ["file:", "file:x", "FILE:x/y"])
def test_a_relative_path_is_refused(uri: str) -> None:
    with pytest.raises(UsageError, match=rf"^{uri}: a file: URI needs an absolute path, such as file:///var/walsafe$"):
        local_path(uri)


@pytest.mark.parametrize(
    "place",
    [
        *("/dev/null", "/dev/stdout", "file:///dev/stderr", "/dev/nothing-of-this-name", "/"),
        *("/dev/fd/1", "/proc/self/fd/1", "/proc/self/nothing"),
    ],
)
def test_what_is_no_file_is_not_replaced(place: str) -> None:
    with pytest.raises(ValueError, match=f"^{place} is not a regular file; --output json writes"):
        check_replaceable(place)


def test_a_file_may_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "older").touch()
    (tmp_path / "link").symlink_to(tmp_path / "older")
    too_long = "x" * 300  # as in a folder that may not be searched, nobody can say what is there
    places = ["hdfs://ns1/dev/null", *(f"{tmp_path}/{name}" for name in ("new", "older", "link", too_long))]
    assert [check_replaceable(place) for place in places] == places
