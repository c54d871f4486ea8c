"""Makes the clean-up's calls through WebHDFS, with the `hdfs` library."""

import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from hdfs import Client, HdfsError
from hdfs.client import _Request
from requests import JSONDecodeError, RequestException
from requests.adapters import HTTPAdapter

from pipelines.cleanup.paths import parse_uri
from pipelines.cleanup.stores.file_calls import FileCallError, check_file
from pipelines.cleanup.stores.store_failures import OTHER, Failure, failed, parse_failure
from pipelines.common.errors import UsageError
from pipelines.files.file_status import FileStatus
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.files.webhdfs_session import webhdfs_session

_R = TypeVar("_R")
_BLOCK = 1 << 16
_DELEGATION = re.compile(r"(delegation=)[^&\s']+")
"""The token with which a data node knows the user: whoever reads it is that user."""
_IGNORED = Failure("UnsupportedOperationException", "the server ignores renameoptions")


class _Client(Client):  # type: ignore[misc] # hdfs ships no types
    """The library's client with the operations and parameters that it lacks."""

    file_status = _Request("GET").to_method("GETFILESTATUS")
    listing = _Request("GET").to_method("LISTSTATUS")
    renaming = _Request("PUT").to_method("RENAME")
    deleting = _Request("DELETE").to_method("DELETE")
    making = _Request("PUT").to_method("MKDIRS")

    def resolve(self, hdfs_path: str) -> str:
        """Returns the path unchanged; the library would replace `#LATEST` in it by the newest element."""
        return hdfs_path


