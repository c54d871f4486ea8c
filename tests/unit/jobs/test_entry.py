"""The frame of a job: arguments, answers, exit codes."""

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from jobs.cli import command_line, entry
from jobs.cli.context import SHIPPED_ENV, JobContext, project_file
from jobs.cli.registry import JOBS, JobEntry
from jobs.cli.result_file import replace_file
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, SnapshotError, UnavailableError, UsageError
from pipelines.common.job_result import JobResult
from pipelines.files.local_paths import path_here

Run = Callable[[Namespace, JobContext], JobResult]
Install = Callable[[Run], None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a job named `probe` among the others."""

    def put(run: Run) -> None:
        module = ModuleType("tests.probe_job")

        def add_arguments(parser: ArgumentParser) -> None:
            parser.add_argument("--config")

        module.__dict__.update(DESCRIPTION="teaches", NEEDS_SPARK=False, add_arguments=add_arguments, run=run)
        monkeypatch.setitem(sys.modules, "tests.probe_job", module)
        monkeypatch.setitem(JOBS, "probe", JobEntry("tests.probe_job", "a probe"))

    return put


def test_text_goes_to_standard_output(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install(lambda _args, _context: JobResult(5, {"files": 3}, "three files\n"))
    assert entry.main(["probe"]) == 5
    assert capsys.readouterr().out == "three files\n"


@pytest.mark.promise("exit-0", "result-is-one-object")
def test_json_is_one_object_and_equals_the_result_file(
    install: Install, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    install(lambda _args, _context: JobResult(0, {"clusters": ["ä"]}, "text"))
    result = tmp_path / "new folder" / "r.json"
    assert entry.main(["probe", "--output", "json", "--result", str(result)]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"job": "probe", "exit_code": 0, "clusters": ["ä"]}
    assert result.read_text(encoding="utf-8") == printed
    assert list(result.parent.iterdir()) == [result]


def test_result_takes_a_file_uri(install: Install, tmp_path: Path) -> None:
    install(lambda _args, _context: JobResult(0, {}, ""))
    assert entry.main(["probe", "--result", f"file://{tmp_path}/r.json"]) == 0
    assert json.loads((tmp_path / "r.json").read_text()) == {"job": "probe", "exit_code": 0}


def test_a_result_never_takes_the_place_of_a_pipe(install: Install, tmp_path: Path) -> None:
    install(lambda _args, _context: JobResult(0, {}, ""))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(SystemExit, match=r"^2$"):
        entry.main(["probe", "--result", str(pipe)])
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("uri", "here"),
    [
        ("r.json", "r.json"),
        ("r-02:00.json", "r-02:00.json"),
        ("./hdfs:/r", "hdfs:/r"),
        ("file:/a/r.json", "/a/r.json"),
        ("FILE:///a/r.json", "/a/r.json"),
        ("hdfs:/a/r.json", None),
        ("hdfs://ns1/a/r.json", None),
        ("s3a://bucket/r.json", None),
    ],
)
def test_only_a_path_or_a_file_uri_is_of_this_machine(uri: str, here: str | None) -> None:
    assert path_here(uri) == (None if here is None else Path(here))


@pytest.mark.parametrize(("ended", "code"), [(0, 4), (3, 3)])
def test_result_that_cannot_be_written_is_a_failure_but_never_hides_the_answer(
    install: Install, capsys: pytest.CaptureFixture[str], tmp_path: Path, ended: int, code: int
) -> None:
    install(lambda _args, _context: JobResult(ended, {}, "the answer"))
    (tmp_path / "file").touch()
    assert entry.main(["probe", "--result", str(tmp_path / "file" / "r.json")]) == code
    captured = capsys.readouterr()
    assert captured.out == "the answer\n"
    assert captured.err.startswith(f"walsafe probe: --result {tmp_path}/file/r.json cannot be written: ")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(("ended", "code"), [(0, 4), (3, 3)])
def test_an_answer_that_cannot_be_written_hides_neither_the_message_nor_the_metrics(
    install: Install, monkeypatch: pytest.MonkeyPatch, ended: int, code: int
) -> None:
    def run(_args: Namespace, _context: JobContext) -> JobResult:
        monkeypatch.setenv(entry.OUTPUT_FILE_ENV, "/dev/full")
        return JobResult(ended, {}, "the answer")

    told: list[int] = []
    monkeypatch.setattr(entry, "_notify", lambda _invocation, outcome, _context: told.append(outcome.exit_code))
    monkeypatch.setattr(entry, "_publish", lambda _invocation, outcome, *_: told.append(outcome.exit_code))
    install(run)
    assert entry.main(["probe"]) == code
    assert told == [ended, code]


@pytest.mark.promise("exit-2", "exit-4", "exit-1-and-130")
@pytest.mark.parametrize(
    ("error", "code", "kind", "condition"),
    [
        (UsageError("which cluster?"), 2, "UsageError", "USAGE"),
        (RefusedError(Condition.MASTER_CHANGED, "the master changed"), 3, "RefusedError", "MASTER_CHANGED"),
        (SnapshotError(Condition.SNAPSHOT_DAMAGED, "cut off"), 3, "SnapshotError", "SNAPSHOT_DAMAGED"),
        (UnavailableError("no answer"), 4, "UnavailableError", "UNAVAILABLE"),
        (UnavailableError("busy", condition=Condition.LEASE_HELD), 4, "UnavailableError", "LEASE_HELD"),
        (OSError(28, "No space left on device"), 4, "UnavailableError", "UNAVAILABLE"),
        (KeyboardInterrupt(), 130, "Interrupted", None),
    ],
)
def test_an_error_is_one_line_an_exit_code_and_an_object(
    install: Install,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    kind: str,
    condition: str | None,
) -> None:
    def fail(_args: Namespace, _context: JobContext) -> JobResult:
        raise error

    install(fail)
    assert entry.main(["probe", "--output", "json"]) == code
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert (document["exit_code"], document["error"]["kind"]) == (code, kind)
    assert document["error"]["condition"] == condition
    assert captured.err == f"walsafe probe: {document['error']['message']}\n"


@pytest.mark.promise("exit-1-and-130")
def test_a_bug_shows_its_traceback_and_exits_1(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_args: Namespace, _context: JobContext) -> JobResult:
        return {}["missing"]  # type: ignore[no-any-return]

    install(fail)
    assert entry.main(["probe"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" in captured.err
    assert "unexpected KeyError" in captured.err


def test_an_unknown_job_names_the_jobs_and_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        entry.main(["reconsile"])
    assert left.value.code == 2
    message = capsys.readouterr().err
    assert "did you mean reconcile?" in message
    assert all(name in message for name in JOBS)


def test_no_job_is_wrong_usage_and_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        entry.main([])
    assert left.value.code == 2
    assert capsys.readouterr().out == command_line.overview()


def test_help_lists_every_job(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        entry.main(["--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        entry.main(["split", "--help"])
    assert left.value.code == 0
    text += capsys.readouterr().out
    assert all(f"  {name} " in text and job.help in text for name, job in JOBS.items())


def test_a_file_that_cannot_be_renamed_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        replace_file(tmp_path / "folder", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_result_that_cannot_be_written_is_unavailable(install: Install, tmp_path: Path) -> None:
    install(lambda _args, _context: JobResult(0, {}, ""))
    (tmp_path / "file").touch()
    assert entry.main(["probe", "--result", str(tmp_path / "file" / "r.json")]) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.promise("exit-2")
@pytest.mark.parametrize("arguments", [["--conf", "x"], ["--output", "yaml"], ["--result"], ["extra"]])
def test_wrong_options_exit_2(install: Install, arguments: list[str]) -> None:
    install(lambda _args, _context: JobResult(0, {}, ""))
    with pytest.raises(SystemExit) as left:
        entry.main(["probe", *arguments])  # `--conf` is no abbreviation of `--config`
    assert left.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reconcile", "--snapshoot", "x", "--lake", "y"], "no such option: --snapshoot; did you mean --snapshot?"),
        (["clean", "--cluster", "a", "--lits=b"], "no such option: --lits; did you mean --lists?"),
        (["purge", "--qqq"], "no such option: --qqq\n"),
    ],
)
def test_an_option_that_does_not_exist_is_named_before_what_is_missing(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    with pytest.raises(SystemExit) as left:
        entry.main(arguments)
    assert left.value.code == 2
    message = capsys.readouterr().err
    assert said in message
    assert "required" not in message


def test_a_local_file_is_found_where_spark_ships_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(SHIPPED_ENV, "1")
    (tmp_path / "prod.yaml").touch()
    context = JobContext("probe")
    assert context.local_file("/edge/only/prod.yaml") == Path("prod.yaml")
    with pytest.raises(UsageError, match=r"no such file: /edge/only/other\.yaml"):
        context.local_file("/edge/only/other.yaml")
    (tmp_path / "node").mkdir()
    (tmp_path / "node" / "prod.yaml").touch()
    assert context.local_file(f"{tmp_path}/node/prod.yaml") == Path("prod.yaml"), "that of the node may be old"


def test_a_file_in_a_folder_that_cannot_be_searched_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(UsageError, match=r"/closed/prod\.yaml cannot be read: .*Permission denied"):
        JobContext("probe").local_file("/closed/prod.yaml")


def test_a_file_of_the_same_name_is_another_file(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(lambda args, context: JobResult(0, {"read": str(context.local_file(args.config))}, ""))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prod.yaml").touch()
    assert entry.main(["probe", "--config", "/edge/only/prod.yaml"]) == 2
    assert "no such file: /edge/only/prod.yaml" in capsys.readouterr().err
    assert entry.main(["probe", "--config", "prod.yaml"]) == 0


def test_a_project_file_is_read_wherever_the_package_lies() -> None:
    assert "spark.driver.memory" in project_file("conf/spark-defaults.conf")
