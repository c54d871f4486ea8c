"""What a fresh machine says, and a first start that is killed or started twice."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from unittest.mock import Mock

import pytest

from jobs.cli.launch.jars import StepError, fetch_jars, one_at_a_time, proxy_options
from tests.labs.places import PROJECT
from tests.labs.spark.jar_repository import jar_repository
from tests.labs.spark.submitter import clean_environment, copy_project

NEEDED = ("bash", "cat", "cmp", "env", "head", "readlink", "sed")


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A project that was never started."""
    return copy_project(tmp_path / "fresh clone")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A PATH with neither Python nor Java."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in NEEDED:
        (folder / name).symlink_to(shutil.which(name) or name)
    return folder


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def start(
    project: Path, programs: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(project / "spark-submit.sh"), *arguments],
        env={"PATH": str(programs), "HOME": str(programs), **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )


def nothing_was_installed(project: Path) -> bool:
    return not any((project / name).exists() for name in (".venv", ".jars", ".cache"))


def test_python_is_missing(fresh: Path, programs: Path) -> None:
    done = start(fresh, programs, "demo")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("walsafe: Python is missing: install Python 3.11 or newer")
    assert done.stderr.count("\n") == 1
    assert nothing_was_installed(fresh)


@pytest.mark.promise("python-and-java-are-checked")
def test_python_is_too_old(fresh: Path, programs: Path) -> None:
    script(programs / "python3", '[ "$1" = --version ] && echo Python 3.8.10; exit 1')
    done = start(fresh, programs, "demo")
    assert done.returncode == 2
    assert done.stderr.startswith("walsafe: Python 3.8.10 is too old: install Python 3.11 or newer")
    assert done.stderr.count("\n") == 1
    assert nothing_was_installed(fresh)


@pytest.mark.parametrize("named", ["/opt/python3.12/bin/python3", "false"])
def test_the_python_that_is_named_is_not_replaced_by_another(fresh: Path, programs: Path, named: str) -> None:
    (programs / "python3").symlink_to(sys.executable)
    script(programs / "false", "exit 1")
    done = start(fresh, programs, "demo", env={"WALSAFE_PYTHON": named})
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == f"walsafe: WALSAFE_PYTHON is {named}, which is not Python 3.11 or newer: correct it, or unset it.\n"
    )
    assert nothing_was_installed(fresh)


def test_java_is_missing(fresh: Path, programs: Path) -> None:
    (programs / "python3").symlink_to(sys.executable)
    done = start(fresh, programs, "demo")
    assert done.returncode == 2
    assert done.stderr.startswith("walsafe: Java is missing: install Java 17, 21 or 25")
    assert done.stderr.count("\n") == 1
    assert nothing_was_installed(fresh)


@pytest.mark.promise("python-and-java-are-checked")
@pytest.mark.parametrize(
    ("version", "says"),
    [
        ("11.0.20", "Java 11.0.20 is not supported"),
        ("1.8.0_392", "Java 1.8.0_392 is"),
        ("24.0.1", "Java 24.0.1 is"),
        ("170", "170"),
    ],
)
@pytest.mark.parametrize("told_by", ["release file", "java -version"])
def test_java_of_another_version(fresh: Path, programs: Path, version: str, says: str, told_by: str) -> None:
    (programs / "python3").symlink_to(sys.executable)
    home = programs / "jdk"
    answer = f"echo 'openjdk version \"{version}\" 2025-01-01' >&2" if told_by == "java -version" else "exit 9"
    script(home / "bin" / "java", answer)
    if told_by == "release file":
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    done = start(fresh, programs, "demo", env={"JAVA_HOME": str(home)})
    assert done.returncode == 2
    assert says in done.stderr
    assert "install Java 17, 21 or 25" in done.stderr
    assert done.stderr.count("\n") == 1
    assert nothing_was_installed(fresh)


