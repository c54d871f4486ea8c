"""The same night on every Spark that walsafe supports: the same list and the same rows, bit for bit."""

from pathlib import Path

import pytest

from jobs.cli.launch.jars_lock import supported_sparks
from tests.labs.places import PROJECT
from tests.labs.spark.other_sparks import LOCKS, spark_home
from tests.labs.spark.same_night import Night, assert_same, reconcile
from tests.labs.spark.submitter import Submitter

pytestmark = pytest.mark.long


@pytest.mark.promise("same-list-on-every-spark")
@pytest.mark.parametrize("version", LOCKS)
def test_the_same_night(version: str, submit: Submitter, snapshots: Path, here: Night, tmp_path: Path) -> None:
    there = reconcile(submit, snapshots, tmp_path, "--master local[2]", env={"SPARK_HOME": str(spark_home(version))})
    assert there.spark.startswith(version)
    assert not here.spark.startswith(version)
    assert_same(here, there)


def test_each_supported_spark_is_tried_here_or_everywhere_else() -> None:
    *others, own = supported_sparks(PROJECT / "jars.lock")
    assert others == list(LOCKS)
    assert f"pyspark=={own}." in (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
