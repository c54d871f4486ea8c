"""Every Spark that walsafe supports: the same night has the same list and rows, bit for bit, and the tests pass."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.cli.launch.jars import supported_sparks
from tests.labs.places import PROJECT
from tests.labs.spark.other_sparks import LOCKS, spark_home
from tests.labs.spark.same_night import Night, assert_same, reconcile
from tests.labs.spark.submitter import Submitter

pytestmark = pytest.mark.long

TESTS = (
    *("test_verdicts", "test_verdicts_by_name", "test_tables", "test_delta_tables", "test_delete_lists"),
    *("test_list_parts", "test_lake", "test_bad_input", "test_cleanup", "test_audit_rows"),
)
"""Of tests/spark: what decides, writes, reads and cleans up in this process."""
OLDEST, *BETWEEN = LOCKS
"""`--all` tries the oldest Spark and our own; those between them are tried by `--deep`."""


@pytest.mark.promise("same-list-on-every-spark")
@pytest.mark.parametrize("version", [OLDEST, *(pytest.param(one, marks=pytest.mark.deep) for one in BETWEEN)])
def test_the_same_night(version: str, submit: Submitter, snapshots: Path, here: Night, tmp_path: Path) -> None:
    there = reconcile(submit, snapshots, tmp_path, "--master local[2]", env={"SPARK_HOME": str(spark_home(version))})
    assert there.spark.startswith(version)
    assert not here.spark.startswith(version)
    assert_same(here, there)


@pytest.mark.deep
@pytest.mark.parametrize("version", LOCKS)
def test_verdicts_tables_lists_and_clean_up(version: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(spark_home(version).parent)}
    asked = "import pyspark; print(pyspark.__version__)"
    told = subprocess.run([sys.executable, "-c", asked], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.startswith(f"{version}.")
    files = ["tests/spark/nights", *(f"tests/spark/{name}.py" for name in TESTS)]
    command = [sys.executable, "-m", "pytest", "--size", "all", "-p", "no:cacheprovider", "-q", *files]
    done = subprocess.run(command, env=environment, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert (done.returncode, " skipped" in done.stdout) == (0, False), done.stdout[-5000:]


def test_each_supported_spark_is_tried_here_or_everywhere_else() -> None:
    *others, own = supported_sparks(PROJECT / "jars.lock")
    assert others == list(LOCKS)
    assert f"pyspark=={own}." in (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
