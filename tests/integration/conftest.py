"""What the tests on the real clusters have in common."""

import pytest
from pyspark.sql import SparkSession

from tests.labs.cluster.classpath import HBASE_CLIENT, resolve


@pytest.fixture(scope="session")
def hbase_spark(spark: SparkSession) -> SparkSession:
    """The session with HBase's client, as `--jars` would have put it there: behind Spark's own jars."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for jar in resolve(HBASE_CLIENT):
        loader.addURL(jvm.java.net.URL(jar.as_uri()))
    return spark
