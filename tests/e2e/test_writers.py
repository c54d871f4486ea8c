"""One lake, and jobs of several living processes that write it in the same moments.

The lake is on a local disk, where two commits in the very same moment can rarely lose one (docs/adr/0004).
"""

import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.labs.spark.same_night import FILES, in_order, list_files, night, write_fleet
from tests.labs.spark.submitter import Submitter, clean_environment

pytestmark = pytest.mark.deep

DONE, TRY_AGAIN = {0, 5}, 4
SMALL = "--master local[1] --conf spark.driver.memory=1g"
CONFIG = "cluster: any\nmaintain: {compact_from: 2, keep: {other_tables: 90d}}\n"
RUNS = ("one", "two", "three", "four")


def at_once(submit: Submitter, work: Path, *jobs: Sequence[str]) -> list[tuple[int, str]]:
    """Exit code and log of each job; all of them run beside each other."""
    logs = [work / f"{number}.log" for number in range(len(jobs))]
    processes = []
    try:
        for job, log in zip(jobs, logs, strict=True):
            environment = {**clean_environment(), "SPARK_SUBMIT_ARGS": SMALL}
            with log.open("w") as errors:
                command = submit.command(*job)
                processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=errors))
        codes = [process.wait(timeout=3_600) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [(code, log.read_text()[-3000:]) for code, log in zip(codes, logs, strict=True)]


def test_jobs_of_several_processes_lose_nothing_and_double_nothing(
    submit: Submitter, snapshots: Path, tmp_path: Path
) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "c.yaml").write_text(CONFIG)
    old = write_fleet(tmp_path / "old", days=2)
    lake = ["--lake", f"file:{tmp_path}/lake"]
    lists = [*lake, "--lists", f"file:{tmp_path}/lists", "--run-id"]

    # three that make the tables too: nothing is there yet
    replay = ["reconcile", "--fleet", f"file:{old}", *lists]
    told = at_once(submit, tmp_path, [*replay, "one"], [*replay, "one"], [*replay, "two"])
    codes = [code for code, _ in told]
    assert set(codes) <= DONE | {TRY_AGAIN}, told
    assert codes[2] in DONE, told[2]
    assert set(codes[:2]) & DONE, told
    assert night(tmp_path).rows["wal_verdicts"].num_rows == 2 * FILES

    # two nights while what those left is merged
    tonight, result = ["reconcile", "--fleet", f"file:{snapshots}", *lists], tmp_path / "maintain.json"
    maintain = ["maintain", *lake, "--config", str(tmp_path / "c.yaml"), "--execute", "--result", str(result)]
    told = at_once(submit, tmp_path, [*tonight, "three"], [*tonight, "four"], maintain)
    assert [code in DONE for code, _ in told] == [True, True, True], told
    (merged,) = (one["compacted"] for one in json.loads(result.read_text())["tables"] if one["table"] == "wal_verdicts")
    assert merged["partitions"] > 0, merged

    verdicts = night(tmp_path).rows["wal_verdicts"]
    assert Counter(verdicts["run_id"].to_pylist()) == dict.fromkeys(RUNS, FILES)
    rows = {run: in_order(verdicts.filter([one == run for one in verdicts["run_id"].to_pylist()])) for run in RUNS}
    plain = [name for name in verdicts.schema.names if name not in {"run_id", "blocking"}]
    assert rows["one"].select(plain).equals(rows["two"].select(plain))
    assert rows["three"].select(plain).equals(rows["four"].select(plain))
    runs = DeltaTable(str(tmp_path / "lake" / "runs")).to_pyarrow_table().to_pylist()
    statuses = Counter((one["run_id"], one["status"]) for one in runs)
    clusters = len({one["cluster"] for one in runs})
    for run in RUNS[1:]:
        assert statuses[run, "DONE"] == statuses[run, "STARTED"] == clusters
    parts = {name: text for name, text in list_files(tmp_path / "lists") if "/part-" in name}
    fours = {name.replace("/four/", "/three/"): text for name, text in parts.items() if "/four/" in name}
    assert fours == {name: text for name, text in parts.items() if "/three/" in name}
    assert fours
