"""Which requests each call through WebHDFS sends, and how it reads the answers.

The name node is real in tests/integration/test_wal_store.py; odd servers: test_webhdfs_wal_store.py.
"""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import pytest

from pipelines.cleanup.holder import LeaseHolder
from pipelines.cleanup.quarantine import Quarantine
from pipelines.cleanup.stores.file_calls import FileCallError
from pipelines.cleanup.stores.wal_store import FileSystemWalStore
from pipelines.cleanup.stores.webhdfs_calls import WebHdfsCalls
from pipelines.common.errors import UnavailableError, UsageError
from pipelines.files.file_status import FileStatus

ROOT = "hdfs://ns1/hbase"
WAL = "h1%2C16020 é#LATEST"
FILE = {"type": "FILE", "length": 7, "modificationTime": 9}
DIRECTORY, LINK = FILE | {"type": "DIRECTORY", "length": 0}, FILE | {"type": "SYMLINK"}


class Server:
    """Answers by operation and path, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        self.bodies: list[bytes] = []
        self.kinds: dict[str, dict[str, object]] = {"/hbase/dir": DIRECTORY, "/hbase/link": LINK}
        self.answers: dict[str, tuple[int, object]] = {}
        handler = self._handler()
        self.http = HTTPServer(("127.0.0.1", 0), handler)
        self.http.handle_error = lambda *_: None  # type: ignore[method-assign] # a client that went away
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, operation: str, path: str, parameters: dict[str, str]) -> tuple[int, object]:
        if operation in self.answers:
            return self.answers[operation]
        if operation == "GETFILESTATUS":
            return 200, {"FileStatus": {"pathSuffix": "", **self.kinds.get(path, FILE)}}
        if operation == "RENAME":
            missing = "/.walsafe-" in path
            return refused("FileNotFoundException") if missing else (200, "")
        if operation == "CREATE" and "to" not in parameters:
            return 307, f"{self.url}/webhdfs/v1{quote(path)}?op=CREATE&to=data"
        if operation == "OPEN":
            return 200, "text é"
        return (201, "") if operation == "CREATE" else (200, {"boolean": True})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                parameters = dict(parse_qsl(parts.query))
                operation, path = parameters.pop("op"), unquote(parts.path.removeprefix("/webhdfs/v1"))
                length = int(self.headers.get("Content-Length") or 0)
                if self.headers.get("Transfer-Encoding") == "chunked":
                    while size := int(self.rfile.readline(), 16):
                        server.bodies.append(self.rfile.read(size))
                        self.rfile.readline()
                    self.rfile.readline()
                elif length:
                    server.bodies.append(self.rfile.read(length))
                server.asked.append((f"{self.command} {operation}", path, parameters))
                status, body = server.answer(operation, path, parameters)
                self.send_response(status)
                if status == 307:
                    self.send_header("Location", str(body))
                    body = ""
                data = (body if isinstance(body, str) else json.dumps(body)).encode()
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_PUT = do_DELETE = do_GET  # noqa: N815 - the names that http.server looks for

            def log_message(self, *_args: object) -> None:
                """Not in the tests' output."""

        return Handler

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


def refused(kind: str) -> tuple[int, object]:
    return 403, {"RemoteException": {"exception": kind, "message": f"{kind} of the server\nat a.line"}}


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.close()


@pytest.fixture
def calls(server: Server) -> Iterator[WebHdfsCalls]:
    found = WebHdfsCalls([server.url], "me", 300_000)
    yield found
    found.close()


ME = {"user.name": "me"}


def kind(call: Callable[[], object]) -> str:
    with pytest.raises(FileCallError) as error:
        call()
    return error.value.failure.kind


def test_what_is_at_a_path(server: Server, calls: WebHdfsCalls) -> None:
    assert calls.status(f"{ROOT}/{WAL}") == FileStatus("", True, False, 7, 9)
    assert server.asked == [("GET GETFILESTATUS", f"/hbase/{WAL}", ME)]
    assert calls.status(f"{ROOT}/dir") == FileStatus("", False, True, 0, 9)
    assert calls.status(f"{ROOT}/link") == FileStatus("", False, False, 7, 9)
    server.answers["GETFILESTATUS"] = refused("FileNotFoundException")
    with pytest.raises(FileCallError) as error:
        calls.status(f"{ROOT}/a")
    assert error.value.failure.text == "FileNotFoundException: FileNotFoundException of the server"


