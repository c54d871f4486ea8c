"""A project of its own for the tests that start `spark-submit.sh`, and a night to compare others with."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.labs.places import PROJECT
from tests.labs.spark.same_night import Night, reconcile_here, write_fleet
from tests.labs.spark.submitter import PROBE, Submitter, copy_project, link_class_archive


@pytest.fixture(scope="session")
def submit(tmp_path_factory: pytest.TempPathFactory) -> Submitter:
    """A project in a path with a space, prepared like this one."""
    project = copy_project(tmp_path_factory.mktemp("e2e") / "wal safe")
    for name in (".venv", ".jars"):
        (project / name).symlink_to(PROJECT / name)
    link_class_archive(project)
    shutil.copyfile(PROBE, project / "jobs" / "probe.py")
    with (project / "jobs" / "cli" / "registry.py").open("a", encoding="utf-8") as registry:
        registry.write('JOBS["probe"] = JobEntry("jobs.probe", "a job of the tests", small=True)\n')
        registry.write(
            'JOBS["probe-first"] = JobEntry("jobs.probe", "as the demo", small=True, archives_classes=True)\n'
        )
    return Submitter(project)


@pytest.fixture(scope="session")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A skewed fleet that was captured just now."""
    return write_fleet(tmp_path_factory.mktemp("fleet"))


@pytest.fixture(scope="session")
def here(spark: SparkSession, snapshots: Path, tmp_path_factory: pytest.TempPathFactory) -> Night:
    """The fleet's night in the session that tests share: what it must be everywhere else too."""
    return reconcile_here(spark, snapshots, tmp_path_factory.mktemp("here"))
