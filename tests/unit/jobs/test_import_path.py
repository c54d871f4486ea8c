"""The application file that spark-submit starts: where its modules come from."""

from pathlib import Path
from zipfile import ZipFile

import pytest

from jobs.main import import_path


@pytest.fixture
def main(tmp_path: Path) -> Path:
    return tmp_path / "project" / "jobs" / "main.py"


@pytest.fixture
def own(tmp_path: Path) -> str:
    """walsafe's archive."""
    return archive(tmp_path / ".cache" / "archive" / "walsafe-0123456789abcdef.zip", "jobs")


def archive(file: Path, package: str) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(file, "w") as written:
        written.writestr(f"{package}/__init__.py", "")
    return str(file)


def spark_in(packages: Path) -> list[str]:
    """What spark-submit puts on the path for the Spark in a folder: its Python, py4j and a jar."""
    lib, jar = packages / "pyspark" / "python" / "lib", packages / "pyspark" / "jars" / "spark-core_2.13-4.2.0.jar"
    names = {"pyspark": lib / "pyspark.zip", "py4j": lib / "py4j-0.10.9.9-src.zip", "org": jar}
    return [archive(file, package) for package, file in names.items()]


def installed(folder: Path, *packages: str) -> str:
    for name in packages:
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "__init__.py").touch()
    return str(folder)


def test_spark_comes_from_files_and_walsafe_from_its_archive(tmp_path: Path, main: Path, own: str) -> None:
    packages = installed(tmp_path / "site-packages", "pyspark", "py4j")
    *archives, jar = spark_in(tmp_path / "site-packages")
    path = [str(main.parent), own, *archives, jar, "/usr/lib/python3.11", packages]
    assert import_path(path, main) == [own, jar, "/usr/lib/python3.11", packages]


def test_an_environment_behind_a_link(tmp_path: Path, main: Path, own: str) -> None:
    installed(tmp_path / "venv" / "site-packages", "pyspark", "py4j")
    (tmp_path / "link").symlink_to(tmp_path / "venv")
    *archives, jar = spark_in(tmp_path / "venv" / "site-packages")
    packages = str(tmp_path / "link" / "site-packages")
    assert import_path([own, *archives, jar, packages], main) == [own, jar, packages]


def test_a_driver_on_a_cluster_has_its_archives_only(tmp_path: Path, own: str) -> None:
    container = tmp_path / "container"
    archives = [archive(container / "pyspark.zip", "pyspark"), archive(container / "py4j-0.10.9.9-src.zip", "py4j")]
    path = [own, *archives, installed(tmp_path / "site-packages", "pyspark", "py4j")]
    assert import_path([str(container), *path], container / "main.py") == path


def test_another_spark_brings_its_own_python(tmp_path: Path, main: Path, own: str) -> None:
    installed(tmp_path / "other", "pyspark", "py4j")
    packages = installed(tmp_path / "venv", "pyspark", "py4j")
    path = [own, *spark_in(tmp_path / "other"), packages]
    assert import_path(path, main) == path
    both = [*path[:-1], *spark_in(tmp_path / "venv"), packages]
    assert import_path(both, main) == both


@pytest.mark.parametrize("other", ["python/pyspark", "python/py4j", "python/lib/py4j-0.10.9.7-src.zip"])
def test_the_users_own_path_does_not_come_before_that_of_the_jvm(
    tmp_path: Path, main: Path, own: str, other: str
) -> None:
    """A `PYTHONPATH` for another Spark would mix its Python with this one's JVM."""
    packages = installed(tmp_path / "site-packages", "pyspark", "py4j")
    place = tmp_path / "spark-4.0" / other
    user = archive(place, "py4j") if place.suffix else installed(place.parent, place.name)
    path = [own, *spark_in(tmp_path / "site-packages"), user, packages]
    assert import_path(path, main) == path


@pytest.mark.parametrize("missing", ["pyspark", "py4j"])
def test_the_archives_stay_if_a_package_is_missing(tmp_path: Path, main: Path, own: str, missing: str) -> None:
    packages = tmp_path / "site-packages"
    path = [own, *spark_in(packages), installed(packages, *({"pyspark", "py4j"} - {missing}))]
    assert import_path(path, main) == path


def test_what_else_is_on_the_path_stays(tmp_path: Path, main: Path) -> None:
    packages = tmp_path / "site-packages"
    installed(packages, "pyspark", "py4j")
    *archives, jar = spark_in(packages)
    frames = archive(packages / "pyspark" / "python" / "lib" / "graphframes.zip", "graphframes")
    others = ["", archive(tmp_path / "helpers.zip", "helpers"), frames, "/nowhere/" + "x" * 300, jar, str(packages)]
    assert import_path([*archives, *others], main) == others