def test_a_listing_is_one_page_without_the_file_itself(server: Server, calls: WebHdfsCalls) -> None:
    entries = [{"pathSuffix": WAL, **FILE}, {"pathSuffix": "dir", **DIRECTORY}, {"pathSuffix": "", **FILE}]
    server.answers["LISTSTATUS"] = 200, {"FileStatuses": {"FileStatus": entries}}
    assert list(calls.pages(f"{ROOT}/dir")) == [
        [FileStatus(WAL, True, False, 7, 9), FileStatus("dir", False, True, 0, 9)]
    ]
    assert server.asked == [("GET LISTSTATUS", "/hbase/dir", ME)]


def test_a_rename_proves_once_that_the_server_renames_safely(server: Server, calls: WebHdfsCalls) -> None:
    calls.rename(f"{ROOT}/dir", f"{ROOT}/new")
    calls.rename_file(f"{ROOT}/{WAL}", f"{ROOT}/b")
    (proof, *rest) = server.asked
    assert proof[0] == "PUT RENAME"
    assert proof[1].startswith("/hbase/.walsafe-")
    assert proof[2] == {**ME, "destination": f"{proof[1]}.moved", "renameoptions": "NONE"}
    assert rest == [
        ("PUT RENAME", "/hbase/dir", {**ME, "destination": "/hbase/new", "renameoptions": "NONE"}),
        ("GET GETFILESTATUS", f"/hbase/{WAL}", ME),
        ("PUT RENAME", f"/hbase/{WAL}", {**ME, "destination": "/hbase/b", "renameoptions": "NONE"}),
    ]
    calls.replace(f"{ROOT}/a", f"{ROOT}/b")
    assert server.asked[-1] == (
        "PUT RENAME",
        "/hbase/a",
        {**ME, "destination": "/hbase/b", "renameoptions": "OVERWRITE"},
    )
    server.answers["RENAME"] = 200, {"boolean": True}
    assert kind(lambda: calls.replace(f"{ROOT}/a", f"{ROOT}/b")) == "UnsupportedOperationException"


