"""One lake, and jobs of several living processes that write it in the same moments."""

import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.e2e.same_night import FILES, in_order, list_files, night
from tests.e2e.submitter import Submitter, clean_environment

pytestmark = pytest.mark.deep

DONE, TRY_AGAIN = {0, 5}, 4
SMALL = "--master local[1] --conf spark.driver.memory=1g"


def at_once(submit: Submitter, *jobs: Sequence[str]) -> list[tuple[int, str]]:
    """Exit code and log of each job; all of them run beside each other."""
    processes = [
        subprocess.Popen(
            submit.command(*job),
            env={**clean_environment(), "SPARK_SUBMIT_ARGS": SMALL},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for job in jobs
    ]
    logs = [process.communicate(timeout=900)[1] for process in processes]
    return [(process.returncode, log) for process, log in zip(processes, logs, strict=True)]


def test_jobs_of_several_processes_lose_nothing_and_double_nothing(
    submit: Submitter, snapshots: Path, tmp_path: Path
) -> None:
    (tmp_path / "events").mkdir()
    lake = ["--lake", f"file:{tmp_path}/lake"]
    reconcile = ["reconcile", "--fleet", f"file:{snapshots}", *lake, "--lists", f"file:{tmp_path}/lists", "--run-id"]

    # three that make the tables too: nothing is there yet
    told = at_once(submit, [*reconcile, "one"], [*reconcile, "one"], [*reconcile, "two"])
    codes = [code for code, _ in told]
    assert set(codes) <= DONE | {TRY_AGAIN}, told
    assert codes[2] in DONE, told[2]
    assert set(codes[:2]) & DONE, told
    alone = night(tmp_path).rows["wal_verdicts"].num_rows
    assert alone == 2 * FILES

    # a night while the lake is put in order
    (tmp_path / "c.yaml").write_text("cluster: any\nmaintain: {keep: {other_tables: 90d}}\n")
    maintain = ["maintain", *lake, "--config", str(tmp_path / "c.yaml"), "--execute"]
    told = at_once(submit, [*reconcile, "three"], maintain)
    assert [code in DONE for code, _ in told] == [True, True], told

    found = night(tmp_path)
    verdicts = found.rows["wal_verdicts"]
    assert Counter(verdicts["run_id"].to_pylist()) == dict.fromkeys(("one", "two", "three"), FILES)
    plain = [name for name in verdicts.schema.names if name not in {"run_id", "blocking"}]
    nights = [
        in_order(verdicts.filter([one == run for one in verdicts["run_id"].to_pylist()]).select(plain))
        for run in ("one", "two", "three")
    ]
    assert nights[0].equals(nights[1])
    assert nights[0].equals(nights[2])
    runs = DeltaTable(str(tmp_path / "lake" / "runs")).to_pyarrow_table().to_pylist()
    statuses = Counter((one["run_id"], one["status"]) for one in runs)
    clusters = len({one["cluster"] for one in runs})
    assert statuses["two", "DONE"] == statuses["two", "STARTED"] == clusters
    assert statuses["three", "DONE"] == statuses["three", "STARTED"] == clusters
    parts = {name: text for name, text in list_files(tmp_path / "lists") if "/part-" in name}
    for run in ("two", "three"):
        of_run = {name.replace(f"/{run}/", "/one/"): text for name, text in parts.items() if f"/{run}/" in name}
        assert of_run == {name: text for name, text in parts.items() if "/one/" in name}
    assert of_run
