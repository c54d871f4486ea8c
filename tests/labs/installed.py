"""Installs packages of tests into a folder of the project, once, by the hashes of a lock."""

import fcntl
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.labs.places import PROJECT


def installed(home: Path, wanted: str, install: Callable[[], None]) -> Path:
    """Installs into a folder, unless it already holds exactly what is wanted.

    A half-made folder is made anew. If two processes ask at once, one waits for the other.

    Args:
        home: the folder; the file `walsafe-installed` in it says what it holds.
        wanted: the text of the lock.
        install: fills the folder.
    """
    stamp, cache = home / "walsafe-installed", PROJECT / ".cache"
    cache.mkdir(exist_ok=True)
    with (cache / f"set-up-{home.name.lstrip('.')}.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
            shutil.rmtree(home, ignore_errors=True)
            install()
            stamp.write_text(wanted, encoding="utf-8")
    return home


def pip_install(python: str | Path, lock: str | Path, *options: str) -> None:
    """Installs the packages of a lock with the pip of a Python."""
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input", "--require-hashes"]
    subprocess.run([str(python), "-m", "pip", "install", *quiet, *options, "--requirement", str(lock)], check=True)


def pip_folder(name: str, lock: str) -> Path:
    """Returns a folder under `.cache` that has only the packages of a lock, for the Python of this environment.

    Args:
        name: of the folder.
        lock: the text of the lock.
    """
    home = PROJECT / ".cache" / name

    def install() -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
            file.write(lock)
            file.flush()
            pip_install(sys.executable, file.name, "--no-deps", "--no-compile", "--target", str(home))

    return installed(home, lock, install)
