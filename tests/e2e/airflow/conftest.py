"""An Airflow whose database is made, for the tests of the nightly DAG."""

import subprocess
from pathlib import Path

import pytest

from tests.labs.airflow.environment import airflow_python
from tests.labs.airflow.nights import Airflow


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    airflow = Airflow(airflow_python(), tmp_path_factory.mktemp("airflow"))
    command = [str(airflow.python.with_name("airflow")), "db", "migrate"]
    done = subprocess.run(command, env=airflow.environment(Path("none")), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return airflow
