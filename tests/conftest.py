"""Fixtures of the whole suite."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from xdist.remote import Producer

from jobs.cli.session import local_session
from tests.labs.processes import SharedTogether, order

# a process of xdist has a main module of no file, which pyspark takes for its own doctests, and exits
if not hasattr(sys.modules["__main__"], "__file__"):
    sys.modules["__main__"].__file__ = str(Path(pytest.__file__).with_name("__main__.py"))

# the real HBase, HDFS, ZooKeeper, Kerberos and Thrift
pytest_plugins = ["tests.labs.cluster.fixtures"]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One local session with Delta for all tests; small data, so the JVM's optimizing compiler stays off."""
    session = local_session(tmp_path_factory.mktemp("spark"), memory="2g")
    yield session
    session.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""
    items.sort(key=lambda item: order(item.location[0]))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SharedTogether:
    """What shares a cluster runs in one process."""
    return SharedTogether(config, log)
