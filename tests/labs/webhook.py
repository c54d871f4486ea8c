"""A webhook: a real HTTP server that keeps what it is sent."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


@contextmanager
def webhook(code: int = 200) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Its URL, and every request that it has got."""
    got: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            got.append({"path": self.path, "body": body, "token": self.headers["Authorization"]})
            self.send_response(code)
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            """Not in the tests' output."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/secret", got
    finally:
        server.shutdown()
        server.server_close()
