"""Fixtures of the whole suite."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from jobs.session import local_session

PROCESSES = (("tests/integration", "tests/cluster", "tests/e2e/test_yarn.py"), ("tests/airflow",), ("tests/e2e",))
"""What shares something that takes long to start, and so runs in one process of `./tests/run`, the longest first."""

# the real HBase, HDFS, ZooKeeper, Kerberos and Thrift
pytest_plugins = ["tests.cluster.fixtures"]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One local session with Delta for all tests; small data, so the JVM's optimizing compiler stays off."""
    session = local_session(tmp_path_factory.mktemp("spark"), memory="1500m")
    yield session
    session.stop()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Name the group of a test, which goes to one process: that of `PROCESSES`, else its file."""
    group = _process(item)
    item.add_marker(pytest.mark.xdist_group(PROCESSES[group][0] if group < len(PROCESSES) else item.location[0]))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""
    items.sort(key=_process)


def _process(item: pytest.Item) -> int:
    place = item.location[0]
    return next((number for number, group in enumerate(PROCESSES) if place.startswith(group)), len(PROCESSES))
