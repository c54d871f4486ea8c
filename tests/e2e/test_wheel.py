"""The wheel: installed into an environment of its own, its command `walsafe` answers and runs a night."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path

import pytest

from pipelines.common.version import VERSION
from tests.labs.cleanup.on_disk import CLUSTER, Lab
from tests.labs.places import PROJECT
from tests.labs.spark.jar_repository import jar_repository
from tests.labs.spark.submitter import clean_environment

pytestmark = pytest.mark.long
AS_JSON = ("--output", "json", "--log-format", "json")


class Installed:
    """An environment with walsafe from a wheel; the other packages are those of this environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "venv" / "bin"
        pip = [sys.executable, "-m", "pip"]
        wheel = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder)]
        subprocess.run([*pip, *wheel, str(PROJECT)], check=True)
        venv.create(folder / "venv", with_pip=False, symlinks=True)
        (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
        (site / "ours.pth").write_text(sysconfig.get_path("purelib"))
        (file,) = folder.glob("walsafe-*.whl")
        install = ["install", "--quiet", "--no-deps", "--no-index", str(file)]
        subprocess.run([*pip, "--python", str(self.bin / "python"), *install], check=True)
        self.tree = site / "walsafe"
        settings = jar_repository(folder / "repository")
        self.settings = {"WALSAFE_CACHE": str(folder / "cache"), "WALSAFE_IVY_SETTINGS": str(settings)}

    def __call__(self, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.bin / "walsafe"), *arguments],
            env={**clean_environment(), **self.settings, **(env or {})},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def walsafe(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("wheel"))


@pytest.mark.promise("wheel-has-the-command")
def test_help_and_version_are_those_of_the_command(walsafe: Installed) -> None:
    told = walsafe("--help")
    assert (told.returncode, told.stderr) == (0, "")
    ours = subprocess.run(
        [str(PROJECT / "spark-submit.sh"), "--help"],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == ours.stdout.replace("./spark-submit.sh", "walsafe")
    assert walsafe("--version").stdout == f"walsafe {VERSION}\n"
    for job in ("explain", "clean"):
        text = walsafe(job, "--help").stdout
        assert f"walsafe {job} --" in text
        assert "spark-submit.sh" not in text


def test_nothing_of_the_tree_is_a_top_level_package(walsafe: Installed) -> None:
    there = {path.name for path in walsafe.tree.parent.iterdir()}
    assert there & {"jobs", "pipelines", "schemas", "conf", "tests"} == set()
    assert {path.name for path in walsafe.tree.iterdir()} == {
        "conf", "jobs", "pipelines", "schemas", "scripts", "jars.lock",
    }  # fmt: skip


@pytest.mark.promise("wheel-has-the-command", "log-as-json")
def test_a_night_and_a_question(walsafe: Installed, tmp_path: Path) -> None:
    lab = Lab(None, tmp_path)  # type: ignore[arg-type] - it only lays the cluster out
    places = {"lake": lab.lake, "lists": f"file:{tmp_path}/lists", "snapshots": f"file:{tmp_path}/snapshots"}
    config = {**json.loads(lab.config.read_text()), **places, "night": {"tries": 1}}
    del config["clean"]  # one job less
    lab.config.write_text(json.dumps(config))
    made = walsafe("--set-up")
    assert (made.returncode, made.stderr.count("fetching Delta's jars into")) == (0, 1), made.stderr
    done = walsafe("night", "--config", str(lab.config), "--run-id", "n1", "--part", "decide", *AS_JSON)
    # a new error finding: the clock is real, so HBase's cleaner seems not to have come by for long
    assert done.returncode == 5, done.stderr
    jobs = [(one["job"], one["exit_code"]) for one in json.loads(done.stdout)["jobs"]]
    assert jobs == [("capture", 0), ("reconcile", 5)]
    assert "fetching" not in done.stderr
    told = [json.loads(line) for line in done.stderr.splitlines()]
    assert all({"time", "level", "logger", "message", "run_id"} <= set(line) for line in told)
    started = next(number for number, line in enumerate(told) if line["message"] == "night of prod, run id n1")
    assert {line["run_id"] for line in told[started:]} == {"n1"}
    (page,) = Path(lab.lake.removeprefix("file:")).glob("reports/*/n1.html")
    assert f"<pre>walsafe explain --lake {lab.lake} --cluster {CLUSTER}" in page.read_text(encoding="utf-8")

    missing = {"JAVA_HOME": os.devnull, "WALSAFE_CONFIG": str(lab.config)}  # a question starts no JVM
    told = walsafe("explain", "--server", "h1", "--output", "json", env=missing)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["server"]["cluster"] == CLUSTER
    assert {path.name for path in walsafe.tree.iterdir()} & {".cache", ".jars"} == set()


@pytest.mark.parametrize("command", ["--set-up", "demo --out {0}/demo"])
def test_jars_that_cannot_be_fetched(walsafe: Installed, tmp_path: Path, command: str) -> None:
    (tmp_path / "none.xml").write_text("<ivysettings/>")
    gone = {"WALSAFE_CACHE": str(tmp_path / "cache"), "WALSAFE_IVY_SETTINGS": str(tmp_path / "none.xml")}
    done = walsafe(*command.format(tmp_path).split(), env=gone)
    assert done.returncode == 4
    assert "Delta's jars could not be fetched" in done.stderr
