"""What the wheel declares: every package that the code imports, held to one version by the locks."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from jobs.cli.launch.places import PROJECT
from pipelines.common.version import VERSION

DOCUMENT = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
DECLARED = [Requirement(text) for text in DOCUMENT["project"]["dependencies"]]
EXTRAS = {
    name: [Requirement(text) for text in texts] for name, texts in DOCUMENT["project"]["optional-dependencies"].items()
}
OURS = {"jobs", "pipelines", "schemas", "tests", "benchmarks", "scripts", "docs", "site_links"}
NOT_INSTALLED = {
    "_typeshed": "of type checkers alone",
    "airflow": "of Airflow's own environment",
    "fastapi": "of Airflow's own environment",
    "sqlalchemy": "of Airflow's own environment",
}
LOCKED = re.compile(
    r"^([A-Za-z0-9_.-]+)==([^ ;]+)(?: ; ([^\\\n]+))? \\\n((?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imported(*folders: str) -> Iterator[tuple[str, str]]:
    for folder in folders:
        for file in sorted((PROJECT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                    names.append(node.module)
                for name in names:
                    yield name.partition(".")[0], str(file.relative_to(PROJECT))


@pytest.mark.parametrize(
    ("folders", "extras"),
    [(("jobs", "pipelines", "schemas"), ("split",)), (("tests", "benchmarks", "scripts", "docs"), ("split", "dev"))],
)
def test_every_imported_package_is_declared(folders: tuple[str, ...], extras: tuple[str, ...]) -> None:
    declared = {plain(one.name) for one in (*DECLARED, *(one for extra in extras for one in EXTRAS[extra]))}
    owners = packages_distributions()
    found = {
        (name, file)
        for name, file in imported(*folders)
        if name not in sys.stdlib_module_names | OURS | NOT_INSTALLED.keys() and not name.startswith("walsafe_")
    }
    assert len(found) > 20
    undeclared = [
        (name, file) for name, file in sorted(found) if not {plain(one) for one in owners.get(name, ())} & declared
    ]
    assert undeclared == []


def test_only_the_split_jobs_import_their_extra() -> None:
    importers = {file for name, file in imported("jobs", "pipelines", "schemas") if name == "rocksdict"}
    assert importers
    assert [file for file in importers if "/pegasus/" not in file and "/split/" not in file] == []
    assert EXTRAS["airflow"] == []


@pytest.mark.promise("packages-are-locked")
@pytest.mark.parametrize(
    ("lock", "extras"), [("requirements.txt", ("split",)), ("requirements-dev.txt", ("split", "dev"))]
)
def test_a_lock_holds_every_declared_package_to_versions_with_hashes(lock: str, extras: tuple[str, ...]) -> None:
    text = (PROJECT / lock).read_text(encoding="utf-8")
    versions: dict[str, list[Version]] = {}
    for name, version, _, _ in LOCKED.findall(text):
        versions.setdefault(plain(name), []).append(Version(version))
    assert LOCKED.sub("", text) == "", "every line belongs to a package with a version and hashes"
    wanted = [*DECLARED, *(one for extra in extras for one in EXTRAS[extra])]
    for one in wanted:
        assert versions.get(plain(one.name)), one
        assert all(one.specifier.contains(version) for version in versions[plain(one.name)]), one


def test_both_locks_agree() -> None:
    start, tests = (
        set(LOCKED.findall((PROJECT / name).read_text(encoding="utf-8")))
        for name in ("requirements.txt", "requirements-dev.txt")
    )
    assert start < tests


def test_the_version_stands_in_one_place() -> None:
    assert DOCUMENT["project"]["dynamic"] == ["version"]
    assert "version" not in DOCUMENT["project"]
    pattern = DOCUMENT["tool"]["hatch"]["version"]
    found = re.search(pattern["pattern"], (PROJECT / pattern["path"]).read_text(encoding="utf-8"))
    assert found is not None
    assert found["version"] == VERSION
