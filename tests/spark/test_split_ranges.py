"""A large old partition is several tasks, each a range of its keys, and the output stays the same."""

import hashlib
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from tests.labs.pegasus import bulk_load
from tests.labs.pegasus.replicas import add_rows, keys, rows_of, stored
from tests.labs.pegasus.split_tables import APP, TARGET, Table, reopened

pytestmark = pytest.mark.long

RANGES = ("--task-size", "1", "--file-size", "1")
SAME = ("rows", "read", "logged", "expired", "stale", "malformed", "empty")


class LargeTable(Table):
    """The small table with some MiB of rows in each partition.

    They are in SSTs that begin at several keys, or in one SST, or in SSTs that all have about the same keys.
    """

    def __init__(self, spark: SparkSession, root: Path, old: int = 4, form: str = "apart") -> None:
        super().__init__(spark, root, old)
        for partition in range(old):
            more = sorted(keys(partition, old, 900)[60:])
            # py4j waits 40 ms for each value of more than 6 kB that the test reads
            rows = {key: stored(hashlib.shake_256(key).digest(5_000)) for key in more}
            places = {
                "apart": [more[place : place + 105] for place in range(0, len(more), 105)],
                "one": [more],
                "overlapping": [more[place::8] for place in range(8)],
            }
            layers = [{key: rows[key] for key in some} for some in places[form]]
            add_rows(self.reps / f"{APP}.{partition}.pegasus" / "data" / "rdb", *layers)
            self.live |= rows

    def tasks(self, out: str) -> set[str]:
        """The tasks that wrote files, by their names."""
        return {path.name.rpartition("-")[0] for path in self.output(out).rglob("*-*.*")}


def sums(result: dict[str, Any]) -> list[int]:
    return [result[name] for name in SAME]


def raw_bytes(parts: list[dict[str, Any]]) -> int:
    return sum(file["raw_bytes"] for part in parts for file in part["files"])


@pytest.mark.promise("split-offline")
@pytest.mark.parametrize(("old", "new"), [(4, 16), pytest.param(3, 8, marks=pytest.mark.deep)])
def test_ranges_give_the_same_rows_and_pegasus_takes_them(
    spark: SparkSession, tmp_path: Path, ingestion: bulk_load.Ingestion, old: int, new: int
) -> None:
    table = LargeTable(spark, tmp_path, old)
    code, whole = table.run(new=new, out="whole")
    assert code == 0, whole
    code, result = table.run(*RANGES, new=new)
    assert (code, sums(result)) == (0, sums(whole)), result
    groups = old if old == 4 else 1
    assert len(table.tasks("whole")) == groups
    assert len(table.tasks("out")) >= 3 * groups, "more tasks than old partitions"
    assert reopened(table, new, "whole") == table.live
    assert ingestion.loaded(table.output(), "temp", TARGET, new) == table.live, "it refuses files that overlap"
    for partition in range(new):
        files = bulk_load.download(table.output() / str(partition))
        ends = [sorted(rows_of([path], tmp_path / f"file-{partition}-{place}")) for place, path in enumerate(files)]
        assert len(files) > 1
        assert all(before[-1] < after[0] for before, after in pairwise(ends)), "the metadata list them in order"


@pytest.mark.parametrize("form", ["one", "overlapping"])
def test_a_large_partition_is_divided_inside_its_ssts(spark: SparkSession, tmp_path: Path, form: str) -> None:
    table = LargeTable(spark, tmp_path, form=form)
    code, whole = table.run(out="whole")
    assert code == 0, whole
    code, result = table.run(*RANGES)
    assert (code, sums(result)) == (0, sums(whole)), result
    assert len(table.tasks("out")) >= 3 * table.old
    assert reopened(table, 16) == table.live
    parts = json.loads((table.output() / "_split_manifest.json").read_text())["parts"]
    assert raw_bytes(parts) == sum(len(key) + len(value) for key, value in table.live.items())
    for part in parts:
        written: dict[str, int] = {}
        for file in part["files"]:
            name = file["file"].rpartition("-")[0]
            written[name] = written.get(name, 0) + file["raw_bytes"]
        assert max(written.values()) <= sum(written.values()) / 2, "no task has most of a partition"


