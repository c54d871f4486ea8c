"""An Airflow whose database is made, for the tests of the nightly DAG."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.labs.airflow.environment import LOCK, airflow_python
from tests.labs.airflow.nights import Airflow
from tests.labs.installed import installed
from tests.labs.places import PROJECT


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    airflow = Airflow(airflow_python(), tmp_path_factory.mktemp("airflow"))
    shutil.copy(_database(airflow.python), airflow.home)
    return airflow


def _database(python: Path) -> Path:
    """Returns the database of an Airflow that has run nothing, made once for each lock."""
    home = PROJECT / ".cache" / "airflow-database"

    def migrate() -> None:
        command = [str(python.with_name("airflow")), "db", "migrate"]
        environment = Airflow(python, home).environment(Path("none"))
        home.mkdir()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]

    return installed(home, LOCK.read_text(encoding="utf-8"), migrate) / "airflow.db"
