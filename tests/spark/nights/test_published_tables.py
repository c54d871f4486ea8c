"""The tables of the nights in a catalog, under the suite of the published tables, and the Data Docs beside the page."""

import html
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from jobs.cli.command_line import parse
from jobs.cli.context import JobContext
from jobs.cli.registry import JOBS
from pipelines.common.errors import UsageError
from pipelines.common.job_result import JobResult
from pipelines.reconcile.published_tables import RULES
from schemas.registry import CLEANUP_TABLES, DECISION_TABLES
from scripts.generate_tables import CATALOG
from tests.labs.fleet_nights import CLUSTERS
from tests.labs.small_cluster import Desk

pytestmark = pytest.mark.slow("four nights of a fleet are decided once, and every test reads them")


def checked(desk: Desk, lake: Path, *options: str) -> JobResult:
    args = parse(["check-tables", "--lake", f"file:{lake}", *options]).args
    return JOBS["check-tables"].load().run(args, JobContext("check-tables", spark=desk.spark))


def run(spark: SparkSession, statements: Sequence[str]) -> None:
    for statement in statements:
        spark.sql(statement)


@pytest.mark.long
@pytest.mark.promise("catalogs-follow-the-schemas", "registration-writes-nothing")
def test_spark_registers_the_tables_that_are_there(nights: list[JobResult], desk: Desk) -> None:
    assert nights
    spark, folders = desk.spark, {path.name for path in desk.lake.iterdir()}
    statements = (CATALOG / "unity.sql").read_text(encoding="utf-8").partition("\n")[2].strip().rstrip(";").split(";\n")
    spark.conf.set("lake", f"file:{desk.lake}")
    try:
        with pytest.raises(AnalysisException, match="DELTA_MISSING_DELTA_TABLE"):
            run(spark, statements)
        registered = {row["tableName"] for row in spark.sql("SHOW TABLES IN walsafe").collect()}
        assert {table.name for table in (*DECISION_TABLES, *CLEANUP_TABLES)} <= registered <= folders
        assert {path.name for path in desk.lake.iterdir()} == folders, "nothing is written into the lake"
        for table in DECISION_TABLES:
            assert spark.table(f"walsafe.{table.name}").schema.names == table.schema.names
        (counted,) = spark.sql("SELECT count(*) AS files FROM walsafe.wal_verdicts").collect()
        assert counted["files"] == len(desk.rows("wal_verdicts")) > 0
    finally:
        spark.sql("DROP SCHEMA IF EXISTS walsafe CASCADE")
        spark.conf.unset("lake")


@pytest.mark.promise("analyst-checks-the-tables")
def test_the_published_tables_meet_every_expectation(nights: list[JobResult], desk: Desk, tmp_path: Path) -> None:
    assert nights
    result = checked(desk, desk.lake, "--out", str(tmp_path))
    assert (result.exit_code, result.result["failed"]) == (0, {})
    assert "healthy" in {run["cluster"] for run in result.result["runs"]}
    document = json.loads((tmp_path / "published_tables.json").read_text(encoding="utf-8"))
    assert document["validation"]["statistics"]["successful_expectations"] == len(RULES)
    import great_expectations as gx  # noqa: PLC0415 - takes seconds, in each process that collects this file

    suite = gx.ExpectationSuite(**{key: document["suite"][key] for key in ("name", "expectations")})
    assert len(suite.expectations) == len(RULES)
    assert "Every expectation is met." in (tmp_path / "published_tables.html").read_text(encoding="utf-8")
    result = checked(desk, desk.lake, "--cluster", "healthy", "--out", f"{tmp_path}/published_tables.html/below")
    assert (result.exit_code, result.result["failed"]) == (4, {})


@pytest.mark.promise("analyst-checks-the-tables")
def test_tables_that_do_not_agree_are_named(nights: list[JobResult], desk: Desk, tmp_path: Path) -> None:
    assert nights
    lake = tmp_path / "lake"
    shutil.copytree(desk.lake, lake)
    DeltaTable(str(lake / "verdict_totals")).delete("cluster = 'healthy' AND verdict = 'HELD'")
    DeltaTable(str(lake / "wal_verdicts")).update(
        predicate="cluster = 'healthy' AND verdict = 'HELD' AND reason = 'PENDING'", updates={"verdict": "'DELETABLE'"}
    )
    DeltaTable(str(lake / "quality_results")).delete("cluster = 'healthy' AND run_id = 'night-3'")
    (tmp_path / "file").touch()
    result = checked(desk, lake, "--cluster", "healthy", "--out", f"{tmp_path}/file/below")
    assert result.exit_code == 3, "a folder that cannot be written does not hide it"
    assert set(result.result["failed"]) == {
        "totals_have_every_file", "totals_have_every_byte", "deletable_has_no_holder", "gate_has_results",
    }  # fmt: skip
    assert "no DELETABLE file has a holder; not so in healthy night-3" in result.text


def test_the_data_docs_are_written_to_this_machine_only(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give a directory of this machine"):
        checked(desk, tmp_path / "no-lake", "--out", "hdfs://ns1/quality")


@pytest.mark.promise("data-docs-beside-the-page")
def test_the_data_docs_stand_beside_the_page(nights: list[JobResult], desk: Desk) -> None:
    assert nights
    reports = desk.lake / "reports" / "fleet"
    assert (reports / "night-0.html").exists()
    text = (reports / "night-0.quality.html").read_text(encoding="utf-8")
    page = (reports / "night-0.html").read_text(encoding="utf-8")
    assert page.count('<a href="night-0.quality.html">') == page.count('<section id="cluster-') > 1, "each leads there"
    document = json.loads(html.unescape(text.partition("<pre>")[2].partition("</pre>")[0]))
    assert (document["suite"]["name"], document["validation"]["success"]) == ("gate", False)
    failed = {
        one["expectation_config"]["meta"]["name"]: {row["cluster"] for row in one["result"]["unexpected_index_list"]}
        for one in document["validation"]["results"]
        if not one["success"]
    }
    told = {
        (one["expectation"], one["cluster"])
        for one in desk.rows("quality_results", "run_id = 'night-0' AND NOT success")
    }
    assert {(name, cluster) for name, clusters in failed.items() for cluster in clusters} == told
    assert not re.search(r"<(?:script|link|img|iframe)|\b(?:src|href)=|@import|url\(", text), "it needs no other file"
    assert all(name in text and cluster in text for name, cluster in told)
    assert len(told) > 1
    runs = re.findall(r'<meta name="walsafe:run" content="(\S+) night-0 \d+">', text.partition("<title>")[0])
    assert set(runs) == set(CLUSTERS), "maintain removes it with the page"