class WebHdfsCalls:
    """Implements `FileCalls` with WebHDFS requests.

    Changes go to the name node that accepts them. After the first change, reads go only to that name node: another one
    may be behind, also after a failover. Only the look before the next change may ask the others; whichever accepts the
    change gets the reads from then on.

    A rename carries `renameoptions`, so that the name node renames as `FileContext` does. HttpFS ignores them: this is
    detected before the first rename, and refused. Name nodes of Hadoop 3.1.2 and 3.2.0 read `%2C` in a path as `,`
    (HDFS-14423) and find no WAL at all; use `source: hadoop` there.

    Args:
        urls: the address `http://host:port` of every name node; an observer must not be among them.
        user: the value of `user.name`; None = the user of this process.
        timeout_ms: the timeout of each request.
        threads: the number of concurrent requests.
        kerberos: the JVM whose ticket is used; None = the name alone.
    """

    def __init__(
        self,
        urls: Sequence[str],
        user: str | None = None,
        timeout_ms: int = 60_000,
        threads: int = 8,
        kerberos: HadoopJvm | None = None,
    ) -> None:
        session = webhdfs_session(user, kerberos)
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(pool_connections=2 * len(urls), pool_maxsize=threads))
        self._session = session
        self._timeout = timeout_ms / 1000
        self._where = f"WebHDFS {', '.join(urls)}"
        self._client = self._made(";".join(urls))
        self._reader = self._client
        self._renames_safely = False
        self._proving = Lock()

    def status(self, uri: str) -> FileStatus:
        """See `FileCalls.status`."""
        return self._ask(self._reader.file_status, uri, _status)

    def status_before_change(self, uri: str) -> FileStatus:
        """See `SeveralNameNodes.status_before_change`."""
        try:
            return self.status(uri)
        except FileCallError as error:
            if not error.failure.unavailable:
                raise
            return self._ask(self._client.file_status, uri, _status)

    def pages(self, uri: str) -> Iterator[Sequence[FileStatus]]:
        """See `FileCalls.pages`; one answer has all elements. The path of a file yields one element without a name."""
        yield self._ask(
            self._reader.listing,
            uri,
            lambda answer: [_parsed(status) for status in answer["FileStatuses"]["FileStatus"] if status["pathSuffix"]],
        )

    def rename(self, source: str, target: str) -> None:
        """See `FileCalls.rename`; raises the errors of `_rename`."""
        self._rename(source, target, "NONE")

    def rename_file(self, source: str, target: str) -> None:
        """See `FileCalls.rename_file`."""
        check_file(self, source)
        self.rename(source, target)

    def replace(self, source: str, target: str) -> None:
        """See `FileCalls.replace`; raises the errors of `_rename`."""
        self._rename(source, target, "OVERWRITE")

    def delete_file(self, uri: str) -> None:
        """See `FileCalls.delete_file`."""
        check_file(self, uri)
        self._delete(uri)

    def delete_directory(self, uri: str) -> None:
        """See `FileCalls.delete_directory`."""
        if not self.status(uri).is_directory:
            raise FileCallError(parse_failure(OTHER))
        self._delete(uri)

    def make_directory(self, uri: str) -> None:
        """See `FileCalls.make_directory`."""
        made = self._ask(self._client.making, uri, lambda answer: bool(answer["boolean"]))
        self._read_from_writer()
        if not made:
            raise FileCallError(Failure("IOException", "it could not be made a directory"))

    def write_new(self, uri: str, text: str) -> None:
        """See `FileCalls.write_new`."""
        with _translated():
            self._client.write(_path(uri), data=text.encode("utf-8"), overwrite=False)
        self._read_from_writer()

    def read(self, uri: str) -> str:
        """See `FileCalls.read`."""
        with _translated(), self._reader.read(_path(uri), chunk_size=_BLOCK) as blocks:
            return b"".join(blocks).decode("utf-8", "replace")

    def close(self) -> None:
        """See `FileCalls.close`."""
        self._session.close()

    def _delete(self, uri: str) -> None:
        self._send(self._client.deleting, uri, recursive="false")

    def _rename(self, source: str, target: str, options: str) -> None:
        """Renames a path, after the server has proved that it knows `renameoptions`.

        Raises:
            UsageError: the server ignores them, so a rename could replace a file or end inside a directory.
            UnavailableError: the server does not say whether it knows them.
        """
        with self._proving:
            if not self._renames_safely:
                self._prove_rename(source)
        self._send_rename(source, target, options)

    def _send_rename(self, source: str, target: str, options: str) -> None:
        response = self._send(self._client.renaming, source, destination=_path(target), renameoptions=options)
        if response.content:  # the older rename, which does not know the options, answers {"boolean": …}
            raise FileCallError(_IGNORED)

    def _prove_rename(self, source: str) -> None:
        """Tests whether the server knows `renameoptions`, by renaming a name beside the source that does not exist.

        A name node that knows the options answers that there is no such file; HttpFS answers `false`.

        Raises:
            UsageError: the server ignores them.
            UnavailableError: the server does not say.
        """
        nobody = f"{source.rpartition('/')[0]}/.walsafe-{uuid.uuid4().hex}"
        try:
            self._send_rename(nobody, f"{nobody}.moved", "NONE")
        except FileCallError as error:
            if error.failure == _IGNORED:
                raise UsageError(
                    f"{self._where} ignores renameoptions, as HttpFS does: a rename could end elsewhere, so none was "
                    "tried. Give the addresses of the name nodes as urls, or use source: hadoop"
                ) from error
            if error.failure.kind == "FileNotFoundException":
                self._renames_safely = True
            elif error.failure.denied or error.failure.gone:  # proves nothing of other directories
                raise
            else:
                raise failed(error.failure, f"{self._where}: asking how it renames") from error

    def _send(self, operation: Callable[..., Any], uri: str, **parameters: str) -> Any:  # noqa: ANN401 - a response
        with _translated():
            response = operation(_path(uri), **parameters)
        self._read_from_writer()
        return response

    def _made(self, urls: str) -> _Client:
        return _Client(urls, timeout=self._timeout, session=self._session)

    def _read_from_writer(self) -> None:
        """Sends all further reads to the name node that has just accepted a change; the others may be behind it."""
        url = self._client._urls[0]  # noqa: SLF001 - the library has no other word for the one that answered
        if self._reader.url != url:
            self._reader = self._made(url)

    def _ask(self, operation: Callable[..., Any], uri: str, parse: Callable[[Any], _R]) -> _R:
        with _translated():
            return parse(operation(_path(uri)).json())


@contextmanager
def _translated() -> Iterator[None]:
    """Translates exceptions of the library into FileCallError."""
    try:
        yield
    except HdfsError as error:
        text = next(iter(str(error).splitlines()), "")
        # the library does not keep the exception name of a 401, and a refused ticket has none
        refused = text.startswith("Authentication failure") or "GSSException" in text
        kind = error.exception or ("SecurityException" if refused else "HdfsError")
        raise FileCallError(Failure(kind, text)) from error
    except (JSONDecodeError, KeyError, TypeError) as error:  # a proxy's page, for example
        raise FileCallError(Failure("ConnectError", "the answer does not come from WebHDFS; check urls")) from error
    except RequestException as error:
        text = _DELEGATION.sub(r"\1…", next(iter(str(error).splitlines()), ""))
        raise FileCallError(Failure(type(error).__name__, text)) from error


def _path(uri: str) -> str:
    return parse_uri(uri).path


def _status(answer: Any) -> FileStatus:  # noqa: ANN401 - JSON
    return _parsed(answer["FileStatus"])


def _parsed(status: dict[str, Any]) -> FileStatus:
    kind = status["type"]
    name, length, modified = str(status["pathSuffix"]), int(status["length"]), int(status["modificationTime"])
    return FileStatus(name, kind == "FILE", kind == "DIRECTORY", length, modified)
