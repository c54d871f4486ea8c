"""Servers that are not a name node; the name node is real (tests/integration/test_wal_store.py)."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

import pytest

from pipelines.cleanup.ports import Move
from pipelines.cleanup.stores.wal_store import FileSystemWalStore
from pipelines.cleanup.stores.webhdfs_calls import WebHdfsCalls
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError, UsageError
from tests.labs.http_server import http_server

ROOT = "hdfs://ns1/hbase"
OLD, QUARANTINE = f"{ROOT}/oldWALs", "hdfs://ns1/quarantine"
MOVE = Move(f"{OLD}/a", f"{QUARANTINE}/a")
Answer = Callable[[str, str], tuple[int, object]]


@contextmanager
def served(answer: Answer) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The URL of a server that answers by operation and path, and all it was asked."""
    asked: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            operation, path = parse_qs(parts.query)["op"][0], parts.path.removeprefix("/webhdfs/v1")
            asked.append((operation, path))
            status, body = answer(operation, path)
            self.send_response(status)
            if status == HTTPStatus.TEMPORARY_REDIRECT:
                self.send_header("Location", str(body))
            self.end_headers()
            self.wfile.write((body if isinstance(body, str) else json.dumps(body)).encode())

        do_PUT = do_DELETE = do_GET  # noqa: N815 - the names that http.server looks for

    with http_server(Handler) as port:
        yield f"http://127.0.0.1:{port}", asked


@contextmanager
def serving(answer: Answer) -> Iterator[tuple[FileSystemWalStore, list[tuple[str, str]]]]:
    """A store on a server that answers by operation and path, and all it was asked."""
    with served(answer) as (url, asked):
        store = FileSystemWalStore(WebHdfsCalls([url], "me", 300_000), ROOT, [OLD, QUARANTINE])
        try:
            yield store, asked
        finally:
            store.close()


def status(kind: str) -> dict[str, object]:
    return {"FileStatus": {"pathSuffix": "", "type": kind, "length": 1, "modificationTime": 2}}


def error(kind: str) -> tuple[int, object]:
    return 403, {"RemoteException": {"exception": kind, "message": f"{kind} of the server"}}


def everything_is_there(_operation: str, path: str) -> tuple[int, object]:
    return 200, status("FILE" if path.endswith("/a") else "DIRECTORY")


def test_a_server_that_renames_in_its_own_way_renames_nothing() -> None:
    """HttpFS answers a rename with `{"boolean": …}`, whatever options it was given."""

    def httpfs(operation: str, path: str) -> tuple[int, object]:
        return (200, {"boolean": False}) if operation == "RENAME" else everything_is_there(operation, path)

    with serving(httpfs) as (store, asked):
        with pytest.raises(UsageError, match="ignores renameoptions"):
            store.move([MOVE])
        with pytest.raises(UsageError, match="ignores renameoptions"):
            store.rename_directory(f"{QUARANTINE}/run", f"{QUARANTINE}/work")
    renamed = [path for operation, path in asked if operation == "RENAME"]
    assert [path.partition("-")[0] for path in renamed] == ["/hbase/oldWALs/.walsafe", "/quarantine/.walsafe"]


@pytest.mark.parametrize("kind", ["AccessControlException", "ParentNotDirectoryException"])
def test_what_proves_nothing_about_renames_renames_nothing(kind: str) -> None:
    def refuses(operation: str, path: str) -> tuple[int, object]:
        return error(kind) if operation == "RENAME" else everything_is_there(operation, path)

    with serving(refuses) as (store, asked):
        if kind == "AccessControlException":  # of all files: the user has no right to any
            with pytest.raises(UsageError, match="check the user"):
                store.move([MOVE])
        else:
            assert store.move([MOVE, MOVE]) == [f"{kind}: {kind} of the server"] * 2
    assert all("/.walsafe-" in path for operation, path in asked if operation == "RENAME")


def test_a_proxy_that_answers_the_question_about_renames_stops_the_call() -> None:
    def proxy(operation: str, path: str) -> tuple[int, object]:
        return (502, "<html>bad gateway</html>") if operation == "RENAME" else everything_is_there(operation, path)

    with serving(proxy) as (store, asked), pytest.raises(UnavailableError, match="asking how it renames"):
        store.move([MOVE] * 100)
    renamed = [path for operation, path in asked if operation == "RENAME"]
    assert len(renamed) < 20
    assert all("/.walsafe-" in path for path in renamed)


