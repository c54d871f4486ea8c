"""Fixtures of the tests on Spark."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.labs.cleanup.on_disk import NightOver
from tests.labs.pegasus.bulk_load import Ingestion


@pytest.fixture(scope="session")
def night_over(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> NightOver:
    """Labs on disk whose list waits to be cleaned."""
    return NightOver(spark, tmp_path_factory.mktemp("night"))


@pytest.fixture(scope="session")
def ingestion(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ingestion]:
    """RocksDB 8.5, as Pegasus builds it."""
    made = Ingestion(tmp_path_factory.mktemp("rocksdb"))
    yield made
    made.close()
