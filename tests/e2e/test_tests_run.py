"""`./tests/run`, the second command of the README, on one file."""

import json
import subprocess
import sys

import pytest

from tests.labs.places import PROJECT
from tests.labs.programs import PACKAGES
from tests.labs.spark.submitter import clean_environment
from tests.suite.processes import FIRST, SHARED, order
from tests.suite.sizes import RECORD

FILE = "tests/unit/files/test_hadoop_listing.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(PROJECT / "tests" / "run"), *arguments],
        env=clean_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow("a run of pytest in a run of pytest")
@pytest.mark.parametrize(
    ("size", "last"),
    [
        ("--fast", "./tests/run --all also runs the tests that are marked long"),
        pytest.param("--all", " passed in ", marks=pytest.mark.long),
    ],
)
def test_it_ends_with_the_summary_and_what_was_left_out(size: str, last: str) -> None:
    record = RECORD.read_bytes()
    done = run(size, FILE, *(["--record"] if size == "--fast" else []))
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("nothing is recorded" in done.stderr) == (size == "--fast"), "a record is of a whole size"
    assert RECORD.read_bytes() == record
    *_, summary, line = ["", *done.stdout.strip().splitlines()]
    assert last in line
    assert " passed in " in (summary if size == "--fast" else line)


def collected(size: str, file: str) -> set[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "--size", size, file]
    return {line for line in subprocess.check_output(command, cwd=PROJECT, text=True).splitlines() if "::" in line}


def test_fast_leaves_out_what_the_record_calls_costly() -> None:
    file = "tests/unit/models/test_starter.py"
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))["ordinary"]["costly"]
    costly = {name for name in recorded if name.startswith(file)}
    found = {size: collected(size, file) for size in ("ordinary", "fast")}
    assert found["fast"] == found["ordinary"] - costly
    assert found["ordinary"] > costly > set(), "the example needs another file"


def test_its_help_names_every_size() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert all(word in done.stdout for word in ("(none)", "--fast", "--all", "--deep", "--record"))


def test_every_file_that_shares_something_exists_and_the_longest_name_counts() -> None:
    for places in SHARED:
        for place in places:
            assert list(PROJECT.glob(f"{place}*")), place
            assert SHARED[order(place)[0]] == places
    assert order(FIRST) < order("tests/integration/test_migration.py") < order("tests/integration/test_wal_store.py")


def test_the_programs_of_long_tests_are_installed_where_every_change_is_tested() -> None:
    run = (PROJECT / ".ci" / "run").read_text(encoding="utf-8")
    assert [name for name, package in PACKAGES.items() if f"packages+=({package})" not in run] == []
