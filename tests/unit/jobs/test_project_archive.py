"""The archive that ships the project: what is in it, and who can import it."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from jobs.cli.launch.project_archive import build_archive
from tests.labs.places import PROJECT


def test_archive_holds_the_project_and_is_the_same_every_time(tmp_path: Path) -> None:
    for folder in ("conf", "jobs", "pipelines/lake", "schemas", "tests"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.py").write_text(folder)
    (tmp_path / "jobs" / "__pycache__").mkdir()
    (tmp_path / "jobs" / "__pycache__" / "a.pyc").write_bytes(b"x")
    (tmp_path / "conf" / "demo.yaml").write_text("cluster: demo")
    (tmp_path / "conf" / "prod-a.yaml").write_text("digest: user:password")
    first = build_archive(tmp_path, tmp_path / ".cache", tmp_path / "none")
    content = first.read_bytes()
    first.unlink()
    (tmp_path / "jobs" / "a.py").touch()  # a new date, the same content
    assert build_archive(tmp_path, tmp_path / ".cache", tmp_path / "none") == first
    assert first.read_bytes() == content
    names = subprocess.run([sys.executable, "-m", "zipfile", "-l", first], capture_output=True, text=True, check=True)
    listed = {line.split()[0] for line in names.stdout.splitlines()[1:]}
    folders = ("jobs", "pipelines/lake", "schemas")
    modules = {f"{folder}/a.{suffix}" for folder in folders for suffix in ("py", "pyc")}
    assert listed == {"conf/demo.yaml", *modules}, "no other file of conf: it may have passwords"
    (tmp_path / "jobs" / "a.py").write_text("changed")
    assert build_archive(tmp_path, tmp_path / ".cache", tmp_path / "none") != first


def test_an_archive_of_a_project_that_is_not_ours_to_write(tmp_path: Path) -> None:
    (tmp_path / "project" / "jobs").mkdir(parents=True)
    (tmp_path / "project" / "jobs" / "a.py").touch()
    (tmp_path / "cache").touch()  # no folder can be made there
    archive = build_archive(tmp_path / "project", tmp_path / "cache", tmp_path)
    assert (archive.parent, archive.suffix) == (tmp_path, ".zip")
    with ZipFile(archive) as read:
        assert read.namelist() == ["jobs/a.py"]  # each start makes its own, and does not compile for others


def test_a_cache_that_another_user_keeps_to_himself_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(file: Path) -> bool:
        if "cache" in file.parts:
            raise PermissionError
        return os.path.lexists(file)

    monkeypatch.setattr(Path, "exists", refused)
    assert build_archive(tmp_path, tmp_path / "cache", tmp_path).parent == tmp_path


def test_a_full_disk_keeps_no_part_of_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device", str(path), None, str(target))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        build_archive(tmp_path / "project", tmp_path / "cache", tmp_path / "scratch")
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


def imported(archive: Path, cwd: Path) -> str:
    """What this Python says of a module and of a file in the archive."""
    code = (
        "import jobs.cli.entry as e, jobs.cli.context as c; "
        "print(c.project_file('conf/demo.yaml')[:1], e.__file__, e.run.__code__.co_filename)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],  # no site-packages: --help needs no library
        env={"PYTHONPATH": str(archive)},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_an_archive_imports(tmp_path: Path) -> None:
    archive = build_archive(PROJECT, tmp_path, tmp_path)
    # compiled, and a traceback names the archive
    assert imported(archive, tmp_path) == f"# {archive}/jobs/cli/entry.pyc {archive.name}/jobs/cli/entry.py\n"


def test_another_python_takes_the_source(tmp_path: Path) -> None:
    archive, other = build_archive(PROJECT, tmp_path, tmp_path), tmp_path / "other.zip"
    with ZipFile(archive) as read, ZipFile(other, "w") as written:
        for name in read.namelist():
            content = read.read(name)
            written.writestr(name, b"\1\2\r\n" + content[4:] if name.endswith(".pyc") else content)
    assert imported(other, tmp_path) == f"# {other}/jobs/cli/entry.py {other}/jobs/cli/entry.py\n"


def test_a_file_that_does_not_compile_stops_nobody_else(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "notes.py").write_text("this is no Python")
    with ZipFile(build_archive(tmp_path, tmp_path / ".cache", tmp_path)) as read:
        assert read.namelist() == ["jobs/notes.py"]
