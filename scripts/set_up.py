"""Prepares the project for its first start: `.venv` with the pinned packages, `.jars` with Delta's jars.

Standard library only; spark-submit.sh and tests/run call it when their own quick look finds something missing. It may
be killed at any moment and started twice at once: one of the two waits, and whatever is half-done is done again.
"""

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

EXIT_USAGE, EXIT_UNAVAILABLE = 2, 4
IVY_SETTINGS_ENV = "WALSAFE_IVY_SETTINGS"


class SetUpError(Exception):
    """A step failed; the message says which step and what to do, `exit_code` whether another try may help."""

    def __init__(self, message: str, exit_code: int = EXIT_UNAVAILABLE) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Jar:
    """One line of jars.lock."""

    sha256: str
    organisation: str
    module: str
    revision: str

    @property
    def name(self) -> str:
        """Returns the name of the jar's file in `.jars`."""
        return f"{self.organisation}_{self.module}-{self.revision}.jar"


def main(arguments: list[str]) -> int:
    """Runs the steps that are not done yet.

    Returns:
        0, or 2 (something must be installed first), or 4 (a download failed).
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--project", type=Path, required=True, help="the project's root")
    parser.add_argument("--java", default="java", help="the java command, already checked")
    parser.add_argument("--dev", action="store_true", help="also what tests and linters need")
    options = parser.parse_args(arguments)
    try:
        with _lock(options.project / ".cache"):
            _environment(options.project, dev=options.dev)
            _jars(options.project, options.java)
    except SetUpError as error:
        sys.stderr.write(f"walsafe: {error}\n")
        return error.exit_code
    except OSError as error:
        sys.stderr.write(f"walsafe: cannot prepare {options.project}: {error}; make it writable and start again\n")
        return EXIT_UNAVAILABLE
    except KeyboardInterrupt:
        sys.stderr.write("walsafe: interrupted; the next start continues from here\n")
        return 130
    return 0


def _environment(project: Path, *, dev: bool) -> None:
    """Creates or renews `.venv`.

    The file `.venv/.incomplete` exists from before the first change until after the last.
    """
    home = project / ".venv"
    python, incomplete = home / "bin" / "python", home / ".incomplete"
    stamps = [home / "walsafe-installed", *([home / "walsafe-installed-dev"] if dev else [])]
    wanted = environment_key(project)
    if python.exists() and not incomplete.exists() and all(_text(stamp) == wanted for stamp in stamps):
        return
    started = time.monotonic()
    _say("first start: installing into .venv (some 300 MB to download); later starts need no network")
    if incomplete.exists() or not python.exists():
        shutil.rmtree(home, ignore_errors=True)
    home.mkdir(exist_ok=True)
    incomplete.touch()
    if not python.exists():
        _run(
            [sys.executable, "-m", "venv", str(home)],
            "this Python cannot make a virtual environment: install its venv module (Debian: apt-get install "
            f"python3-venv) and start again [{sys.executable}]",
            EXIT_USAGE,
        )
    requirements = _requirements(python, project / "pyproject.toml", dev=dev)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    _run(
        [*pip, "--constraint", str(project / "constraints.txt"), *requirements],
        "pip could not install the packages; see above, check the network or pip's index settings, and start again",
    )
    for stamp in stamps:
        stamp.write_text(wanted, encoding="utf-8")
    incomplete.unlink()
    _say(f"packages installed in {time.monotonic() - started:.0f} s")


def environment_key(project: Path) -> str:
    """Returns the text on which the installed packages depend.

    This is pyproject.toml up to `[build-system]`, and constraints.txt.
    """
    pyproject = (project / "pyproject.toml").read_text(encoding="utf-8")
    return pyproject.partition("\n[build-system]")[0] + "\n" + (project / "constraints.txt").read_text(encoding="utf-8")


def _requirements(python: Path, pyproject: Path, *, dev: bool) -> list[str]:
    """Returns the requirements in pyproject.toml; Python 3.10 has no tomllib of its own, but pip brings one."""
    code = (
        "import sys\n"
        "try:\n    import tomllib\nexcept ImportError:\n    from pip._vendor import tomli as tomllib\n"
        "project = tomllib.load(open(sys.argv[1], 'rb'))['project']\n"
        "extra = project['optional-dependencies']['dev'] if sys.argv[2] == 'dev' else []\n"
        "print('\\n'.join([*project['dependencies'], *extra]))\n"
    )
    command = [str(python), "-c", code, str(pyproject), "dev" if dev else ""]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")[:-1]


def read_lock(lock: Path) -> list[Jar]:
    """Returns the jars that jars.lock names."""
    jars = []
    for line in lock.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            sha256, coordinate = line.split()
            jars.append(Jar(sha256, *coordinate.split(":")))
    return jars


def _jars(project: Path, java: str) -> None:
    """Fetches the jars into a temporary folder, then moves the whole folder into place."""
    lock, target = project / "jars.lock", project / ".jars"
    wanted = read_lock(lock)
    if _text(target / "jars.lock") == lock.read_text(encoding="utf-8") and not _damaged(target, wanted):
        return
    _say("fetching Delta's jars into .jars (12 MiB)")
    cache = project / ".cache"
    for leftover in cache.glob("jars-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix="jars-", dir=cache))
    _retrieve(project, java, wanted, work)
    damaged = _damaged(work, wanted)
    if damaged:
        raise SetUpError(
            f"{damaged[0]} is not the file that jars.lock names; clear .cache/ivy, check which repository serves it, "
            "and start again"
        )
    shutil.copyfile(lock, work / "jars.lock")
    work.chmod(0o755)
    if target.exists():
        target.rename(cache / f"jars-old-{os.getpid()}")
    work.rename(target)
    shutil.rmtree(cache / f"jars-old-{os.getpid()}", ignore_errors=True)


def _retrieve(project: Path, java: str, wanted: list[Jar], work: Path) -> None:
    """Fetches jars with the Ivy that pyspark ships, each jar alone.

    It omits Delta's dependencies, because pyspark has newer versions of them.
    """
    ivy = next(iter(sorted((project / ".venv").glob("lib/python*/site-packages/pyspark/jars/ivy-*.jar"))), None)
    if ivy is None:
        raise SetUpError("pyspark in .venv has no Ivy: remove .venv and start again")
    module = ET.Element("ivy-module", version="2.0")
    ET.SubElement(module, "info", organisation="walsafe", module="jars")
    ET.SubElement(ET.SubElement(module, "configurations"), "conf", name="default")
    dependencies = ET.SubElement(module, "dependencies")
    for jar in wanted:
        attributes = {"org": jar.organisation, "name": jar.module, "rev": jar.revision}
        ET.SubElement(dependencies, "dependency", attributes, conf="default->master(default)", transitive="false")
    description = work / "ivy.xml"
    description.write_bytes(ET.tostring(module))
    home = project / ".cache" / "ivy"
    command = [java, f"-Divy.default.ivy.user.dir={home}", "-jar", str(ivy), "-ivy", str(description), "-warn"]
    command += ["-cache", str(home / "cache"), "-confs", "default"]
    command += ["-retrieve", str(work / "[organisation]_[artifact]-[revision].[ext]")]
    if os.environ.get(IVY_SETTINGS_ENV):
        command += ["-settings", os.environ[IVY_SETTINGS_ENV]]
    _run(
        command,
        "Delta's jars could not be fetched; see above, check the network (a repository of your own: Ivy settings file "
        f"in {IVY_SETTINGS_ENV}), and start again",
    )
    description.unlink()


def _damaged(folder: Path, wanted: list[Jar]) -> list[str]:
    """Returns the names of the jars that are missing or have another content."""
    names = []
    for jar in wanted:
        file = folder / jar.name
        if not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != jar.sha256:
            names.append(jar.name)
    return names


@contextmanager
def _lock(cache: Path) -> Iterator[None]:
    """Lets only one first start work at a time; the kernel frees the lock if its process is killed."""
    cache.mkdir(exist_ok=True)
    with (cache / "set-up.lock").open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("another start is preparing the project; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(command: list[str], problem: str, exit_code: int = EXIT_UNAVAILABLE) -> None:
    """Runs a step; its output is shown only if it fails."""
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.stderr.buffer.write(done.stdout)
        sys.stderr.flush()
        raise SetUpError(problem, exit_code)


def _text(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


def _say(message: str) -> None:
    sys.stderr.write(f"walsafe: {message}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