class HttpFs(Server):
    """Renames in its own way, whatever options it is given."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        super().__init__()

    def answer(self, operation: str, path: str, parameters: dict[str, str]) -> tuple[int, object]:
        if operation == "GETFILESTATUS":
            return 200, {"FileStatus": {"pathSuffix": "", **(FILE if path in self.files else DIRECTORY)}}
        there = path in self.files
        if operation in ("RENAME", "DELETE"):
            self.files.discard(path)
        if operation == "RENAME" and there:
            self.files.add(parameters["destination"])
        if operation == "CREATE":
            self.files.add(path)
        return (200, {"boolean": there}) if operation == "RENAME" else super().answer(operation, path, parameters)


def test_a_job_on_httpfs_ends_before_its_lease_and_leaves_no_file() -> None:
    """Its first rename puts a probe in its place: no WAL has been renamed yet."""
    server = HttpFs()
    store = FileSystemWalStore(WebHdfsCalls([server.url], "me", 300_000), ROOT, ["hdfs://ns1/quarantine"])
    holder = LeaseHolder(store, Quarantine("hdfs://ns1/quarantine", "prod"), "me@edge clean 1", 10_000)
    with pytest.raises(UsageError, match="ignores renameoptions, as HttpFS does"), holder:
        pass
    store.close()
    server.close()
    assert server.files == set()


class Shared(Server):
    """One of two name nodes of one file system, which has directories and files; only the active one answers."""

    def __init__(self, files: dict[str, dict[str, object]], active: list["Shared"]) -> None:
        self.files = files
        self.active = active
        super().__init__()

    def answer(self, operation: str, path: str, parameters: dict[str, str]) -> tuple[int, object]:
        if self not in self.active:
            return refused("StandbyException")
        if operation == "CREATE":
            self.files[path] = FILE | {"text": b"".join(self.bodies).decode()}
            self.bodies.clear()
        if operation == "OPEN":
            return 200, self.files[path]["text"]
        if operation == "MKDIRS":
            self.files[path] = DIRECTORY
        if operation in ("GETFILESTATUS", "LISTSTATUS", "RENAME", "DELETE") and path not in self.files:
            return refused("FileNotFoundException")
        if operation == "GETFILESTATUS":
            return 200, {"FileStatus": {"pathSuffix": "", **self.files[path]}}
        if operation == "LISTSTATUS":
            below = [name for name in self.files if name.rpartition("/")[0] == path]
            found = [{"pathSuffix": name.rpartition("/")[2], **self.files[name]} for name in below]
            return 200, {"FileStatuses": {"FileStatus": found}}
        if operation == "RENAME":
            self.files[parameters["destination"]] = self.files.pop(path)
        if operation == "DELETE":
            del self.files[path]
        return super().answer(operation, path, parameters)


@pytest.mark.parametrize("gone", ["standby", "down"])
def test_a_job_under_which_the_name_node_fails_over_gives_its_lease_back(gone: str) -> None:
    """The look that comes first after the failover ends the job; the next job need not wait for the lease."""
    files: dict[str, dict[str, object]] = {"/quarantine": DIRECTORY}
    active: list[Shared] = []
    first, second = (Shared(files, active) for _ in range(2))
    active.append(first)

    def holder(name: str) -> tuple[FileSystemWalStore, LeaseHolder]:
        calls = WebHdfsCalls([first.url, second.url], "me", 300_000)
        store = FileSystemWalStore(calls, ROOT, ["hdfs://ns1/quarantine"])
        return store, LeaseHolder(store, Quarantine("hdfs://ns1/quarantine", "prod"), name, 10_000)

    store, one = holder("me@edge clean 1")

    def work() -> None:
        with one:
            active[:] = [second]
            if gone == "down":
                first.close()
            store.seen([f"{ROOT}/oldWALs/a"])

    with pytest.raises(UnavailableError, match="looking at 1 paths"):
        work()
    store.close()
    store, other = holder("me@edge clean 2")
    with other:
        assert other.number == one.number + 1
    store.close()
    second.close()
    if gone != "down":
        first.close()


def test_only_a_missing_file_proves_how_the_server_renames(server: Server, calls: WebHdfsCalls) -> None:
    for name in ("AccessControlException", "ParentNotDirectoryException", "NoSuchFileException"):
        server.answers["RENAME"] = refused(name)
        assert kind(lambda: calls.rename(f"{ROOT}/dir", f"{ROOT}/new")) == name
    server.answers["RENAME"] = refused("QuotaException")
    with pytest.raises(UnavailableError, match=rf"^WebHDFS {server.url}: asking how it renames: QuotaException"):
        calls.rename(f"{ROOT}/dir", f"{ROOT}/new")
    server.answers["RENAME"] = 200, ""
    calls.rename(f"{ROOT}/dir", f"{ROOT}/new")
    assert [path for operation, path, _ in server.asked if "/.walsafe-" not in path] == ["/hbase/dir"]


@pytest.mark.parametrize("name", ["dir", "link"])
def test_only_files_are_renamed_and_deleted_as_files(server: Server, calls: WebHdfsCalls, name: str) -> None:
    assert kind(lambda: calls.rename_file(f"{ROOT}/{name}", f"{ROOT}/b")) == "NotAFile"
    assert kind(lambda: calls.delete_file(f"{ROOT}/{name}")) == "NotAFile"
    assert {operation for operation, _, _ in server.asked} == {"GET GETFILESTATUS"}


def test_nothing_is_deleted_with_what_is_in_it(server: Server, calls: WebHdfsCalls) -> None:
    calls.delete_file(f"{ROOT}/{WAL}")
    calls.delete_directory(f"{ROOT}/dir")
    deleted = [(path, parameters) for operation, path, parameters in server.asked if operation == "DELETE DELETE"]
    assert deleted == [(path, {**ME, "recursive": "false"}) for path in (f"/hbase/{WAL}", "/hbase/dir")]
    for name in ("a", "link"):
        assert kind(lambda name=name: calls.delete_directory(f"{ROOT}/{name}")) == "NotAFile"  # type: ignore[misc]
    assert len([one for one in server.asked if one[0] == "DELETE DELETE"]) == 2


def test_a_directory_is_made_or_it_is_said(server: Server, calls: WebHdfsCalls) -> None:
    calls.make_directory(f"{ROOT}/new")
    assert server.asked == [("PUT MKDIRS", "/hbase/new", ME)]
    server.answers["MKDIRS"] = 200, {"boolean": False}
    with pytest.raises(FileCallError, match="could not be made a directory"):
        calls.make_directory(f"{ROOT}/new")


def test_a_new_file_replaces_none(server: Server, calls: WebHdfsCalls) -> None:
    calls.write_new(f"{ROOT}/{WAL}", "text é")
    (first, second) = server.asked
    assert first[:2] == ("PUT CREATE", f"/hbase/{WAL}")
    assert (first[2]["user.name"], first[2]["overwrite"].lower()) == ("me", "false")
    assert second == ("PUT CREATE", f"/hbase/{WAL}", {**ME, "to": "data"})
    assert b"".join(server.bodies) == "text é".encode()
    server.answers["CREATE"] = refused("FileAlreadyExistsException")
    assert kind(lambda: calls.write_new(f"{ROOT}/a", "x")) == "FileAlreadyExistsException"


def test_a_file_is_read_whole(server: Server, calls: WebHdfsCalls) -> None:
    assert calls.read(f"{ROOT}/{WAL}") == "text é"
    assert [one[:2] for one in server.asked] == [("GET OPEN", f"/hbase/{WAL}")]
    server.answers["OPEN"] = 200, "é" * 100_000
    assert calls.read(f"{ROOT}/a") == "é" * 100_000
    server.answers["OPEN"] = refused("AccessControlException")
    assert kind(lambda: calls.read(f"{ROOT}/a")) == "AccessControlException"


CHANGES: dict[str, Callable[[WebHdfsCalls], object]] = {
    "make": lambda calls: calls.make_directory(f"{ROOT}/new"),
    "write": lambda calls: calls.write_new(f"{ROOT}/new", "x"),
    "rename": lambda calls: calls.replace(f"{ROOT}/a", f"{ROOT}/b"),
    "delete": lambda calls: calls.delete_file(f"{ROOT}/a"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.promise("webhdfs-reads-after-its-changes")
def test_after_every_change_reads_go_to_who_took_it(server: Server, change: str) -> None:
    other = Server()
    refuses = refused("StandbyException")
    other.answers = dict.fromkeys(("MKDIRS", "CREATE", "RENAME", "DELETE"), refuses)
    calls = WebHdfsCalls([other.url, server.url], "me", 300_000)
    try:
        calls.status(f"{ROOT}/a")
        assert len(other.asked) == 1
        CHANGES[change](calls)
        reader: Any = calls._reader
        calls._client._urls.rotate(-1)  # another change has found that name node out of reach for a moment
        other.asked.clear()
        calls.status(f"{ROOT}/a")
        calls.read(f"{ROOT}/a")
        assert other.asked == []
        CHANGES[change](calls)
        assert calls._reader is reader
    finally:
        calls.close()
        other.close()


def test_no_connection_stays_open(calls: WebHdfsCalls) -> None:
    calls.status(f"{ROOT}/a")
    adapter: Any = calls._session.get_adapter("http://")
    assert len(adapter.poolmanager.pools) == 1
    calls.close()
    assert len(adapter.poolmanager.pools) == 0


def test_a_server_that_is_away_is_named(server: Server, calls: WebHdfsCalls) -> None:
    server.close()
    with pytest.raises(FileCallError) as error:
        calls.status(f"{ROOT}/a")
    assert error.value.failure.unavailable
    assert "\n" not in error.value.failure.message


def test_a_server_that_takes_too_long_is_away(server: Server) -> None:
    waiting = threading.Event()
    server.answer = lambda *_: (waiting.wait(60), (200, ""))[1]  # type: ignore[method-assign]
    calls = WebHdfsCalls([server.url], "me", 50)
    assert "Timeout" in kind(lambda: calls.status(f"{ROOT}/a"))
    waiting.set()
    calls.close()
