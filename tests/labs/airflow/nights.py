"""Runs nights of the DAG in a separate Airflow."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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

    @contextmanager
    def person(self, config: Path, answer: str) -> Iterator[Path]:
        """Starts a process that answers every approval.

        Yields the file with the approvals that it was asked for, a line each.
        """
        asked = self.home / "asked.jsonl"
        command = [str(self.python), str(HERE / "answer_approvals.py"), answer, str(asked)]
        with (self.home / "person.log").open("w") as log:
            process = subprocess.Popen(command, env=self.environment(config), cwd=self.home, stdout=log, stderr=log)
            try:
                yield asked
            finally:
                process.kill()
                process.wait()
