"""Fixtures of the whole suite."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from jobs.session import local_session

# the real HBase, HDFS, ZooKeeper, Kerberos and Thrift
pytest_plugins = ["tests.cluster.fixtures"]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One local session with Delta for all tests; small data, so the JVM's optimizing compiler stays off."""
    session = local_session(tmp_path_factory.mktemp("spark"), memory="1500m")
    yield session
    session.stop()
