"""The application file that spark-submit starts: where its modules come from."""

from pathlib import Path

import pytest

from jobs.main import import_path

SPARK = "site-packages/pyspark/python/lib"


@pytest.fixture
def main(tmp_path: Path) -> Path:
    return tmp_path / "project" / "jobs" / "main.py"


@pytest.fixture
def archives(tmp_path: Path) -> list[str]:
    """What spark-submit puts on the path: walsafe's archive, and the two of Spark."""
    names = (".cache/archive/walsafe-0123456789abcdef.zip", f"{SPARK}/pyspark.zip", f"{SPARK}/py4j-0.10.9.9-src.zip")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return [str(tmp_path / name) for name in names]


def installed(folder: Path, *packages: str) -> str:
    for name in packages:
        (folder / name).mkdir(parents=True, exist_ok=True)
    return str(folder)


def test_spark_comes_from_files_and_walsafe_from_its_archive(tmp_path: Path, main: Path, archives: list[str]) -> None:
    packages = installed(tmp_path / "site-packages", "pyspark", "py4j")
    jar = Path(packages, "pyspark", "jars", "spark-core_2.13-4.2.0.jar")  # Spark puts it on the path, too
    jar.parent.mkdir()
    jar.touch()
    path = [str(main.parent), *archives, str(jar), "/usr/lib/python3.11", packages]
    assert import_path(path, main) == [archives[0], str(jar), "/usr/lib/python3.11", packages]


def test_a_driver_on_a_cluster_has_its_archives_only(tmp_path: Path, archives: list[str]) -> None:
    container = tmp_path / "container"
    assert import_path([str(container), *archives], container / "main.py") == archives


def test_another_spark_brings_its_own_python(tmp_path: Path, main: Path, archives: list[str]) -> None:
    packages = installed(tmp_path / "venv", "pyspark", "py4j")
    path = [*archives, packages]
    assert import_path(path, main) == path


@pytest.mark.parametrize("other", ["python/pyspark", "python/lib/py4j-0.10.9.7-src.zip"])
def test_the_users_own_path_does_not_come_before_that_of_the_jvm(
    tmp_path: Path, main: Path, archives: list[str], other: str
) -> None:
    """A `PYTHONPATH` for another Spark would mix its Python with this one's JVM."""
    packages = installed(tmp_path / "site-packages", "pyspark", "py4j")
    place = tmp_path / "spark-4.0" / other
    place.parent.mkdir(parents=True)
    if place.suffix:
        place.touch()
    else:
        place.mkdir()
    path = [*archives, str(place if place.suffix else place.parent), packages]
    assert import_path(path, main) == path


@pytest.mark.parametrize("missing", ["pyspark", "py4j"])
def test_the_archives_stay_if_a_package_is_missing(
    tmp_path: Path, main: Path, archives: list[str], missing: str
) -> None:
    packages = tmp_path / "other" / "site-packages"
    spark = [str(packages / "pyspark" / "python" / "lib" / name) for name in ("pyspark.zip", "py4j-0.10.9.9-src.zip")]
    installed(packages, *({"pyspark", "py4j"} - {missing}))
    path = [archives[0], *spark, str(packages)]
    assert import_path(path, main) == path


def test_other_archives_and_the_current_folder_stay(main: Path) -> None:
    path = ["", "/opt/site/helpers.zip"]
    assert import_path(path, main) == path
