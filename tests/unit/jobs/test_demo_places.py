"""Where the demo puts its files, and the configuration that it writes there."""

from pathlib import Path

import pytest

from jobs.cli.config.configuration import load_config
from jobs.cli.context import JobContext
from jobs.demo.places import DemoPlaces, new_directory
from pipelines.common.errors import UsageError


@pytest.mark.parametrize("name", ["with a space", "à #1?: 'a', [b]", "😀"])
def test_the_configuration_is_taken_whatever_the_directory_is_called(tmp_path: Path, name: str) -> None:
    places = DemoPlaces(new_directory(str(tmp_path / name), 0))
    places.write_config("demo")
    assert load_config(str(places.config), JobContext("demo")).lake == f"file:{tmp_path / name}/lake"


def test_a_directory_may_be_given_as_a_local_uri_only(tmp_path: Path) -> None:
    assert new_directory(f"file://{tmp_path}/x #1?", 0) == tmp_path / "x #1?"
    with pytest.raises(UsageError, match="directory of this machine"):
        new_directory("hdfs://ns1/x", 0)
