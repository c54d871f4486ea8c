"""split-run and split-export against a second reading of random replicas, written from Pegasus's sources.

The rows of the replicas, and those of the output after a bulk load, are read by Pegasus's RocksDB in Java.
"""

from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from tests.labs.deep_seeds import SEED, Say
from tests.labs.pegasus.bulk_load import Ingestion
from tests.labs.pegasus.own_answer import Errors, answer
from tests.labs.pegasus.random_replicas import RandomReplicas, Rows
from tests.labs.pegasus.split_tables import TARGET, acknowledging

RANGES = ("--task-size", "1", "--file-size", "1")
COUNTS = ((1, 2), (2, 4), (2, 64), (4, 16), (6, 8), (3, 4), (5, 8))
KINDS = ("clean", "doubtful", "doubtful", "refused")
CASES = ("gpid", "order", "ballot", "stale", "empty")
SEEDS, LARGE = (24, 25, 49, 65, 209), (3, 10)
"""Tables that together have everything, and tables that are divided among tasks."""
EVERYTHING = {
    "SPLIT_D1", "SPLIT_D3", "SPLIT_D5", "SPLIT_D6", "SPLIT_D7 stale", "SPLIT_D7 empty",
    "SPLIT_L1", "SPLIT_L1 gpid", "SPLIT_L1 order", "SPLIT_L2", "SPLIT_L2 ballot", "SPLIT_L6", "SPLIT_R1", "SPLIT_R4",
    "DECREE_MISSING", "DECREE_NOT_REPLAYABLE", "REPLICA_DAMAGED",
    "ranges", "empty partitions", "a known decree", "a learner",
}  # fmt: skip
MANY = 60


@pytest.mark.long
@pytest.mark.promise("split-offline")
def test_the_second_reading_agrees_on_random_replicas(
    spark: SparkSession, tmp_path: Path, ingestion: Ingestion
) -> None:
    had = [judge(seed, spark, tmp_path / str(seed), ingestion) for seed in SEEDS]
    had += [judge(seed, spark, tmp_path / f"large-{seed}", ingestion, large=True) for seed in LARGE]
    assert set().union(*had) == EVERYTHING


@pytest.mark.deep
def test_the_second_reading_agrees_on_many_random_replicas(
    spark: SparkSession, tmp_path: Path, ingestion: Ingestion, record_property: Say
) -> None:
    first = SEED * MANY
    had = set[str]()
    for seed in range(first, first + MANY):
        had |= judge(seed, spark, tmp_path / str(seed), ingestion, large=seed % 6 == 0)
        rmtree(tmp_path / str(seed))
    record_property("first seed", first)
    record_property("tables", MANY)
    record_property("of all kinds", f"{len(had)} of {len(EVERYTHING)}")
    assert had <= EVERYTHING


def errors(result: Mapping[str, Any]) -> Errors:
    """The error findings by key, each with the partitions or decrees that it names."""
    return {
        f"{one['code']}:{one['subject']}": one["evidence"].get("partitions", one["evidence"].get("left_out", []))
        for one in result["findings"]
        if one["severity"] == "error"
    }


def lying(table: RandomReplicas) -> list[Rows]:
    files = sorted(table.output("export").rglob("*.parquet"))
    found: list[Rows] = [{} for _ in range(table.old)]
    for row in ds.dataset(files).to_table().to_pylist():
        assert row["key"] not in found[row["partition_index"]]
        found[row["partition_index"]][row["key"]] = row["value"]
    return found


def judge(seed: int, spark: SparkSession, root: Path, ingestion: Ingestion, *, large: bool = False) -> set[str]:
    """Compares the answers for one table, and returns what it had."""
    (old, new), kind = COUNTS[seed % len(COUNTS)], KINDS[seed // len(COUNTS) % len(KINDS)]
    table = RandomReplicas(spark, root, seed, old, kind, large=large)
    drop_expired = bool(seed % 2)
    expected = answer(table, ingestion, drop_expired=drop_expired)
    reading = [*table.options, *(RANGES if large else ())]
    options = [*reading, *["--drop-expired"] * drop_expired]
    if table.created_with is not None:
        options += ["--created-with", str(table.created_with)]
    if expected.refused:
        for code, result in (table.run(*options, new=new), table.export(*reading)):
            assert (code, result["error"]["condition"] in expected.refused) == (3, True), result
        assert not table.output().exists()
        return expected.refused
    code, result = table.run(*options, new=new)
    assert (code, errors(result)) == (3 if expected.errors else 0, expected.errors), result
    if expected.errors:
        assert not table.output().exists()
        code, result = table.run(*options, *acknowledging(root, expected.errors), new=new)
        assert (code, result["resumed"]) == (0, old), result
    assert ingestion.loaded(table.output(), "temp", TARGET, new) == expected.live
    code, result = table.export(*reading)
    assert (code, errors(result)) == (3 if expected.log_errors else 0, expected.log_errors), result
    if code:
        assert table.export(*reading, *acknowledging(root, expected.log_errors))[0] == 0
    assert lying(table) == expected.lie
    tasks = {path.name.rpartition("-")[0] for path in table.output().rglob("*.sst")}
    empty = {str(path.parent) for path in table.output().rglob("*-empty-*.sst")}
    had = {"ranges": any("-" in task and not task.endswith("-empty") for task in tasks), "empty partitions": empty,
           "a known decree": table.committed, "a learner": any(table.valid)}  # fmt: skip
    return {what for what, is_there in had.items() if is_there} | {kind_of(key) for key in expected.errors}


def kind_of(key: str) -> str:
    """The rule of an error finding, and which of its cases."""
    case = next((part for part in key.split("/")[-2:] if part in CASES), "")
    return f"{key.partition(':')[0]} {case}".strip()
