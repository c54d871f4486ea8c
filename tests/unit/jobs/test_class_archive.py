"""Java's archive of loaded classes: which file, who reads it, what becomes of half-written ones."""

import os
import time
from pathlib import Path

import pytest

from jobs.cli.launch.class_archive import archive_of, keep_archive, reading_options, writing_options
from jobs.cli.launch.jars import jars_for
from jobs.cli.launch.launcher import _classes
from jobs.cli.launch.submit import CLASS_PATH, SubmitSettings
from jobs.cli.registry import JOBS


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".cache").mkdir()
    (tmp_path / "java").mkdir()
    (tmp_path / "java" / "release").write_text('JAVA_VERSION="17.0.9"')
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    (tmp_path / "spark" / "jars" / "spark-core.jar").write_bytes(b"1")
    return tmp_path


def archive(project: Path) -> Path:
    return archive_of(project / ".cache", project / "java", project / "spark", [project / "delta.jar"])


def test_another_java_another_spark_or_another_delta_has_an_archive_of_its_own(project: Path) -> None:
    first = archive(project)
    assert archive(project) == first
    (project / "java" / "release").write_text('JAVA_VERSION="21.0.1"')
    second = archive(project)
    (project / "spark" / "jars" / "spark-core.jar").write_bytes(b"12")
    third = archive(project)
    (project / "delta.jar").write_bytes(b"1")
    fourth = archive(project)
    (project / "storage.jar").write_bytes(b"1")
    jars = [project / "delta.jar", project / "storage.jar"]
    orders = [archive_of(project / ".cache", project / "java", project / "spark", one) for one in (jars, jars[::-1])]
    assert len({first, second, third, fourth, *orders}) == 6


def test_jars_behind_a_link_have_their_real_names_and_spark_the_name_that_was_given(project: Path) -> None:
    lock = project / "jars.lock"
    lock.write_text(f"{'0' * 64} io.delta:delta-storage:4.4.0\n")
    (project / "jars").mkdir()
    (project / "copy").symlink_to(project / "jars")
    there, linked = (jars_for(lock, project / name, "4.2") for name in ("jars", "copy"))
    assert there == linked == [project.resolve() / "jars" / "io.delta_delta-storage-4.4.0.jar"]
    (project / "opt").symlink_to(project / "spark")
    archives = {archive_of(project / ".cache", project / "java", project / spark, there) for spark in ("spark", "opt")}
    assert len(archives) == 2, "Java would refuse the archive of the other name"


def test_nothing_is_read_that_is_not_there(project: Path) -> None:
    assert reading_options(archive(project)) == ""
    archive(project).write_bytes(b"classes")
    assert f'"-XX:SharedArchiveFile={archive(project)}"' in reading_options(archive(project))


def test_what_was_written_is_kept_in_the_place_of_older_ones(project: Path) -> None:
    older = project / ".cache" / "classes-000000000000.jsa"
    older.write_bytes(b"of another Java")
    options, unfinished = writing_options(archive(project))
    assert f'"-XX:ArchiveClassesAtExit={unfinished}"' in options
    unfinished.write_bytes(b"classes")
    keep_archive(unfinished, archive(project), ended_well=True)
    assert [file.name for file in (project / ".cache").iterdir()] == [archive(project).name]


def test_a_failed_job_leaves_no_archive(project: Path) -> None:
    _, unfinished = writing_options(archive(project))
    unfinished.write_bytes(b"half")
    keep_archive(unfinished, archive(project), ended_well=False)
    keep_archive(unfinished, archive(project), ended_well=True)  # a JVM that wrote nothing
    assert list((project / ".cache").iterdir()) == []


def test_what_a_killed_jvm_left_goes_with_the_next_one(project: Path) -> None:
    dead, at_work = (project / ".cache" / f"classes-0-{number}.part" for number in (1, 2))
    for file in (dead, at_work):
        file.write_bytes(b"half")
    os.utime(dead, (time.time() - 7200,) * 2)
    writing_options(archive(project))
    assert [dead.exists(), at_work.exists()] == [False, True]


def test_only_the_demo_takes_the_time_to_write_one() -> None:
    assert [name for name, entry in JOBS.items() if entry.archives_classes] == ["demo"]


def test_none_is_written_or_read_where_the_class_path_is_another(project: Path) -> None:
    local, conf = SubmitSettings("local[2]", False, {}), project / "spark" / "conf"

    def classes(settings: SubmitSettings = local, **environment: str) -> tuple[bool, bool]:
        home = {"SPARK_HOME": str(project / "spark")}
        options, unfinished = _classes(settings, JOBS["demo"], archive(project), home | environment)
        return "SharedArchiveFile" in options, unfinished is not None

    conf.mkdir()
    assert classes() == (False, True)
    assert classes(HADOOP_CONF_DIR="/etc/hadoop") == (False, True)
    assert classes(SPARK_DIST_CLASSPATH="/hadoop/*") == (False, False)
    archive(project).touch()
    assert classes() == classes(SPARK_DIST_CLASSPATH="/hadoop/*") == (True, False)
    for settings in (SubmitSettings("yarn", False, {}), SubmitSettings("local[2]", False, {CLASS_PATH: "/h/*"})):
        assert classes(settings) == (False, False)
    assert classes(SPARK_CONF_DIR=str(project / "java")) == (False, False)
    (conf / "spark-env.sh").touch()
    assert classes() == (False, False)
