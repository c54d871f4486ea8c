"""Clients of the ZooKeeper of a secure HBase, in Spark's JVM."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.capture.sources.zookeeper_sasl import Login, SaslZooKeeperClient
from pipelines.files.hadoop_jvm import HadoopJvm
from tests.labs.secure_nights import Secure

PATIENCE_MS = 300_000


def sasl_client(spark: SparkSession, secure: Secure, principal: str, keytab: Path) -> SaslZooKeeperClient:
    """Returns a client that logs in with a keytab."""
    login = Login(principal, str(keytab))
    return SaslZooKeeperClient(HadoopJvm.of(spark), secure.hbase.zookeeper_quorum, PATIENCE_MS, login)


@contextmanager
def known_realm(spark: SparkSession, secure: Secure) -> Iterator[str]:
    """Lets the JVM know the KDC; yields the name of the property."""
    system, name = HadoopJvm.of(spark).view.java.lang.System, "java.security.krb5.conf"
    system.setProperty(name, str(secure.kerberos.krb5_conf))
    yield name
    system.clearProperty(name)
