"""The same night on the Python and the Java of other Debian releases: the same list and the same rows, bit for bit."""

import shutil
from pathlib import Path

import pytest

from tests.labs.debian import DebianSubmitter, debian
from tests.labs.places import PROJECT
from tests.labs.spark.same_night import Night, assert_same, reconcile
from tests.labs.spark.submitter import copy_project

pytestmark = pytest.mark.deep


@pytest.mark.promise("same-list-on-every-python-and-java")
@pytest.mark.parametrize(("release", "python", "java"), [("trixie", "3.13", "21"), ("sid", "3.14", "25")])
def test_the_same_night(release: str, python: str, java: str, snapshots: Path, here: Night, tmp_path: Path) -> None:
    root = debian(release, f"openjdk-{java}-jre-headless")
    project = copy_project(tmp_path / "walsafe")
    shutil.copytree(PROJECT / ".jars", project / ".jars")
    submit = DebianSubmitter(project, root, (tmp_path, snapshots))
    home = {"JAVA_HOME": f"/usr/lib/jvm/java-{java}-openjdk-amd64", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    there = reconcile(submit, snapshots, tmp_path / "there", "--master local[2]", env=home)
    assert [folder.name for folder in (project / ".venv" / "lib").iterdir()] == [f"python{python}"]
    assert there.java.startswith(java)
    assert_same(here, there)
