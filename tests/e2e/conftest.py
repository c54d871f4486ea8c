"""A project of its own for the tests that start `spark-submit.sh`."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PROBE = Path(__file__).with_name("probe_job.py")


@dataclass(frozen=True)
class Submitter:
    """`spark-submit.sh` of a copy of the project that has one more job, `probe`."""

    project: Path

    def command(self, *arguments: str) -> list[str]:
        return [str(self.project / "spark-submit.sh"), *arguments]

    def __call__(
        self, *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            env={**clean_environment(), **(env or {})},
            cwd=cwd or self.project.parent,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )


def clean_environment() -> dict[str, str]:
    """This process's environment without what would change where Spark runs."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "WALSAFE_"))
    }


def copy_project(target: Path) -> Path:
    """The tree that `spark-submit.sh` needs, without `.venv` and `.jars`."""
    target.mkdir(parents=True)
    for name in ("conf", "jobs", "pipelines", "schemas", "scripts"):
        shutil.copytree(PROJECT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("spark-submit.sh", "pyproject.toml", "constraints.txt", "jars.lock"):
        shutil.copy2(PROJECT / name, target / name)
    return target


@pytest.fixture(scope="session")
def submit(tmp_path_factory: pytest.TempPathFactory) -> Submitter:
    """A project in a path with a space, prepared like this one."""
    project = copy_project(tmp_path_factory.mktemp("e2e") / "wal safe")
    for name in (".venv", ".jars"):
        (project / name).symlink_to(PROJECT / name)
    shutil.copyfile(PROBE, project / "jobs" / "probe.py")
    with (project / "jobs" / "registry.py").open("a", encoding="utf-8") as registry:
        registry.write('JOBS["probe"] = Entry("jobs.probe", "a job of the tests", small=True)\n')
    return Submitter(project)
