"""What an option is when it is not given: the configuration's key of its name."""

from pathlib import Path

import pytest

from jobs.cli import command_line
from jobs.cli.config.configured_options import FROM_ENVIRONMENT, OF_ANY_CLUSTER, complete_options
from jobs.cli.context import SHIPPED_ENV, JobContext
from jobs.cli.launch import places
from pipelines.common.errors import UsageError

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
    assert complete_options(given, KNOWN, FROM_ENVIRONMENT, {}) == [*added, *given]


def test_the_file_is_the_environments_unless_it_is_given(config: str) -> None:
    everything = ["--config", config, "--cluster", "prod-a", "--lake", "hdfs://ns1/lake", "--lists", "hdfs://ns1/lists"]
    assert complete_options([], KNOWN, FROM_ENVIRONMENT, {"WALSAFE_CONFIG": config}) == everything
    given = ["--config", config]
    other = {"WALSAFE_CONFIG": "/nonexistent"}
    assert complete_options(given, KNOWN, FROM_ENVIRONMENT, other) == [*everything[2:], *given]
    assert complete_options([], KNOWN, "", {"WALSAFE_CONFIG": config}) == []
    assert complete_options(["--config", config], KNOWN, "", {}) == ["--config", config]
    assert complete_options(["--", "a"], KNOWN, FROM_ENVIRONMENT, {"WALSAFE_CONFIG": config}) == [
        *everything,
        "--",
        "a",
    ]
    assert complete_options(["--help"], KNOWN, FROM_ENVIRONMENT, {"WALSAFE_CONFIG": config}) == ["--help"]


def test_only_the_environments_file_says_of_which_cluster_a_snapshot_must_be(config: str) -> None:
    named = ["--lake", "hdfs://ns1/lake", "--lists", "hdfs://ns1/lists", "--config", config]
    assert complete_options(["--config", config], KNOWN, OF_ANY_CLUSTER, {"WALSAFE_CONFIG": config}) == named
    found = complete_options([], KNOWN, OF_ANY_CLUSTER, {"WALSAFE_CONFIG": config})
    assert found[:4] == ["--config", config, "--cluster", "prod-a"]
    assert complete_options(found, KNOWN, OF_ANY_CLUSTER, {}) == found, "as the process with Spark gets them"


def test_of_two_files_the_last_one_counts_as_for_argparse(config: str, tmp_path: Path) -> None:
    other = tmp_path / "b.yaml"
    other.write_text("lake: other\n")
    args = command_line.parse(["maintain", "--config", config, f"--config={other}"]).args
    assert (args.config, args.lake) == (str(other), "other")
    added = complete_options(["--config", str(other), "--", "--config", config], KNOWN, FROM_ENVIRONMENT, {})
    assert added[:2] == ["--lake", "other"]


def test_a_file_of_a_user_that_does_not_exist_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    given = "~no-such-user/x.yaml"
    assert complete_options(["--config", given], KNOWN, FROM_ENVIRONMENT, {}) == ["--config", given]
    with pytest.raises(SystemExit) as ended:
        command_line.parse(["maintain", "--config", given])
    assert ended.value.code == 2
    assert f"the configuration {given} cannot be read" in capsys.readouterr().err
    with pytest.raises(UsageError, match=f"no such file: {given}"):
        JobContext("maintain").local_file(given)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--lake", ""], "argument --lake: its value is empty"),
        (["--config="], "argument --config: its value is empty"),
        (["--metrics", ""], "argument --metrics: its value is empty"),
        (["--lake=~/lake"], "argument --lake: ~/lake: write the whole path instead of ~"),
        (["--result", "~"], "argument --result: ~: write the whole path instead of ~"),
        (["--lists=~no-such-user/lists"], "argument --lists: ~no-such-user/lists: write the whole path"),
        (["--result", "file:r.json"], "argument --result: file:r.json: a file: URI needs an absolute path"),
        (["--metrics", "file:m"], "argument --metrics: file:m: a file: URI needs an absolute path"),
    ],
)
def test_what_names_no_place_is_told_before_anything_starts(
    capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        command_line.parse(["reconcile", *options])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_a_reason_is_no_place() -> None:
    places = ["--cluster", "c", "--lake", "/lake", "--config", "a.yaml"]
    args = command_line.parse(["purge", *places, "--run-id", "n1", "--before-grace", "file: the disk is full"]).args
    assert args.before_grace == "file: the disk is full"


def test_a_directory_may_have_such_a_name() -> None:
    assert command_line.parse(["demo", "--out", "./~"]).args.out == "./~"
    assert command_line.parse(["demo", "--out", "~backup"]).args.out == "~backup"


def test_a_cache_of_such_a_user_is_a_plain_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "is_clone", lambda: False)
    monkeypatch.setenv(places.CACHE_ENV, "~no-such-user/cache")
    assert places.cache_folder() == Path("~no-such-user/cache").resolve()


