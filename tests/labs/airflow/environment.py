"""Creates Airflow's own environment `.venv-airflow`; renews it when requirements-airflow.txt changes."""

import subprocess
import sys
from pathlib import Path

from tests.labs.installed import installed, pip_install
from tests.labs.places import PROJECT

LOCK = PROJECT / "requirements-airflow.txt"


def airflow_python() -> Path:
    """Returns the Python of Airflow's environment."""
    home = PROJECT / ".venv-airflow"
    python = home / "bin" / "python"

    def install() -> None:
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        pip_install(python, LOCK, "--no-compile")  # most modules are never imported

    installed(home, LOCK.read_text(encoding="utf-8"), install)
    return python
