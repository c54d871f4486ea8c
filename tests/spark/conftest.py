"""Fixtures of the tests on Spark."""

import pytest
from pyspark.sql import SparkSession

from tests.labs.cleanup.on_disk import NightOver


@pytest.fixture(scope="session")
def night_over(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> NightOver:
    """Labs on disk whose list waits to be cleaned."""
    return NightOver(spark, tmp_path_factory.mktemp("night"))
