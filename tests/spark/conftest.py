"""Fixtures of the tests on Spark."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from pipelines.common.spark import few_rows
from pipelines.common.spark.few_rows import for_few_rows
from tests.labs.cleanup.on_disk import NightOver
from tests.labs.pegasus.bulk_load import Ingestion
from tests.labs.spark.evaluation import COMPILED, INTERPRETED


@pytest.fixture(scope="session")
def night_over(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> NightOver:
    """Labs on disk whose list waits to be cleaned."""
    return NightOver(spark, tmp_path_factory.mktemp("night"))


@pytest.fixture
def many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of rows goes the way of large listings."""
    monkeypatch.setattr(few_rows, "FEW", 0)


@pytest.fixture
def as_many(spark: SparkSession, many_rows: None) -> Iterator[None]:
    """Any number of rows goes the way of large listings, with code that Spark generates."""
    _ = many_rows
    for name, value in COMPILED.items():
        spark.conf.set(name, value)
    yield
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)


@pytest.fixture(
    scope="module",
    params=[pytest.param("compiled", marks=pytest.mark.slow("Spark compiles every decision")), "as it stands"],
)
def either(spark: SparkSession, request: pytest.FixtureRequest) -> SparkSession:
    """Spark's two ways to evaluate an expression: that of large listings, and that of small ones."""
    if request.param == "as it stands":
        return for_few_rows(spark)
    session = spark.newSession()
    for name, value in COMPILED.items():
        session.conf.set(name, value)
    # else the optimizer evaluates what is asked of rows of the driver, and compiles nothing
    local = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
    session.conf.set("spark.sql.optimizer.excludedRules", local)
    return session


@pytest.fixture(scope="session")
def ingestion(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ingestion]:
    """RocksDB 8.5, as Pegasus builds it."""
    made = Ingestion(tmp_path_factory.mktemp("rocksdb"))
    yield made
    made.close()
