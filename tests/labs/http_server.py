"""A small HTTP server of this machine, as a test writes it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer


@contextmanager
def http_server(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """The port of 127.0.0.1 on which the handler answers until the end; its log is not in the tests' output."""
    quiet = type(handler.__name__, (handler,), {"log_message": lambda *_: None})
    server = HTTPServer(("127.0.0.1", 0), quiet)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