@pytest.mark.promise("nothing-else-is-touched")
def test_a_symbolic_link_on_the_way_is_refused() -> None:
    def linked(operation: str, path: str) -> tuple[int, object]:
        return (200, status("SYMLINK")) if path == "/quarantine" else everything_is_there(operation, path)

    def unresolved(operation: str, path: str) -> tuple[int, object]:
        return error("UnresolvedLinkException") if path == "/quarantine" else everything_is_there(operation, path)

    for answer in (linked, unresolved):
        with serving(answer) as (store, asked):
            with pytest.raises(RefusedError, match="quarantine is a symbolic link") as refused:
                store.move([MOVE])
            assert refused.value.condition is Condition.SYMBOLIC_LINK
            assert {operation for operation, _ in asked} == {"GETFILESTATUS"}


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (lambda *_: (200, "<html>a proxy</html>"), UnavailableError, "not come from WebHDFS"),
        (lambda *_: (200, []), UnavailableError, "not come from WebHDFS"),
        (lambda *_: (502, "<html>bad gateway</html>"), UnavailableError, "bad gateway|not come from WebHDFS"),
        (lambda *_: error("StandbyException"), UnavailableError, "StandbyException of the server"),
        (lambda *_: error("RuntimeException"), UnavailableError, "RuntimeException of the server"),
        (lambda *_: error("AccessControlException"), UsageError, "check the user"),
        (lambda *_: (401, "no"), UsageError, "Authentication"),
        (lambda *_: (403, "<html>GSSException: Clock skew too great</html>"), UsageError, "Clock skew too great"),
    ],
)
def test_not_to_know_is_never_gone(answer: Answer, kind: type[Exception], words: str) -> None:
    with serving(answer) as (store, _):
        for ask in (lambda: store.seen([MOVE.source]), lambda: store.names(OLD), lambda: store.read(MOVE.source)):
            with pytest.raises(kind, match=words):
                ask()
        with pytest.raises(kind, match=words):
            store.delete([MOVE.source])


def test_the_token_for_a_data_node_is_in_no_message() -> None:
    """Whoever has it is that user; a data node behind a firewall would bring it into the log."""

    def answer(operation: str, path: str) -> tuple[int, object]:
        elsewhere = f"http://127.0.0.1:1/webhdfs/v1{path}?op={operation}&delegation=SECRET&offset=0"
        return (307, elsewhere) if operation == "CREATE" else everything_is_there(operation, path)

    with serving(answer) as (store, _), pytest.raises(UnavailableError, match=r"delegation=…&offset") as failed:
        store.create(f"{QUARANTINE}/lease", "text")
    assert "SECRET" not in str(failed.value)


def test_nothing_more_is_tried_once_the_server_is_gone() -> None:
    def broken(operation: str, path: str) -> tuple[int, object]:
        return error("SafeModeException") if path.endswith("/a") else everything_is_there(operation, path)

    uris = [f"{OLD}/{index}/a" for index in range(500)]
    with serving(broken) as (store, asked), pytest.raises(UnavailableError, match="SafeModeException of the server"):
        store.delete(uris)
    assert sum(path.endswith("/a") for _, path in asked) < 50


@pytest.mark.promise("webhdfs-reads-after-its-changes")
def test_reads_go_to_the_name_node_that_took_the_last_change() -> None:
    """An observer, or a standby with dfs.ha.allow.stale.reads, answers reads, and refuses changes."""
    asked: dict[str, list[str]] = {"observer": [], "active": []}

    def named(name: str) -> Answer:
        def answer(operation: str, _path: str) -> tuple[int, object]:
            asked[name].append(operation)
            if operation == "GETFILESTATUS":
                return 200, status("FILE" if name == "active" else "DIRECTORY")
            return error("StandbyException") if name == "observer" else (200, {"boolean": True})

        return answer

    with served(named("observer")) as (observer, _), served(named("active")) as (active, _):
        calls = WebHdfsCalls([observer, active], "me", 300_000, 2)
        calls.make_directory(QUARANTINE)
        asked["observer"].clear()
        assert calls.status(MOVE.target).is_file
        calls._client._urls.rotate(-1)  # another change has found that name node out of reach for a moment
        assert calls.status(MOVE.target).is_file
        assert asked["observer"] == []
        calls.close()


