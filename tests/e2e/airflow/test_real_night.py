"""Nights of the DAG with the true spark-submit.sh, on the small cluster laid out on disk."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from jobs.dags.walsafe_nightly_job import night_id
from jobs.demo.cluster.model import GeneratedCapture
from jobs.demo.cluster.on_disk import ROOT, write_answers, write_cluster_files
from tests.labs import small_cluster
from tests.labs.airflow.nights import Airflow, Night
from tests.labs.places import PROJECT

SETTLED_MS = 60_000


@dataclass(frozen=True)
class World:
    """A live cluster and everything that its nights make, below one folder."""

    folder: Path
    made: GeneratedCapture
    airflow: Airflow

    @property
    def cluster(self) -> str:
        return self.made.snapshot.cluster

    @property
    def root(self) -> Path:
        return self.folder / "live" / ROOT

    def night(self, date: datetime) -> tuple[Night, str]:
        """The night of a logical date, and Airflow's log."""
        (night,), log = self.airflow.run(self.folder / "nightly.yaml", date.isoformat())
        return night, log

    def answer(self, date: datetime, part: str, job: str) -> Mapping[str, Any]:
        """What a job of a part of the night answered."""
        result = self.folder / "results" / night_id(date) / self.cluster / part / "result.json"
        found: Mapping[str, Any] = next(one for one in json.loads(result.read_text())["jobs"] if one["job"] == job)
        return found


@pytest.fixture
def world(migrated: Airflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(small_cluster, "NOW", int(time.time() * 1000) - SETTLED_MS)  # the jobs go by the real clock
    made = small_cluster.small("prod")
    write_cluster_files(made, tmp_path / "live")
    (tmp_path / "quarantine").mkdir()
    source = {"source": "simulated", "path": str(tmp_path / "live")}
    document = {
        "cluster": made.snapshot.cluster,
        "wal_root": f"file://{tmp_path / 'live' / ROOT}",
        "capture": {
            "files": {"source": "hadoop"},
            "queues": source,
            "state": source,
            "quiet_attempts": 1,
            "step_attempts": 1,
        },
        "clean": {"quarantine": f"file://{tmp_path / 'quarantine'}"},
        **{name: f"file:{tmp_path}/{name}" for name in ("lake", "lists", "snapshots")},
        "night": {"approval": "automatic", "tries": 2, "retry_delay": "1s"},
    }
    (tmp_path / "prod.yaml").write_text(json.dumps(document))
    settings = {
        "walsafe": str(PROJECT),
        "results": str(tmp_path / "results"),
        "clusters": {made.snapshot.cluster: str(tmp_path / "prod.yaml")},
        "retries": 0,
        "environment": {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"},  # short jobs
    }
    (tmp_path / "nightly.yaml").write_text(json.dumps(settings))
    return World(tmp_path, made, migrated.copy(tmp_path / "airflow"))


def wals(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")}


@pytest.mark.long
def test_a_good_night_moves_what_its_list_says_and_nothing_else(world: World) -> None:
    date = tonight()
    before = wals(world.root / "oldWALs")
    night, log = world.night(date)
    assert night.state == "success", log[-6000:]
    assert night.states("night.finish") == ["success"]

    clean = world.answer(date, "finish", "clean")
    listed = names_on_list(world.folder / "lists" / world.cluster / night_id(date))
    assert (clean["status"], clean["done_files"]) == ("DONE", len(listed))
    assert len(listed) == 4
    left = wals(world.root / "oldWALs")
    assert before - left == listed
    rows = DeltaTable(str(world.folder / "lake" / "deletions")).to_pandas()
    assert set(rows.loc[rows["outcome"] == "MOVED", "path"].str.rsplit("/", n=1).str[-1]) == listed
    assert world.answer(date, "finish", "purge")["runs"][0]["status"] == "WAITING"
    assert clean["list_sha256"] == world.answer(date, "decide", "clean")["list_sha256"]
    (page,) = night.links("night.finish")
    assert Path(page.removeprefix("file:")).is_file()


@pytest.mark.deep
def test_a_refused_night_stops_before_any_clean(world: World) -> None:
    date, before = tonight(), wals(world.root / "oldWALs")
    seeds_form = small_cluster.row("1-not a server", "group", "wal.1", 0)
    write_answers(small_cluster.with_cells(world.made, seeds_form), world.folder / "live")
    night, log = world.night(date)
    assert night.state == "failed"
    assert (night.states("night.decide"), night.states("night.finish")) == (["failed"], ["upstream_failed"])
    assert "exit code 3: " in log
    assert "malformed queue row" in log
    assert not (world.folder / "lists" / world.cluster / night_id(date)).exists()
    assert wals(world.root / "oldWALs") == before


@pytest.mark.deep
def test_a_failed_night_tries_again_and_stops(world: World) -> None:
    membership, date = world.made.snapshot.membership, tonight()
    assert membership is not None
    before = wals(world.root / "oldWALs")
    headless = small_cluster.with_snapshot(world.made, membership=replace(membership, active_master=None))
    write_answers(headless, world.folder / "live")
    night, log = world.night(date)
    assert night.state == "failed"
    assert (night.states("night.decide"), night.states("night.finish")) == (["failed"], ["upstream_failed"])
    assert "night: capture is tried again in 1 s" in log
    assert "exit code 4: " in log
    assert "has no active master" in log
    assert wals(world.root / "oldWALs") == before


def tonight() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)  # noqa: TID251


def names_on_list(folder: Path) -> set[str]:
    return {line.rsplit("/", 1)[1] for part in folder.glob("part-*.txt") for line in part.read_text().splitlines()}
