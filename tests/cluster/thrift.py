"""HBase's Thrift gateway in a JVM of its own, for happybase."""

import socket
import time
from pathlib import Path

from tests.cluster.classpath import THRIFT, resolve
from tests.cluster.hbase import HBaseCluster
from tests.cluster.jvm import Process

_START_SECONDS = 60.0


class ThriftGateway:
    """A gateway to one cluster.

    The gateway is HBase 2.5.8's: the version that clusters in the field run, and able to scan a table of HBase 3.

    Attributes:
        host: Where it listens.
        port: A free port that was chosen for it.
    """

    def __init__(self, cluster: HBaseCluster, work: Path) -> None:
        self.host = "127.0.0.1"
        self.port = _free_port()
        conf = cluster.write_conf(work / "conf", {"hbase.client.retries.number": "3"})
        arguments = (
            "org.apache.hadoop.hbase.thrift.ThriftServer",
            *("-p", str(self.port), "--bind", self.host, "--infoport", "-1", "-threadpool", "start"),
        )
        self._process = Process("thrift", [conf, *resolve(THRIFT)], arguments, work, heap="256m")
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def _wait(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self._listening():
            if not self._process.running or time.monotonic() > deadline:
                raise RuntimeError(f"the Thrift gateway did not start:\n{self._process.tail()}")
            time.sleep(0.1)

    def _listening(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((self.host, self.port)) == 0

    def close(self) -> None:
        """Ends the gateway."""
        self._process.close(0.1)  # it does not read its standard input: nothing to wait for


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
