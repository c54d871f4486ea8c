"""Starts HBase's Thrift gateway in its own JVM, for happybase."""

import contextlib
import threading
from pathlib import Path

from py4j.protocol import Py4JError

from tests.labs.cluster.classpath import THRIFT, resolve
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.jvm import Jvm
from tests.labs.waiting import wait_until


class ThriftGateway:
    """A gateway to one cluster.

    The gateway is HBase 2.5.8's: the version that clusters in the field run, and able to scan a table of HBase 3.

    Attributes:
        host: Where it listens.
        port: The free port that it has taken.
    """

    def __init__(self, cluster: HBaseCluster, work: Path) -> None:
        self.host = "127.0.0.1"
        conf = cluster.write_conf(work / "conf", {"hbase.client.retries.number": "3"})
        self._jvm = Jvm("thrift", [conf, *resolve(THRIFT)], work, heap="256m")
        try:
            hbase = self._jvm.view.org.apache.hadoop.hbase
            self._server = hbase.thrift.ThriftServer(hbase.HBaseConfiguration.create())
            # the server's main never returns; inside a gateway's JVM it ends with the tests, however they end
            self._serving = threading.Thread(target=self._serve, name="thrift", daemon=True)
            self._serving.start()
            wait_until(self._listens, "the Thrift gateway listens")
            self.port = self._bound_port()
        except BaseException:
            self.close()
            raise

    def _serve(self) -> None:
        arguments = ("-p", "0", "--bind", self.host, "--infoport", "-1", "-threadpool", "start")
        array = self._jvm.gateway.new_array(self._jvm.view.java.lang.String, len(arguments))
        for index, argument in enumerate(arguments):
            array[index] = argument
        with contextlib.suppress(Py4JError):  # the JVM is ended under this call
            self._server.run(array)

    def _listens(self) -> bool:
        if not self._serving.is_alive():
            raise RuntimeError(f"the Thrift gateway did not start:\n{self._jvm.tail()}")
        return self._server.getTserver() is not None

    def _bound_port(self) -> int:
        server = self._server.getTserver()
        transport = server.getClass().getSuperclass().getDeclaredField("serverTransport_")
        transport.setAccessible(True)
        return int(transport.get(server).getServerSocket().getLocalPort())

    def close(self) -> None:
        """Ends the gateway."""
        self._jvm.close()
