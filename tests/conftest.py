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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Name the group of each test, which goes to one process: those of `PROCESSES`, else the tests of one file."""
    order = {}
    for item in items:
        place = item.location[0]
        shared = [number for number, group in enumerate(PROCESSES) if place.startswith(group)]
        order[item] = shared[0] if shared else len(PROCESSES)
        item.add_marker(pytest.mark.xdist_group(PROCESSES[shared[0]][0] if shared else place))
    items.sort(key=order.__getitem__)
