"""Every job that can be named."""

import re
import shlex
import subprocess
import sys

import pytest

from jobs.cli.entry import parse
from jobs.cli.registry import JOBS
from tests.labs.places import PROJECT

SPLIT = {name for name in JOBS if name.startswith("split-")} - {"split-demo"}
SLOW = ("pyspark", "delta", "pyarrow", "pandas", "great_expectations", "matplotlib", "deltalake")


@pytest.mark.promise("every-job-explains-itself")
@pytest.mark.parametrize("name", JOBS)
def test_a_job_says_what_the_overview_says(name: str) -> None:
    entry = JOBS[name]
    job = entry.load()
    assert entry.help == job.HELP
    assert len(job.DESCRIPTION) > len(job.HELP)


@pytest.mark.parametrize("name", JOBS)
def test_help_waits_for_no_slow_library(name: str) -> None:
    code = (
        "import sys; from jobs.cli.entry import parse\n"
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
