"""A webhook: a real HTTP server that keeps what it is sent."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.labs.http_server import http_server


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

    with http_server(Handler) as port:
        yield f"http://127.0.0.1:{port}/secret", got
