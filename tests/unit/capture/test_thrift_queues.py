"""A port that is no Thrift gateway; the real gateway is in tests/integration/test_capture."""

import threading
from socketserver import BaseRequestHandler, TCPServer

import pytest

from pipelines.capture.sources.thrift_queues import ThriftQueues
from pipelines.common.errors import UnavailableError


class OtherServer(BaseRequestHandler):
    def handle(self) -> None:
        self.request.recv(4096)
        self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.mark.parametrize("protocol", ["binary", "compact"])
@pytest.mark.parametrize("transport", ["buffered", "framed"])
def test_a_server_of_another_protocol_is_named(transport: str, protocol: str) -> None:
    with TCPServer(("127.0.0.1", 0), OtherServer) as server:
        thread = threading.Thread(target=server.handle_request, daemon=True)
        thread.start()
        port = server.server_address[1]
        queues = ThriftQueues("127.0.0.1", port, transport=transport, protocol=protocol, timeout_ms=5_000)
        with pytest.raises(UnavailableError, match=f"gateway 127.0.0.1:{port}, .*check host, port, transport and prot"):
            list(queues.cells("queues-1"))
        thread.join()