def test_ranges_of_an_export(spark: SparkSession, tmp_path: Path) -> None:
    table = LargeTable(spark, tmp_path)
    lying = []
    for options in ((), RANGES):
        code, result = table.export(*options)
        assert code == 0, result
        rows = ds.dataset(sorted(table.output("export").rglob("*.parquet"))).to_table().to_pylist()
        lying.append({(row["partition_index"], row["key"]): row["value"] for row in rows})
        assert len(lying[-1]) == len(rows) == result["rows"]
        parts = json.loads((table.output("export") / "_split_manifest.json").read_text())["parts"]
        assert raw_bytes(parts) == sum(len(key) + len(value) for (_, key), value in lying[-1].items())
        tasks = len(table.tasks("export"))
        table.output("export").rename(tmp_path / f"export-{len(lying)}")
    assert lying[0] == lying[1]
    assert tasks >= 3 * table.old


@pytest.mark.promise("split-offline")
def test_a_damaged_backup_is_refused_before_it_is_divided(spark: SparkSession, tmp_path: Path) -> None:
    table = LargeTable(spark, tmp_path)
    backup = table.backup()
    given = ("--backup", str(backup.parent), *RANGES)
    checkpoint = next((backup / "2").glob("chkpt*"))
    manifest = next(checkpoint.glob("MANIFEST-*"))
    largest = max(checkpoint.glob("*.sst"), key=lambda path: path.stat().st_size)
    for path in (manifest, largest):
        whole = path.read_bytes()
        path.write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
        for job in (table.run, table.export):
            code, result = job(*given)
            assert (code, result["error"]["condition"]) == (3, "REPLICA_DAMAGED"), result
            assert f"{path}: it has {len(whole)} bytes and MD5 " in result["error"]["message"]
        path.write_bytes(whole)
    code, result = table.run(*given)
    assert (code, result["logged"]) == (0, 0), result
    assert len(table.tasks("out")) >= 3 * table.old
    code, whole_result = table.run("--backup", str(backup.parent), out="whole")
    assert (code, sums(result)) == (0, sums(whole_result))
    assert reopened(table, 16) == reopened(table, 16, "whole")


def test_a_run_that_was_stopped_goes_on_with_the_other_ranges(spark: SparkSession, tmp_path: Path) -> None:
    table = LargeTable(spark, tmp_path)
    log = table.reps / f"{APP}.2.pegasus" / "plog" / "log.1.0"
    data = log.read_bytes()
    log.write_bytes(data[:70] + bytes([data[70] ^ 1]) + data[71:])
    code, result = table.run(*RANGES)
    assert (code, f"{log} is broken" in result["error"]["message"]) == (3, True), result
    staged = table.output().with_name(".temp.staging")
    done = {path.parent.name for path in staged.rglob("part.json")}
    assert {name for name in done if name.startswith("part-1-")}, "partition 1 does not need partition 2"
    (one,) = staged.glob("part-1-1.*/part.json")
    one.unlink()
    log.write_bytes(data)
    kept = {path: path.stat().st_mtime_ns for path in staged.glob("part-1-[02].*/*/*.sst")}
    assert kept
    code, result = table.run(*RANGES)
    assert (code, result["resumed"]) == (0, 1), "partition 3; one range of partition 1 was done again"
    assert {path.stat().st_mtime_ns for path in table.output().rglob("*.sst")} >= set(kept.values())
    assert reopened(table, 16) == table.live
    manifest = json.loads((table.output() / "_split_manifest.json").read_text())
    assert [part["partition"] for part in manifest["parts"]] == [0, 1, 2, 3]
