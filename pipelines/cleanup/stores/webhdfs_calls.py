"""Single WebHDFS requests through the `hdfs` library, and many of them concurrently."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any, TypeVar

from hdfs import HdfsError, InsecureClient
from hdfs.client import _Request
from requests import JSONDecodeError, RequestException, Session
from requests.adapters import HTTPAdapter

from pipelines.cleanup.stores.store_failures import NOT_TRIED, Failure, parse_failure
from pipelines.cleanup.stores.wal_walk import Listed

_T = TypeVar("_T")
_R = TypeVar("_R")
_BLOCK = 1 << 16


class _Client(InsecureClient):  # type: ignore[misc] # hdfs ships no types
    """The library's client, with operations and parameters that it lacks."""

    file_status = _Request("GET").to_method("GETFILESTATUS")
    listing = _Request("GET").to_method("LISTSTATUS")
    renaming = _Request("PUT").to_method("RENAME")
    deleting = _Request("DELETE").to_method("DELETE")
    making = _Request("PUT").to_method("MKDIRS")

    def resolve(self, hdfs_path: str) -> str:
        """Returns the name unchanged; the library would replace `#LATEST` in it by the newest element."""
        return hdfs_path


class WebHdfsError(Exception):
    """A request that failed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


class WebHdfsCalls:
    """Requests about absolute paths; each raises WebHdfsError.

    Changes go to the name node that accepts them. After the first change, reads go only to that name node.

    Args:
        urls: `http://host:port` of every name node.
        user: `user.name`; None = the user of this process.
        timeout_ms: of each request.
        threads: number of concurrent requests.
    """

    def __init__(self, urls: Sequence[str], user: str | None, timeout_ms: int, threads: int) -> None:
        session = Session()
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(pool_connections=2 * len(urls), pool_maxsize=threads))
        self._session = session
        self._user, self._timeout = user, timeout_ms / 1000
        self._client = self._made(";".join(urls))
        self._reader = self._client
        self._threads = threads

    def status(self, path: str) -> Listed:
        """Returns what is at a path."""
        return self._ask(self._reader.file_status, path, lambda answer: _listed(answer["FileStatus"]))

    def elements(self, path: str) -> list[Listed]:
        """Returns all elements of a directory; a file has one element without a name."""
        return self._ask(
            self._reader.listing,
            path,
            lambda answer: [_listed(status) for status in answer["FileStatuses"]["FileStatus"]],
        )

    def rename(self, source: str, target: str, *, overwrite: bool = False) -> bool:
        """Renames as `FileContext.rename` does: never into a directory, and replacing only on request.

        Returns:
            False: the server does not know `renameoptions`, and renamed in its own way or did not rename.
        """
        options = "OVERWRITE" if overwrite else "NONE"
        response = self._send(self._client.renaming, source, destination=target, renameoptions=options)
        return not response.content  # the older rename answers {"boolean": …}

    def delete(self, path: str) -> None:
        """Deletes a file or an empty directory; a missing path is no error."""
        self._send(self._client.deleting, path, recursive="false")

    def make_directory(self, path: str) -> bool:
        """Creates a directory with its parents."""
        made = self._ask(self._client.making, path, lambda answer: bool(answer["boolean"]))
        self._read_from_writer()
        return made

    def write_new(self, path: str, text: str) -> None:
        """Creates a file with its parents, if it does not exist yet."""
        with _translated():
            self._client.write(path, data=text.encode("utf-8"), overwrite=False)
        self._read_from_writer()

    def read(self, path: str) -> str:
        """Returns the text of a whole file."""
        with _translated(), self._reader.read(path, chunk_size=_BLOCK) as blocks:
            return b"".join(blocks).decode("utf-8", "replace")

    def each(self, call: Callable[[_T], _R], elements: Iterable[_T]) -> list[_R | Failure]:
        """Calls for each element; the answers are in order, and a failure is the answer of its element.

        Once an element fails because the file system does not answer, the elements that have not begun are not tried.
        """
        broken = Event()

        def one(element: _T) -> _R | Failure:
            if broken.is_set():
                return parse_failure(NOT_TRIED)
            try:
                return call(element)
            except WebHdfsError as error:
                if error.failure.unavailable:
                    broken.set()
                return error.failure

        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(one, elements))

    def close(self) -> None:
        """Closes the connections."""
        self._session.close()

    def _send(self, operation: Callable[..., Any], path: str, **parameters: str) -> Any:  # noqa: ANN401 - a response
        with _translated():
            response = operation(path, **parameters)
        self._read_from_writer()
        return response

    def _made(self, urls: str) -> _Client:
        return _Client(urls, user=self._user, timeout=self._timeout, session=self._session)

    def _read_from_writer(self) -> None:
        """Sends reads from now on to the name node that has just accepted a change; the others may be behind it."""
        url = self._client._urls[0]  # noqa: SLF001 - the library has no other word for the one that answered
        if self._reader is self._client or self._reader.url != url:
            self._reader = self._made(url)

    def _ask(self, operation: Callable[..., Any], path: str, parse: Callable[[Any], _R]) -> _R:
        with _translated():
            return parse(operation(path).json())


@contextmanager
def _translated() -> Iterator[None]:
    """Translates exceptions of the library to WebHdfsError."""
    try:
        yield
    except HdfsError as error:
        text = next(iter(str(error).splitlines()), "")
        # for a 401 the library keeps no exception name
        kind = error.exception or ("SecurityException" if text.startswith("Authentication failure") else "HdfsError")
        raise WebHdfsError(Failure(kind, text)) from error
    except (JSONDecodeError, KeyError, TypeError) as error:  # a proxy's page, for example
        raise WebHdfsError(Failure("ConnectError", "an answer that is not of WebHDFS; check urls")) from error
    except RequestException as error:
        text = next(iter(str(error).splitlines()), "")
        raise WebHdfsError(Failure(type(error).__name__, text)) from error


def _listed(status: dict[str, Any]) -> Listed:
    kind = status["type"]
    name, length, modified = str(status["pathSuffix"]), int(status["length"]), int(status["modificationTime"])
    return Listed(name, kind == "FILE", kind == "DIRECTORY", length, modified)
