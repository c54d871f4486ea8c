"""Runs nights of the DAG in a separate Airflow, with a stand-in for `spark-submit.sh` if a test wants one."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.labs.places import PROJECT

HERE = Path(__file__).parent
DAG = PROJECT / "jobs" / "dags" / "walsafe_nightly.py"


@dataclass(frozen=True)
class Night:
    """The result of one run of the DAG."""

    state: str
    tasks: Sequence[Mapping[str, Any]]
    assets: Sequence[Sequence[str]]

    def states(self, task: str) -> list[str]:
        """Returns the states of a task's instances, in the order of the clusters."""
        return [one["state"] for one in sorted(self.tasks, key=lambda one: one["map_index"]) if one["task"] == task]

    def tries(self, task: str) -> list[int]:
        return [one["tries"] for one in sorted(self.tasks, key=lambda one: one["map_index"]) if one["task"] == task]

    def links(self, task: str) -> list[str]:
        return [one["link"] for one in sorted(self.tasks, key=lambda one: one["map_index"]) if one["task"] == task]

    def labels(self, task: str) -> list[str]:
        return [one["label"] for one in sorted(self.tasks, key=lambda one: one["map_index"]) if one["task"] == task]


@dataclass(frozen=True)
class Airflow:
    """An AIRFLOW_HOME with its database (SQLite)."""

    python: Path
    home: Path

    def environment(self, config: Path) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "SPARK_"))}
        return ours | {
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
            "AIRFLOW__CORE__DAGS_FOLDER": str(DAG.parent),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "true",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.home}/airflow.db?timeout=900",
            "WALSAFE_NIGHTLY_CONFIG": str(config),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def copy(self, home: Path) -> "Airflow":
        shutil.copytree(self.home, home)
        return Airflow(self.python, home)

    def run(self, config: Path, *dates: str) -> tuple[list[Night], str]:
        """Runs one night for each logical date; `DATE={…}` gives params, too.

        Returns:
            The nights, and Airflow's log.
        """
        out = self.home / "nights.json"
        done = subprocess.run(
            [str(self.python), str(HERE / "run_nights.py"), str(DAG), str(out), *dates],
            env=self.environment(config),
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=7_200,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-5000:]
        return [Night(one["state"], one["tasks"], one["assets"]) for one in json.loads(out.read_text())], done.stdout


def date(day: int) -> str:
    """Returns the logical date of a night."""
    return f"2026-11-{day:02d}T02:00:00+00:00"


def night_id(day: int) -> str:
    return f"202611{day:02d}T020000Z"


@dataclass(frozen=True)
class World:
    """A folder with the stand-in, its script, and a configuration of the DAG."""

    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "nightly.yaml"

    def lines(self) -> list[dict[str, Any]]:
        """Returns everything that the stand-in recorded."""
        file = self.folder / "calls.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def calls(self, day: int) -> list[str]:
        """Returns every call of a night: part, cluster, and the digest that is approved."""
        argvs = [one["argv"] for one in self.lines() if one["night"] == night_id(day) and one["key"] != "signal"]
        return [
            " ".join([option(argv, "--part"), Path(option(argv, "--config")).stem, option(argv, "--approved")]).strip()
            for argv in argvs
        ]

    def job(self, day: int, cluster: str, part: str) -> Path:
        """Returns the folder of a job."""
        return self.folder / "results" / night_id(day) / cluster / part


def option(argv: Sequence[str], name: str) -> str:
    return argv[argv.index(name) + 1] if name in argv else ""


def world(folder: Path, scripts: Mapping[int, object], *, automatic: bool, **changes: object) -> World:
    """Makes a world whose stand-in answers each night as its script says."""
    folder.mkdir()
    shutil.copy(HERE / "stand_in.py", folder / "spark-submit.sh")
    (folder / "spark-submit.sh").chmod(0o755)
    (folder / "script.json").write_text(json.dumps({night_id(day): script for day, script in scripts.items()}))
    if automatic:
        (folder / "automatic").touch()
    settings = {
        "walsafe": str(folder),
        "results": str(folder / "results"),
        "clusters": {"prod-a": "/etc/walsafe/prod-a.yaml", "prod-b": "/etc/walsafe/prod-b.yaml"},
        "retry_delay": "0s",
        "report_url": "https://ops.example/walsafe/",
        **changes,
    }
    (folder / "nightly.yaml").write_text(json.dumps(settings))
    return World(folder)