@pytest.mark.promise("python-and-java-are-checked")
@pytest.mark.parametrize("version", ["17", "17.0.15", "21.0.1+12", "21-ea", "25.0.5"])
def test_java_17_21_and_25_pass(programs: Path, version: str) -> None:
    home = programs / "jdk"
    script(home / "bin" / "java", "exit 9")
    (home / "release").write_text(f'JAVA_VERSION="{version}"\n')
    done = subprocess.run(
        ["bash", "-c", 'source "$0"; find_java; printf %s "$JAVA"', str(PROJECT / "scripts" / "environment.sh")],
        env={"PATH": str(programs), "JAVA_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == str(home / "bin" / "java")


def test_the_script_of_a_version_manager_leads_to_its_java(programs: Path) -> None:
    home = programs / "jdk-17"
    script(home / "bin" / "java", f"echo '    java.home = {home}' >&2; echo 'openjdk version \"17.0.15\"' >&2")
    script(programs / "java", f'exec {home}/bin/java "$@"')
    done = subprocess.run(
        ["bash", "-c", 'source "$0"; find_java; printf %s "$JAVA"', str(PROJECT / "scripts" / "environment.sh")],
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == str(home / "bin" / "java")


def test_the_set_up_is_for_every_user_and_takes_nothing_of_a_pythonpath(fresh: Path, programs: Path) -> None:
    script(programs / "python3", f'case "$*" in *set_up.py*) echo "$1 $(umask)" > {programs}/told ;; esac')
    home = programs / "jdk"
    script(home / "bin" / "java", "exit 9")
    (home / "release").write_text('JAVA_VERSION="17"\n')
    before = os.umask(0o077)
    try:
        assert start(fresh, programs, "--set-up", env={"JAVA_HOME": str(home)}).returncode == 0
    finally:
        os.umask(before)
    assert (programs / "told").read_text() == "-I 0022\n"


def test_who_may_not_write_is_told_who_sets_it_up(offline: Path) -> None:
    (offline / ".cache").touch()
    done = run_set_up(offline)
    assert done.returncode == 4
    assert done.stderr.endswith("; let a user who may write there run ./spark-submit.sh --set-up\n")


def test_the_proxy_of_pip_is_that_of_the_jars(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example.org:3128")
    monkeypatch.setenv("NO_PROXY", "localhost, .example.org")
    script(programs / "java", f'echo "$@" > {programs}/told; exit 1')
    (programs / "ivy-2.jar").touch()
    target = programs / "jars"
    with pytest.raises(StepError):
        fetch_jars(
            PROJECT / "jars.lock", target, programs, str(programs / "java"), lambda: programs, lambda _words: None
        )
    assert (programs / "told").read_text().split()[:3] == [
        "-Dhttps.proxyHost=proxy.example.org",
        "-Dhttps.proxyPort=3128",
        "-Dhttp.nonProxyHosts=localhost|*.localhost|example.org|*.example.org",
    ]
    assert proxy_options({"http_proxy": "proxy"}) == ["-Dhttp.proxyHost=proxy", "-Dhttp.proxyPort=80"]
    assert proxy_options({}) == []


def test_a_proxy_that_java_cannot_use_is_left_out_or_told() -> None:
    assert proxy_options({"https_proxy": "socks5://proxy:1080", "http_proxy": "https://proxy"}) == []
    given = {"https_proxy": "proxy:3128", "no_proxy": "nexus.example.org:8081"}
    assert proxy_options(given)[-1] == "-Dhttp.nonProxyHosts=nexus.example.org|*.nexus.example.org"
    for wrong in ("http://proxy:80a0", "http://[::1"):
        with pytest.raises(StepError, match="HTTPS_PROXY is not like http://host:port"):
            proxy_options({"HTTPS_PROXY": wrong})


def test_questions_install_nothing(fresh: Path, programs: Path) -> None:
    (programs / "python3").symlink_to(sys.executable)
    assert "every night:" in start(fresh, programs, "--help").stdout
    done = start(fresh, programs, "dem")
    assert (done.returncode, "did you mean demo?" in done.stderr) == (2, True)
    assert nothing_was_installed(fresh)


def ready(project: Path, which: str = "") -> bool:
    """Whether the quick look before every start finds that nothing is to be done."""
    look = f'PROJECT=$0; source "{PROJECT}/scripts/environment.sh"; is_ready {which}'
    return subprocess.run(["bash", "-c", look, str(project)], check=False).returncode == 0


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A project whose environment looks as the set-up leaves it, made with Python 3.11."""
    project, system = tmp_path / "project", tmp_path / "usr"
    for folder in (".venv/bin", ".venv/lib/python3.11/site-packages", ".jars"):
        (project / folder).mkdir(parents=True)
    for version in ("3.11", "3.13"):
        script(system / f"python{version}", "exit 0")
    (system / "python3").symlink_to("python3.11")
    (project / ".venv" / "bin" / "python").symlink_to(system / "python3")
    for place in ("jars.lock", ".jars/jars.lock"):
        (project / place).touch()
    for which in ("", "-dev"):
        for place in (f"requirements{which}.txt", f".venv/walsafe-installed{which}"):
            (project / place).write_text(f"locked{which}\n")
    return project


def test_an_environment_whose_python_became_another_is_made_again(
    installed: Path, set_up: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_command: object, _hint: object) -> None:
        raise set_up.StepError("no network")

    monkeypatch.setattr(set_up, "run_step", refuse)
    set_up._environment(installed, dev=False)
    assert ready(installed)
    system = installed.parent / "usr" / "python3"
    system.unlink()
    system.symlink_to("python3.13")  # an upgrade of the system
    assert not ready(installed)
    with pytest.raises(set_up.NoVenvError):
        set_up._environment(installed, dev=False)
    assert not (installed / ".venv" / "lib" / "python3.11").exists()


def test_tests_take_no_packages_that_a_start_of_another_commit_has_installed(installed: Path) -> None:
    assert ready(installed, "-dev")
    (installed / ".venv" / "walsafe-installed").write_text("locked elsewhere\n")
    assert not ready(installed, "-dev")


@pytest.fixture(scope="module")
def set_up() -> ModuleType:
    """scripts/set_up.py, which belongs to no package."""
    spec = importlib.util.spec_from_file_location("set_up", PROJECT / "scripts" / "set_up.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["set_up"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def offline(tmp_path: Path) -> Path:
    """A project whose packages are there already and whose jars come from a folder of this machine."""
    project = tmp_path / "project"
    project.mkdir()
    (project / ".venv").symlink_to(PROJECT / ".venv")
    shutil.copyfile(PROJECT / "jars.lock", project / "jars.lock")
    shutil.copyfile(PROJECT / ".venv" / "walsafe-installed", project / "requirements.txt")
    jar_repository(tmp_path / "repository")
    return project


def run_set_up(project: Path) -> subprocess.CompletedProcess[str]:
    settings = str(project.parent / "repository" / "ivysettings.xml")
    return subprocess.run(
        [sys.executable, str(PROJECT / "scripts" / "set_up.py"), "--project", str(project)],
        env={**clean_environment(), "WALSAFE_IVY_SETTINGS": settings},
        capture_output=True,
        text=True,
        check=False,
    )


def names(folder: Path) -> set[str]:
    return set(os.listdir(folder))


@pytest.mark.promise("jars-are-fetched-once")
def test_jars_are_fetched_once_and_repaired(offline: Path) -> None:
    left_behind = offline / ".cache" / "jars-killed"
    left_behind.mkdir(parents=True)
    assert run_set_up(offline).returncode == 0
    wanted = names(PROJECT / ".jars")
    assert names(offline / ".jars") == wanted
    assert not left_behind.exists()
    assert run_set_up(offline).stderr == ""  # nothing left to do
    next((offline / ".jars").glob("*.jar")).write_bytes(b"half a download")
    assert "fetching" in run_set_up(offline).stderr
    assert run_set_up(offline).stderr == ""
    assert names(offline / ".jars") == wanted
    assert not list((offline / ".cache").glob("jars-*"))


def test_a_jar_with_another_content_is_never_used(offline: Path) -> None:
    jar = next((offline.parent / "repository").rglob("delta-storage-*.jar"))
    jar.write_bytes(jar.read_bytes() + b"\0")
    done = run_set_up(offline)
    assert done.returncode == 4
    assert "is not the file that jars.lock names" in done.stderr
    assert not (offline / ".jars").exists()


def test_no_repository_is_unavailable_with_the_way_out(offline: Path) -> None:
    shutil.rmtree(offline.parent / "repository")
    done = run_set_up(offline)
    assert done.returncode == 4
    assert "Delta's jars could not be fetched" in done.stderr
    assert not (offline / ".jars").exists()


def test_two_first_starts_at_once(offline: Path) -> None:
    results: list[subprocess.CompletedProcess[str]] = []
    starts = [threading.Thread(target=lambda: results.append(run_set_up(offline))) for _ in range(2)]
    for thread in starts:
        thread.start()
    for thread in starts:
        thread.join()
    assert [done.returncode for done in results] == [0, 0]
    assert sum("fetching" in done.stderr for done in results) == 1
    assert names(offline / ".jars") == names(PROJECT / ".jars")


def test_a_start_waits_for_the_step_of_one_that_was_killed(tmp_path: Path) -> None:
    began, go_on = tmp_path / "began", tmp_path / "go-on"
    step = f"touch {began}; until [ -e {go_on} ]; do sleep 0.05; done"
    start = (
        "import sys; from pathlib import Path; from jobs.cli.launch.jars import one_at_a_time, run_step\n"
        "with one_at_a_time(Path(sys.argv[1]), print): run_step(['bash', '-c', sys.argv[2]], '')"
    )
    killed = subprocess.Popen([sys.executable, "-c", start, str(tmp_path), step], cwd=PROJECT)
    try:
        while not began.exists():
            assert killed.poll() is None
            time.sleep(0.02)
        killed.terminate()
        killed.wait()
        told = Mock(side_effect=lambda _: go_on.touch())
        with one_at_a_time(tmp_path, told):
            told.assert_called_once()
    finally:
        go_on.touch()


@pytest.mark.long
@pytest.mark.promise("jars-are-fetched-once")
def test_an_environment_that_was_killed_half_way_is_made_again(
    tmp_path: Path, set_up: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(next((PROJECT / ".venv").glob("lib/python*/site-packages"))))
    locked = re.search(
        r"^annotated-types==.*(\n +--hash=.*)+\n", (PROJECT / "requirements.txt").read_text(), re.MULTILINE
    )
    assert locked is not None
    (tmp_path / "requirements.txt").write_text(locked[0])
    venv = tmp_path / ".venv"
    python = venv / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(Path(sys.executable).resolve())
    (venv / "lib" / python.resolve().name / "site-packages").mkdir(parents=True)
    (venv / "walsafe-installed").write_text(locked[0])
    for name in (".incomplete", "half-installed"):  # as a SIGKILL during pip leaves it
        (venv / name).touch()
    set_up._environment(tmp_path, dev=False)
    assert not (venv / "half-installed").exists()
    assert not (venv / ".incomplete").exists()
    assert (venv / "walsafe-installed").read_text(encoding="utf-8") == locked[0]
    assert list(venv.glob("lib/python*/site-packages/annotated_types/__pycache__/__init__.*.pyc"))
    capsys.readouterr()
    set_up._environment(tmp_path, dev=False)
    assert capsys.readouterr().err == ""
