"""Creates Airflow's own environment `.venv-airflow`; renews it when requirements-airflow.txt changes."""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

from tests.labs.places import PROJECT

LOCK = PROJECT / "requirements-airflow.txt"


def airflow_python() -> Path:
    """Returns the Python of Airflow's environment.

    Completes a half-made one, and lets only one process make it at a time.
    """
    home = PROJECT / ".venv-airflow"
    python, stamp = home / "bin" / "python", home / "walsafe-installed"
    wanted = LOCK.read_text(encoding="utf-8")
    cache = PROJECT / ".cache"
    cache.mkdir(exist_ok=True)
    with (cache / "set-up-airflow.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return python
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
        subprocess.run([*pip, "--require-hashes", "--requirement", str(LOCK)], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    return python
