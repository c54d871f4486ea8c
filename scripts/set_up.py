"""Prepares a clone for its first start: `.venv` with the locked packages, `.jars` with Delta's jars.

Standard library only; spark-submit.sh and tests/run call it when their own quick look finds something missing. It may
be killed at any moment and started twice at once: one of the two waits, and whatever is half-done is done again.
"""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from jobs.cli.launch.jars import StepError, fetch_jars, one_at_a_time, run_step

EXIT_USAGE, EXIT_UNAVAILABLE = 2, 4


class NoVenvError(StepError):
    """This Python cannot make a virtual environment: something must be installed first."""


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
    project, cache = options.project, options.project / ".cache"
    try:
        with one_at_a_time(cache, _say):
            _environment(project, dev=options.dev)
            fetch_jars(
                project / "jars.lock", project / ".jars", cache, options.java, lambda: _spark_jars(project), _say
            )
    except StepError as error:
        sys.stderr.write(f"walsafe: {error}\n")
        return EXIT_USAGE if isinstance(error, NoVenvError) else EXIT_UNAVAILABLE
    except OSError as error:
        way = "let a user who may write there run ./spark-submit.sh --set-up"
        sys.stderr.write(f"walsafe: cannot prepare {project}: {error}; {way}\n")
        return EXIT_UNAVAILABLE
    except KeyboardInterrupt:
        sys.stderr.write("walsafe: interrupted; the next start continues from here\n")
        return 130
    return 0


def _environment(project: Path, *, dev: bool) -> None:
    """Creates or renews `.venv` with exactly the packages of a lock, by their hashes.

    The file `.venv/.incomplete` exists from before the first change until after the last.
    """
    home = project / ".venv"
    python, incomplete = home / "bin" / "python", home / ".incomplete"
    locks = [project / "requirements.txt", *([project / "requirements-dev.txt"] if dev else [])]
    stamps = {home / f"{lock.stem.replace('requirements', 'walsafe-installed')}": lock.read_bytes() for lock in locks}
    there = all(stamp.exists() and stamp.read_bytes() == wanted for stamp, wanted in stamps.items())
    is_whole = python.exists() and not incomplete.exists() and _has_packages(home, python.resolve().name)
    if is_whole and there:
        return
    started = time.monotonic()
    first = "first start: installing into .venv (some 300 MB to download)"
    what = "updating the packages in .venv" if is_whole else first
    _say(f"walsafe: {what}; later starts need no network")
    if not is_whole:
        shutil.rmtree(home, ignore_errors=True)
    home.mkdir(exist_ok=True)
    incomplete.touch()
    if not python.exists():
        try:
            run_step([sys.executable, "-I", "-m", "venv", str(home)], "")
        except StepError:
            raise NoVenvError(
                "this Python cannot make a virtual environment: install its venv module (Debian: apt-get install "
                f"python3-venv) and start again [{sys.executable}]"
            ) from None
    # -I: of a PYTHONPATH, pip would take the packages for installed ones
    pip = [str(python), "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    run_step(
        [*pip, "--no-compile", "--require-hashes", "--requirement", str(locks[-1])],
        "pip could not install the packages; see above, check the network or pip's index settings, and start again",
    )
    # pip compiles on one core, the tests of packages too: 54 s instead of 74 for both steps, on two cores
    compile_all = [str(python), "-I", "-m", "compileall", "-qq", "-j", "0", "-x", "site-packages/.*/tests?/"]
    subprocess.run([*compile_all, *map(str, home.glob("lib/python*/site-packages"))], check=False, close_fds=False)
    for stamp, wanted in stamps.items():
        stamp.write_bytes(wanted)
    incomplete.unlink()
    _say(f"walsafe: packages installed in {time.monotonic() - started:.0f} s")


def _has_packages(home: Path, python: str) -> bool:
    """Whether the packages are those of the Python behind the link; an upgrade of the system may have changed it."""
    return not python.startswith("python3.") or (home / "lib" / python / "site-packages").is_dir()


def _say(message: str) -> None:
    sys.stderr.write(f"{message}\n")


def _spark_jars(project: Path) -> Path:
    """Returns the folder of the jars that pyspark ships."""
    return next((project / ".venv").glob("lib/python*/site-packages/pyspark/jars"), project / ".venv")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
