"""WebHDFS servers that misbehave; the well-behaved one is real (tests/integration/test_capture)."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

import pytest

from pipelines.capture.sources.wal_tree import NoSuchDirectoryError, WalTreeEntry
from pipelines.capture.sources.webhdfs_files import WebHdfsLister
from pipelines.common.errors import UnavailableError, UsageError
from tests.labs.http_server import http_server

Answer = Callable[[dict[str, list[str]]], tuple[int, object]]


@contextmanager
def serving(answer: Answer) -> Iterator[WebHdfsLister]:
    """A server that gives the answer to every request; text is sent as it is, anything else as JSON."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answer(parse_qs(urlsplit(self.path).query))
            self.send_response(status)
            self.end_headers()
            self.wfile.write((body if isinstance(body, str) else json.dumps(body)).encode())

    with http_server(Handler) as port:
        yield WebHdfsLister([f"http://127.0.0.1:{port}"], "hdfs://ns1/hbase", "me", 300_000)


def statuses(*names: str) -> dict[str, object]:
    rows = [{"pathSuffix": name, "type": "FILE", "length": 1, "modificationTime": 2} for name in names]
    return {"FileStatuses": {"FileStatus": rows}}


def page(remaining: int, *names: str) -> dict[str, object]:
    return {"DirectoryListing": {"partialListing": statuses(*names), "remainingEntries": remaining}}


def error(kind: str) -> dict[str, object]:
    return {"RemoteException": {"exception": kind, "message": f"{kind} of the server"}}


def listing(lister: WebHdfsLister) -> list[WalTreeEntry]:
    return [entry for entries in lister.pages("oldWALs") for entry in entries]


@pytest.mark.parametrize(
    ("answer", "free"),
    [
        (
            {
                "GETSTATUS": {"FsStatus": {"remaining": 100}},
                "GETSERVERDEFAULTS": {"FsServerDefaults": {"replication": 3}},
            },
            33,
        ),
        ({}, None),
    ],
)
def test_the_free_space_is_divided_by_the_replication(answer: dict[str, object], free: int | None) -> None:
    def served(query: dict[str, list[str]]) -> tuple[int, object]:
        (operation,) = query["op"]
        return (200, answer[operation]) if answer else (400, error("IllegalArgumentException"))

    with serving(served) as lister:
        assert lister.free_bytes() == free


def test_pages_follow_each_other() -> None:
    def answer(query: dict[str, list[str]]) -> tuple[int, object]:
        return 200, page(0, "b%2C") if query.get("startafter") == ["a"] else page(1, "a")

    with serving(answer) as lister:
        assert [entry.name for entry in listing(lister)] == ["a", "b%2C"]


def test_a_server_that_lacks_pages_only_after_the_first_is_unavailable() -> None:
    """Another name node answers, of an older Hadoop: the whole directory would repeat the page that was read."""

    def answer(query: dict[str, list[str]]) -> tuple[int, object]:
        if query["op"] == ["LISTSTATUS"]:
            return 200, statuses("a", "b")
        return (400, error("IllegalArgumentException")) if query.get("startafter") else (200, page(1, "a"))

    with serving(answer) as lister, pytest.raises(UnavailableError, match="no longer knows LISTSTATUS_BATCH"):
        listing(lister)


def test_pages_are_in_the_order_of_hdfs_in_which_bytes_have_a_sign() -> None:
    def answer(query: dict[str, list[str]]) -> tuple[int, object]:
        return 200, page(0, "a") if query.get("startafter") == ["ä"] else page(1, "ä")

    with serving(answer) as lister:
        assert [entry.name for entry in listing(lister)] == ["ä", "a"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda _: (200, page(5, "a", "b")), "same page of /hbase/oldWALs again and again"),
        (lambda _: (200, page(5)), "empty page"),
        (lambda _: (200, "<html>a proxy</html>"), "check urls"),
        (lambda _: (200, []), "not WebHDFS"),
        (lambda _: (200, {"DirectoryListing": {}}), "not WebHDFS"),
        (lambda _: (502, "<html>bad gateway</html>"), "bad gateway|check urls"),
        (lambda _: (403, error("StandbyException")), "StandbyException of the server"),
        (lambda _: (500, error("RuntimeException")), "RuntimeException of the server"),
    ],
)
def test_an_answer_that_is_none_is_unavailable(answer: Answer, words: str) -> None:
    with serving(answer) as lister, pytest.raises(UnavailableError, match=words):
        listing(lister)


@pytest.mark.parametrize("kind", ["AccessControlException", "SecurityException"])
def test_no_permission_is_the_users_to_mend(kind: str) -> None:
    with serving(lambda _: (403, error(kind))) as lister, pytest.raises(UsageError, match="check user and permissions"):
        listing(lister)


@pytest.mark.parametrize(
    "answer",
    [
        (401, "<html>Authentication required</html>"),
        (403, "<html>GSSException: Clock skew too great</html>"),
        (
            403,
            {
                "RemoteException": {
                    "exception": "IOException",
                    "message": "Security enabled but user not authenticated by filter",
                }
            },
        ),
    ],
)
def test_a_server_with_kerberos_wants_a_ticket(answer: tuple[int, object]) -> None:
    with (
        serving(lambda _: answer) as lister,
        pytest.raises(UsageError, match=r"set kerberos: true.*use source: hadoop"),
    ):
        listing(lister)


def test_a_missing_directory_is_told_apart() -> None:
    with serving(lambda _: (404, error("FileNotFoundException"))) as lister, pytest.raises(NoSuchDirectoryError):
        listing(lister)


def test_without_the_batched_operation_directories_come_whole() -> None:
    def answer(query: dict[str, list[str]]) -> tuple[int, object]:
        batched = query["op"] == ["LISTSTATUS_BATCH"]
        return (400, error("IllegalArgumentException")) if batched else (200, statuses("a", "b"))

    with serving(answer) as lister:
        assert [entry.name for entry in listing(lister)] == ["a", "b"]
        assert [entry.name for entry in listing(lister)] == ["a", "b"]


def test_a_wal_root_needs_a_path() -> None:
    with pytest.raises(UsageError, match="has no path"):
        WebHdfsLister(["http://h:1"], "hdfs://ns1")