@pytest.mark.parametrize("text", ["lake: [", "lake: 5\n", "- a\n", "\xff"])
def test_a_broken_file_adds_nothing_and_the_job_reports_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(text.encode("latin-1"))
    assert complete_options(["--config", str(file)], KNOWN, FROM_ENVIRONMENT, {}) == ["--config", str(file)]
    assert complete_options(["--config", "/nonexistent"], KNOWN, FROM_ENVIRONMENT, {}) == ["--config", "/nonexistent"]


def test_a_job_gets_them(config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALSAFE_CONFIG", config)
    args = command_line.parse(["explain", "--peer", "2"]).args
    assert (args.lake, args.cluster, args.peer) == ("hdfs://ns1/lake", "prod-a", "2")
    args = command_line.parse(["reconcile", "--snapshot", "x"]).args
    assert (args.config, args.cluster) == (config, "prod-a")
    args = command_line.parse(["reconcile", "--snapshot", "x", "--lake", "other", "--config", config]).args
    assert (args.lake, args.lists, args.reports) == ("other", "hdfs://ns1/lists", "file:///pages")
    assert args.cluster is None, "a file given by hand may be for any cluster"


def test_a_job_on_splits_takes_metrics_and_the_form_of_the_log_from_its_own_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(f"{TEXT}metrics: /metrics\nlog_format: json\n")
    job = ["split-preflight", "--state", "s.json"]
    args = command_line.parse([*job, "--config", str(file)]).args
    assert (args.metrics, args.log_format, args.lake) == ("/metrics", "json", None)
    monkeypatch.setenv("WALSAFE_CONFIG", str(file))
    args = command_line.parse(job).args
    assert (args.metrics, args.log_format, args.config) == (None, "text", None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lak: /lake\n", "{0}, line 1: unknown key 'lak'; did you mean lake?"),
        ("lake: /lake\nlake: /other\n", "{0}, line 2: key 'lake' is given twice (first on line 1)"),
        ("lake: ~/lake\n", "{0}, line 1: 'lake': ~/lake: write the whole path instead of ~"),
        ("metrics: file:m\n", "{0}, line 1: 'metrics': file:m: a file: URI needs an absolute path"),
        ("cluster: prod\n", "required: --lake (or as a key in the file of --config or $WALSAFE_CONFIG: lake)"),
    ],
)
def test_a_mistake_of_the_file_is_told_before_what_is_missing_because_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        command_line.parse(["maintain", "--config", str(file)])
    assert ended.value.code == 2
    assert words.format(file) in capsys.readouterr().err.splitlines()[-1]


def test_a_wrong_key_is_no_wrong_option_of_a_job_on_queues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("log_format: jsn\n")
    with pytest.raises(SystemExit):
        command_line.parse(["audit-queues", "--snapshot", "x", "--config", str(file)])
    assert f"{file}, line 1: 'log_format' must be 'text' or 'json'" in capsys.readouterr().err.splitlines()[-1]


def test_on_the_cluster_no_file_of_the_machine_adds_an_option(config: str) -> None:
    given = ["--config", config]
    assert complete_options(given, KNOWN, FROM_ENVIRONMENT, {SHIPPED_ENV: "1"}) == given


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("capture", "required: --config (--config or $WALSAFE_CONFIG names the configuration)"),
        (
            "reconcile --snapshot x",
            "required: --lake, --lists (or as a key in the file of --config or $WALSAFE_CONFIG: lake and lists)",
        ),
    ],
)
def test_what_is_missing_without_a_configuration_is_told_with_where_it_could_stand(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, words: str
) -> None:
    monkeypatch.delenv("WALSAFE_CONFIG", raising=False)
    with pytest.raises(SystemExit):
        command_line.parse(command.split())
    assert words in capsys.readouterr().err.splitlines()[-1]
