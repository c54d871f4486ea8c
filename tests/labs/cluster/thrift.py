"""Starts HBase's Thrift gateway in its own JVM, for happybase."""

import contextlib
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from py4j.protocol import Py4JError

from tests.labs.cluster.classpath import THRIFT, resolve
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.jvm import Jvm

_START_SECONDS = 900.0


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
        jvm = Jvm("thrift", [conf, *resolve(THRIFT)], work, heap="256m")
        self._jvm = jvm
        arguments = ("-p", str(self.port), "--bind", self.host, "--infoport", "-1", "-threadpool", "start")
        # the server's main never returns; inside a gateway's JVM it ends with the tests, however they end
        self._serving = threading.Thread(target=_serve, args=(jvm, arguments), name="thrift", daemon=True)
        self._serving.start()
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def _wait(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self._listening():
            if not self._serving.is_alive() or time.monotonic() > deadline:
                raise RuntimeError(f"the Thrift gateway did not start:\n{self._jvm.tail()}")
            time.sleep(0.1)

    def _listening(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((self.host, self.port)) == 0

    def close(self) -> None:
        """Ends the gateway."""
        self._jvm.close()


def _serve(jvm: Jvm, arguments: Sequence[str]) -> None:
    array = jvm.gateway.new_array(jvm.view.java.lang.String, len(arguments))
    for index, argument in enumerate(arguments):
        array[index] = argument
    hbase = jvm.view.org.apache.hadoop.hbase
    with contextlib.suppress(Py4JError):  # the JVM is ended under this call
        hbase.thrift.ThriftServer(hbase.HBaseConfiguration.create()).run(array)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
