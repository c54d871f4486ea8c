"""Starts a real ZooKeeper in its own JVM from pyspark's jars, within a second."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kazoo.client import KazooClient

from tests.labs.cluster.classpath import PYSPARK_JARS
from tests.labs.cluster.jvm import Jvm
from tests.labs.waiting import wait_until

_JARS = ("zookeeper-*.jar", "snappy-java-*.jar", "metrics-core-*.jar", "slf4j-api-*.jar", "commons-io-*.jar")
_TICK_MS = 3_000
"""ZooKeeper's own default; a session can last 20 ticks, which outlives a pause of a busy machine."""


@contextmanager
def connected(quorum: str) -> Iterator[KazooClient]:
    """Yields a session with a ZooKeeper."""
    client = KazooClient(hosts=quorum)
    client.start(timeout=300)
    try:
        yield client
    finally:
        client.stop()
        client.close()


class ZooKeeper:
    """One server.

    Attributes:
        quorum: Its address.
    """

    def __init__(self, work: Path) -> None:
        patterns = (*_JARS, "netty-*.jar", "py4j-*.jar")
        self._jvm = Jvm("zookeeper", [jar for one in patterns for jar in sorted(PYSPARK_JARS.glob(one))], work)
        java = self._jvm.view
        data = java.java.io.File(str(work / "data"))
        self._server = java.org.apache.zookeeper.server.ZooKeeperServer(data, data, _TICK_MS)
        address = java.java.net.InetSocketAddress("127.0.0.1", 0)
        self._factory = java.org.apache.zookeeper.server.NIOServerCnxnFactory.createFactory(address, 60)
        self._factory.startup(self._server)
        self.quorum = f"127.0.0.1:{self._factory.getLocalPort()}"

    def expire(self, session: int) -> None:
        """Ends a session as if its client had been silent for too long; returns once the next session may begin."""
        self._server.closeSession(session)
        tracker = self._server.getSessionTracker()
        wait_until(lambda: not tracker.isTrackingSession(session), "the session has ended")

    def close(self) -> None:
        """Ends the server."""
        self._jvm.close()