@contextmanager
def two_name_nodes(may: dict[str, str]) -> Iterator[tuple[FileSystemWalStore, dict[str, list[str]]]]:
    """A store on two name nodes, and which operations each answered.

    Args:
        may: what each does now: `active`, `standby` (refuses all), `behind` (a standby that answers reads), `denies`
            (nobody may look), `linked` (every directory is a symbolic link).
    """
    answered: dict[str, list[str]] = {name: [] for name in may}

    def named(name: str) -> Answer:
        def answer(operation: str, path: str) -> tuple[int, object]:
            looks = operation == "GETFILESTATUS"
            if may[name] == "standby" or (may[name] == "behind" and not looks):
                return error("StandbyException")
            answered[name].append(operation)
            if looks and may[name] == "denies":
                return error("AccessControlException")
            if looks and may[name] == "linked":
                return 200, status("SYMLINK")
            return everything_is_there(operation, path) if looks else (200, {"boolean": True})

        return answer

    first, second = may
    with served(named(first)) as (one, _), served(named(second)) as (other, _):
        store = FileSystemWalStore(WebHdfsCalls([one, other], "me", 300_000, 2), ROOT, [OLD, QUARANTINE])
        try:
            yield store, answered
        finally:
            store.close()


@pytest.mark.promise("webhdfs-reads-after-its-changes")
def test_a_job_goes_on_with_the_name_node_that_has_become_active() -> None:
    may = {"nn1": "active", "nn2": "standby"}
    with two_name_nodes(may) as (store, answered):
        for active, standby in (("nn1", "nn2"), ("nn2", "nn1"), ("nn1", "nn2")):
            may.update({active: "active", standby: "standby"})
            answered[active].clear()
            store.make_directories([f"{QUARANTINE}/new"])
            store.seen([MOVE.target])
            assert answered[active][-2:] == ["MKDIRS", "GETFILESTATUS"]


def test_a_symbolic_link_stops_a_job_also_where_another_name_node_tells_of_it() -> None:
    may = {"nn1": "active", "nn2": "standby"}
    with two_name_nodes(may) as (store, answered):
        store.make_directories([f"{QUARANTINE}/new"])
        may.update({"nn1": "standby", "nn2": "linked"})
        with pytest.raises(RefusedError, match="is a symbolic link"):
            store.make_directories([f"{QUARANTINE}/new"])
        assert "MKDIRS" not in answered["nn2"]


def test_a_name_node_that_answers_is_asked_once() -> None:
    may = {"nn1": "active", "nn2": "active"}
    with two_name_nodes(may) as (store, answered):
        store.make_directories([f"{QUARANTINE}/new"])
        looks = answered["nn1"].count("GETFILESTATUS")
        may["nn1"] = "denies"
        answered["nn1"].clear()
        store.make_directories([f"{QUARANTINE}/new"])
        assert (answered["nn1"].count("GETFILESTATUS"), answered["nn2"]) == (looks, [])


@pytest.mark.promise("webhdfs-reads-after-its-changes")
@pytest.mark.parametrize("gone", ["standby", "behind"])
def test_no_other_name_node_says_where_a_file_is_before_it_took_a_change(gone: str) -> None:
    """It may be behind: a standby with dfs.ha.allow.stale.reads, or one that becomes active only now."""
    may = {"nn1": "active", "nn2": "standby"}
    with two_name_nodes(may) as (store, answered):
        store.make_directories([f"{QUARANTINE}/new"])
        may.update({"nn1": "standby", "nn2": "active" if gone == "standby" else "behind"})
        looks: list[Callable[[], object]] = [
            lambda: store.seen([MOVE.source]),
            lambda: store.names(QUARANTINE),
            lambda: list(store.walk(OLD)),
            lambda: store.read(MOVE.source),
        ]
        for look in looks:
            with pytest.raises(UnavailableError, match="StandbyException"):
                look()
        assert answered["nn2"] == []
        if gone == "behind":
            with pytest.raises(UnavailableError, match="StandbyException"):
                store.make_directories([f"{QUARANTINE}/new"])
            with pytest.raises(UnavailableError, match="StandbyException"):
                store.seen([MOVE.source])
        else:
            store.make_directories([f"{QUARANTINE}/new"])
            store.seen([MOVE.source])
