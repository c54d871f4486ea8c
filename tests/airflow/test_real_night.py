"""One night of the DAG with the true spark-submit.sh, on the small cluster laid out on disk."""

import json
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from jobs.dags.walsafe_nightly_logic import night_id
from pipelines.simulate.on_disk import ROOT, lay_out
from tests import small_cluster
from tests.airflow.conftest import PROJECT, Airflow

SETTLED_MS = 60_000


def live_cluster(folder: Path) -> str:
    """Lays the small cluster out and writes `prod.yaml`, its configuration.

    Returns:
        The cluster's name.
    """
    made = small_cluster.small("prod")
    lay_out(made, folder / "live")
    (folder / "quarantine").mkdir()
    source = {"source": "simulated", "path": str(folder / "live")}
    document = {
        "cluster": made.snapshot.cluster,
        "wal_root": f"file://{folder / 'live' / ROOT}",
        "capture": {"files": {"source": "hadoop"}, "queues": source, "state": source, "quiet_attempts": 1},
        "clean": {"quarantine": f"file://{folder / 'quarantine'}"},
    }
    (folder / "prod.yaml").write_text(json.dumps(document))
    return made.snapshot.cluster


def wals(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")}


def test_a_real_night_moves_what_its_list_says_and_nothing_else(
    migrated: Airflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_cluster, "NOW", int(time.time() * 1000) - SETTLED_MS)  # the jobs go by the real clock
    cluster = live_cluster(tmp_path)
    settings = {
        "walsafe": str(PROJECT),
        "lake": f"file:{tmp_path}/lake",
        "lists": f"file:{tmp_path}/lists",
        "snapshots": f"file:{tmp_path}/snapshots",
        "results": str(tmp_path / "results"),
        "clusters": {cluster: {"config": str(tmp_path / "prod.yaml")}},
        "approval": "automatic",
        "environment": {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"},  # short jobs
    }
    (tmp_path / "nightly.yaml").write_text(json.dumps(settings))
    before = wals(tmp_path / "live" / ROOT / "oldWALs")
    date = datetime.now(timezone.utc).replace(microsecond=0)  # noqa: TID251
    run_id = night_id(date)
    (night,), log = migrated.copy(tmp_path / "airflow").run(tmp_path / "nightly.yaml", date.isoformat())
    assert night.state == "success", log[-6000:]
    assert {one["state"] for one in night.tasks} == {"success"}

    answers = tmp_path / "results" / run_id / cluster
    clean = answer(answers / "clean.json")
    listed = names_on_list(tmp_path / "lists" / cluster / run_id)
    assert (clean["status"], clean["done_files"]) == ("DONE", len(listed))
    assert len(listed) == 4
    left = wals(tmp_path / "live" / ROOT / "oldWALs")
    assert before - left == listed
    rows = DeltaTable(str(tmp_path / "lake" / "deletions")).to_pandas()
    assert set(rows.loc[rows["outcome"] == "MOVED", "path"].str.rsplit("/", n=1).str[-1]) == listed
    assert answer(answers / "purge.json")["runs"][0]["status"] == "WAITING"


def answer(file: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(file.read_text())
    return found


def names_on_list(folder: Path) -> set[str]:
    return {line.rsplit("/", 1)[1] for part in folder.glob("part-*.txt") for line in part.read_text().splitlines()}
