"""Starts `spark-submit.sh` of a copy of the project."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.labs.places import PROJECT

PROBE = Path(__file__).with_name("probe_job.py")
_SHORT_JOBS = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}  # else a JVM optimizes code that soon ends


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
            timeout=3_600,
            check=False,
        )


def clean_environment() -> dict[str, str]:
    """Returns this process's environment for short jobs, without the variables that would change where Spark runs."""
    foreign = ("SPARK_", "PYSPARK_", "WALSAFE_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | _SHORT_JOBS


def link_class_archive(project: Path) -> None:
    """Copies the archive of loaded Java classes to a copy that shares `.venv`, so that Java starts faster."""
    cache = project / ".cache"
    cache.mkdir(exist_ok=True)
    for archive in (PROJECT / ".cache").glob("classes-*.jsa"):
        (cache / archive.name).symlink_to(archive)


def copy_project(target: Path) -> Path:
    """Copies the files that `spark-submit.sh` needs, without `.venv` and `.jars`."""
    target.mkdir(parents=True)
    for name in ("conf", "jobs", "pipelines", "schemas", "scripts"):
        shutil.copytree(PROJECT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("spark-submit.sh", "pyproject.toml", "requirements.txt", "requirements-dev.txt", "jars.lock"):
        shutil.copy2(PROJECT / name, target / name)
    return target
