"""split-verify, split-stale and split-demo from end to end; the examples of the pages."""

import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from jobs.cli.command_line import parse
from jobs.cli.context import JobContext
from tests.labs.documented_commands import blocks
from tests.labs.job_answer import job_answer
from tests.labs.lake_rows import lake_rows
from tests.labs.pegasus.split_rows import Row, written
from tests.labs.places import DOCS

pytestmark = pytest.mark.long

PAGE_AT = "2026-11-21T02:00:00Z"


def sample(number: int) -> list[Row]:
    lines = blocks(DOCS / "split-rows.md", "text")[number].splitlines()[1:]
    return [Row(int(index), bytes.fromhex(key), bytes.fromhex(value)) for index, key, value in map(str.split, lines)]


class Desk:
    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self.root = spark, root

    def run(self, job: str, *options: str) -> tuple[int, dict[str, Any]]:
        return job_answer(JobContext(job, spark=self.spark), self.root, *options)


@pytest.fixture
def desk(spark: SparkSession, tmp_path: Path) -> Desk:
    return Desk(spark, tmp_path)


def test_the_example_of_split_verify(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = written(sample(0), desk.root / "before"), written(sample(1), desk.root / "after")
    counts = ("--before-partitions", "4", "--after-partitions", "8")
    code, _ = desk.run("split-verify", "--table", "t", "--before", before, "--after", after, *counts, "--at", PAGE_AT)
    assert code == 3
    assert capsys.readouterr().out == blocks(DOCS / "split-verify.md", "text")[0]


@pytest.mark.promise("split-stale-and-model")
def test_the_example_of_split_stale_and_what_becomes_of_it_without_the_env(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = written(sample(1), desk.root / "rows")
    about = ("--table", "t", "--rows", rows, "--partitions", "8", "--created-with", "4", "--at", PAGE_AT)
    assert desk.run("split-stale", *about, "--validate-env", "true")[0] == 0
    assert capsys.readouterr().out == blocks(DOCS / "split-stale.md", "text")[0]
    lake = f"file:{desk.root}/lake"
    code, result = desk.run("split-stale", *about, "--validate-env", "unset", "--version", "0=-1", "--lake", lake)
    assert (code, result["stale_rows"], result["dropped_rows"]) == (3, 4, 2)
    assert [one["code"] for one in result["findings"]] == ["SPLIT_C9"]
    assert "KEPT_ENV_LOST (of another partition)" in capsys.readouterr().out
    assert sum(row["rows"] for row in lake_rows(f"{lake}/split_stale", "fate = 'KEPT_ENV_LOST'")) == 3
    for wrong, words in (("0", "such as 3=-1"), ("x=1", "such as 3=-1"), ("1=4", "partition_version 4")):
        capsys.readouterr()
        assert desk.run("split-stale", *about, "--validate-env", "true", "--version", wrong)[0] == 2
        assert words in capsys.readouterr().err


def test_the_demo_finds_exactly_the_row_that_was_taken_away(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    out = desk.root / "a demo"
    code, result = desk.run("split-demo", "--out", str(out))
    assert code == 0
    assert [one["key"] for one in result["damaged"]["shown"]] == [result["lost"]]
    assert result["whole"]["is_equal"] is True
    printed = capsys.readouterr().out
    name = "walsafe-out/split-demo-20261122T020000Z"
    said = re.sub(rf"'file:{re.escape(str(out))}([^']*)'", rf"file:/opt/walsafe/{name}\1", printed).replace(
        str(out), name
    )
    assert said.split() == blocks(DOCS / "split-demo.md", "text")[0].split(), "lines may break elsewhere"
    for copy, partitions in (("before", 4), ("after", 8), ("after-with-a-loss", 8)):
        assert set(pq.read_table(out / copy)["partition_index"].to_pylist()) == set(range(partitions)), copy
    assert [row["key"] for row in lake_rows(f"{out}/lake/split_diff")] == [result["lost"]]
    found = [(row["run_id"], row["code"]) for row in lake_rows(f"{out}/lake/findings")]
    whole, damaged = result["whole"]["run_id"], result["damaged"]["run_id"]
    assert sorted(found) == sorted([(whole, "SPLIT_D4"), (damaged, "SPLIT_D1"), (damaged, "SPLIT_D4")])
    proposed = [shlex.split(line)[1:] for line in printed.splitlines() if "spark-submit.sh" in line]
    assert [words[0] for words in proposed] == [
        "split-audit-config", "split-audit-log", "split-route", "split-stale", "split-plan",
    ]  # fmt: skip
    # test_split_audits.py runs the first three on what such a split leaves
    for words in proposed[:3]:
        assert parse(words).name == words[0]
        assert all(Path(word.removeprefix("file:")).exists() for word in words[2::2])
    for words in proposed[3:]:
        assert desk.run(*words)[0] == 0
    assert desk.run("split-demo", "--out", str(out))[0] == 2
    assert desk.run("split-demo", "--out", "hdfs://ns1/demo")[0] == 2
