"""The local path that a `file:` URI means."""

from pathlib import Path

import pytest

from pipelines.common.errors import UsageError
from pipelines.files.local_paths import file_behind, local_path


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


@pytest.mark.parametrize("path", ["/dev/null", "/dev/stdout", "/dev/nothing-of-this-name", "/"])
def test_a_device_is_no_file_to_replace(path: str) -> None:
    assert file_behind(Path(path)) is None
