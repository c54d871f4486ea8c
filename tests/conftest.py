"""Fixtures of the whole suite."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from jobs.session import local_session

# the real HBase, HDFS, ZooKeeper, Kerberos and Thrift
pytest_plugins = ["tests.cluster.fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--deep", action="store_true", help="run the searches that take too long for a suite, and those alone"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    deep = bool(config.getoption("--deep"))
    left_out = [item for item in items if bool(item.get_closest_marker("deep")) is not deep]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if bool(item.get_closest_marker("deep")) is deep]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One local session with Delta for all tests; small data, so the JVM's optimizing compiler stays off."""
    session = local_session(tmp_path_factory.mktemp("spark"), memory="1500m")
    yield session
    session.stop()
