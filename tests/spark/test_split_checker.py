"""split-run and split-export against a second reading of random replicas, written from Pegasus's sources.

The rows of the replicas, and those of the output after a bulk load, are read by Pegasus's RocksDB in Java.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from tests.labs.pegasus import private_logs as made
from tests.labs.pegasus.bulk_load import Ingestion
from tests.labs.pegasus.private_logs import Entry, LogWriter
from tests.labs.pegasus.random_replicas import CLUSTER_ID, RandomReplicas, Rows
from tests.labs.pegasus.replicas import FLUSHED
from tests.labs.pegasus.split_tables import APP, TARGET

pytestmark = pytest.mark.long
CLUSTER = ("--cluster-id", str(CLUSTER_ID))


def errors(result: Mapping[str, Any]) -> Counter[str]:
    """The rows of each error about copies; each other error counts once."""
    found = Counter[str]()
    for one in result["findings"]:
        if one["severity"] == "error":
            found[one["code"]] += one["evidence"].get("rows", 1)
    return found


def load(table: RandomReplicas, ingestion: Ingestion, new: int, out: str = "out") -> Rows:
    return ingestion.loaded(table.output(out), "temp", TARGET, new)


def lying(table: RandomReplicas) -> list[Rows]:
    files = sorted(table.output("export").rglob("*.parquet"))
    found: list[Rows] = [{} for _ in range(table.old)]
    for row in ds.dataset(files).to_table().to_pylist():
        assert row["key"] not in found[row["partition_index"]]
        found[row["partition_index"]][row["key"]] = row["value"]
    return found


@pytest.mark.promise("split-offline")
@pytest.mark.parametrize(("seed", "old", "new"), [(1, 4, 16), (2, 2, 4), (3, 6, 8)])
def test_what_a_split_and_an_export_make_of_random_replicas(
    spark: SparkSession, tmp_path: Path, ingestion: Ingestion, seed: int, old: int, new: int
) -> None:
    table = RandomReplicas(spark, tmp_path, ingestion, seed, old, doubts=False)
    expected = table.answer(created_with=1, drop_expired=False)
    assert expected.errors == {}
    code, result = table.run(*CLUSTER, new=new)
    assert (code, errors(result)) == (0, expected.errors), result
    assert load(table, ingestion, new) == expected.live
    code, result = table.run(*CLUSTER, "--drop-expired", new=new, out="fewer")
    assert code == 0
    fewer = table.answer(created_with=1, drop_expired=True).live
    assert load(table, ingestion, new, "fewer") == fewer
    assert len(fewer) < len(expected.live)
    code, result = table.export(*CLUSTER)
    assert code == 0, result
    assert lying(table) == expected.lie


@pytest.mark.promise("split-offline")
@pytest.mark.parametrize("seed", range(10, 14))
def test_every_doubt_of_the_second_reading_is_an_error(
    spark: SparkSession, tmp_path: Path, ingestion: Ingestion, seed: int
) -> None:
    table = RandomReplicas(spark, tmp_path, ingestion, seed, 4, doubts=True)
    created_with = 4 if seed % 2 else 2
    expected = table.answer(created_with=created_with, drop_expired=False)
    assert expected.errors
    code, result = table.run(*CLUSTER, "--created-with", str(created_with))
    assert (code, errors(result)) == (3, expected.errors), result
    assert not table.output().exists()
    code, result = table.export(*CLUSTER)
    in_logs = Counter({"SPLIT_L2": expected.errors["SPLIT_L2"]})
    assert (code, errors(result)) == (3 if +in_logs else 0, +in_logs), result
    if not code:
        assert lying(table) == expected.lie


def test_the_offset_from_which_a_log_counts(spark: SparkSession, tmp_path: Path, ingestion: Ingestion) -> None:
    table = RandomReplicas(spark, tmp_path, ingestion, 20, 2, doubts=False)
    folder = table.reps / f"{APP}.1.pegasus" / "plog"
    for path in folder.iterdir():
        path.unlink()
    key = table.pool[1][0]
    start = 0
    for number, value in enumerate((b"of a learner that was reset", b"counts"), 1):
        log = LogWriter(APP, 1, start, 0).add(Entry(FLUSHED + 1, (made.put(key, value),), committed=FLUSHED))
        (folder / f"log.{number}.{start}").write_bytes(log.data)
        start = log.end
    both = table.answer(created_with=1, drop_expired=False)
    table.forget_the_first_log(1)
    second = table.answer(created_with=1, drop_expired=False)
    assert both.live != second.live
    assert table.run(*CLUSTER, new=4)[0] == 0
    assert load(table, ingestion, 4) == second.live
