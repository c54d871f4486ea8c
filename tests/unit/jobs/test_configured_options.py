"""What an option is when it is not given: the configuration's key of its name."""

from pathlib import Path

import pytest

from jobs.cli import entry
from jobs.cli.configured_options import complete_options

KNOWN = {"--config", "--cluster", "--lake", "--lists", "--help"}
TEXT = "cluster: prod-a\nlake: hdfs://ns1/lake\nlists: hdfs://ns1/lists\nreports: file:///pages\n"


@pytest.fixture
def config(tmp_path: Path) -> str:
    file = tmp_path / "a.yaml"
    file.write_text(TEXT)
    return str(file)


def test_what_is_not_given_is_the_files(config: str) -> None:
    given = ["--config", config, "--lake=other"]
    added = ["--cluster", "prod-a", "--lists", "hdfs://ns1/lists"]
    assert complete_options(given, KNOWN, {}) == [*given, *added]
    assert complete_options([*given, *added], KNOWN, {}) == [*given, *added]


def test_the_file_is_the_environments_unless_it_is_given(config: str) -> None:
    everything = ["--config", config, "--cluster", "prod-a", "--lake", "hdfs://ns1/lake", "--lists", "hdfs://ns1/lists"]
    assert complete_options([], KNOWN, {"WALSAFE_CONFIG": config}) == everything
    assert complete_options(["--config", config], KNOWN, {"WALSAFE_CONFIG": "/nonexistent"}) == everything
    assert complete_options([], KNOWN - {"--config"}, {"WALSAFE_CONFIG": config}) == []
    assert complete_options(["--help"], KNOWN, {"WALSAFE_CONFIG": config}) == ["--help"]


@pytest.mark.parametrize("text", ["lake: [", "lake: 5\n", "- a\n", "\xff"])
def test_a_broken_file_adds_nothing_and_the_job_reports_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(text.encode("latin-1"))
    assert complete_options(["--config", str(file)], KNOWN, {}) == ["--config", str(file)]
    assert complete_options(["--config", "/nonexistent"], KNOWN, {}) == ["--config", "/nonexistent"]


def test_a_job_gets_them(config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALSAFE_CONFIG", config)
    args = entry.parse(["explain", "--peer", "2"]).args
    assert (args.lake, args.cluster, args.peer) == ("hdfs://ns1/lake", "prod-a", "2")
    args = entry.parse(["reconcile", "--snapshot", "x", "--lake", "other"]).args
    assert (args.lake, args.lists, args.reports) == ("other", "hdfs://ns1/lists", "file:///pages")
