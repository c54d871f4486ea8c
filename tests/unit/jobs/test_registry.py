"""Every job that can be named."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.cli.command_line import overview, parse, split_overview
from jobs.cli.registry import GROUPS, JOBS, PEGASUS
from tests.labs.places import PROJECT

SPLIT = {name for name in JOBS if name.startswith("split-")} - {"split-demo"}
SLOW = ("pyspark", "delta", "pyarrow", "pandas", "great_expectations", "matplotlib", "deltalake")


@pytest.mark.promise("every-job-explains-itself")
@pytest.mark.parametrize("name", JOBS)
def test_a_job_says_more_than_the_overview(name: str) -> None:
    assert len(JOBS[name].load().DESCRIPTION) > len(JOBS[name].help)


@pytest.mark.parametrize("name", JOBS)
def test_help_waits_for_no_slow_library(name: str) -> None:
    code = (
        "import sys; from jobs.cli.command_line import parse\n"
        "try: parse([sys.argv[1], '--help'])\n"
        "except SystemExit: print(','.join(m for m in sys.argv[2:] if m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, name, *SLOW], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == ""


@pytest.mark.promise("every-job-explains-itself")
@pytest.mark.parametrize("name", JOBS)
def test_the_examples_of_the_help_are_taken(name: str) -> None:
    text = JOBS[name].load().DESCRIPTION.replace("\\\n", " ")
    examples = re.findall(r"^ +\./spark-submit\.sh ([^\n]*)", text, re.MULTILINE)
    assert examples or name not in SPLIT
    for example in examples:
        assert example.split()[0] in JOBS
        parse(shlex.split(example, comments=True))  # SystemExit tells what it does not take


@pytest.mark.parametrize(
    ("name", "says"), [("clean", ""), ("reconcile", "Only then does cluster stand for --cluster.")]
)
def test_the_help_says_where_options_may_stand(name: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse([name, "--help"])
    said = capsys.readouterr().out
    assert "Keys of the file stand for options that are not given: " in said
    assert f"$WALSAFE_CONFIG may name the file instead of --config. {says}".strip() in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("reconcil --lake x", "no such job: 'reconcil'; did you mean reconcile"),
        ("split-audit", "did you mean split-audit-log, split-audit-config or split-"),
        ("views --lake x", "required: --dialect (--dialect: duckdb, spark or trino)"),
        ("nothing-like-it", "no such job: 'nothing-like-it'. Jobs: "),
    ],
)
def test_a_mistake_is_told_with_the_words_that_are_there(
    words: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(words.split())
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("name", ["splitt", "splits", "spilt"])
def test_a_job_that_begins_like_a_split_may_be_any_of_them(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse([name, "--help"])
    asked = capsys.readouterr().err.partition("?")[0]
    assert [job for job in GROUPS[PEGASUS] if job not in asked] == []
    assert asked.endswith(" or split --help")


def shown(overview: str) -> list[str]:
    """Jobs that a help shows with the line that the registry has for them."""
    return [
        name
        for name, said in re.findall(r"^  (\S+) +(\S.*)$", overview, re.MULTILINE)
        if name in JOBS and JOBS[name].help == said
    ]


def test_the_overview_shows_the_jobs_in_groups_and_leads_to_those_of_pegasus() -> None:
    text = overview()
    groups = ["start", "every night", "ask", "clean up", "upgrade and disaster", PEGASUS]
    assert re.findall(r"^(\S.*):$", text, re.MULTILINE) == groups == list(GROUPS)
    for group in groups[:-1]:
        (part,) = re.findall(rf"^{group}:\n((?:  .*\n)+)", text, re.MULTILINE)
        assert shown(part) == list(GROUPS[group])
    assert shown(text) == [name for group in groups[:-1] for name in GROUPS[group]]
    (pegasus,) = re.findall(rf"^{PEGASUS}:\n((?:  .*\n)+)", text, re.MULTILINE)
    assert pegasus.startswith("  split --help ")
    assert pegasus.count("\n") == 1


def test_split_help_shows_the_jobs_of_pegasus_and_these_alone() -> None:
    assert shown(split_overview()) == list(GROUPS[PEGASUS]) == [name for name in JOBS if name.startswith("split-")]


@pytest.mark.parametrize("words", [["--help"], ["split"], ["split", "--help"], ["split", "-h"], ["split", "help"]])
def test_helps_need_the_standard_library_only(words: list[str]) -> None:
    """As spark-submit.sh asks the machine's own Python, before anything is installed."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); from jobs.cli.launch.launcher import main; main(sys.argv[2:])"
    command = [sys.executable, "-I", "-S", "-B", "-c", code, str(PROJECT), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (split_overview() if words[0] == "split" else overview())


def test_the_script_installs_nothing_for_a_help(tmp_path: Path) -> None:
    shutil.copy(PROJECT / "spark-submit.sh", tmp_path)
    for folder in ("jobs", "pipelines", "schemas", "scripts"):
        (tmp_path / folder).symlink_to(PROJECT / folder)
    before = sorted(tmp_path.iterdir())
    done = subprocess.run([tmp_path / "spark-submit.sh", "split", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout == split_overview()
    assert sorted(tmp_path.iterdir()) == before, "neither .venv nor .jars"


def test_another_word_behind_split_is_no_job(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse(["split", "everything"])
    assert end.value.code == 2
    assert "did you mean split --help?" in capsys.readouterr().err
