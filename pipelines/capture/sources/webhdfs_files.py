"""Lists directories through WebHDFS or HttpFS, with the `hdfs` library."""

import logging
import re
from collections.abc import Iterator, Sequence
from typing import Any

from hdfs import Client, HdfsError
from hdfs.client import _Request
from requests import RequestException

from pipelines.capture.sources.wal_tree import NoSuchDirectoryError, WalTreeEntry
from pipelines.common.errors import UnavailableError, UsageError
from pipelines.files.hadoop_jvm import LOG_IN, HadoopJvm
from pipelines.files.webhdfs_session import webhdfs_session
from pipelines.hbase.server_names import MAX_LONG

logger = logging.getLogger(__name__)

_WANTS_KERBEROS = ("Authentication failure", "Security enabled but user not authenticated", "GSSException")
"""The library's words for a 401, those of a name node whose HTTP filter asks for no ticket, and of one that refuses."""
_KERBEROS = "This HDFS asks for Kerberos: set kerberos: true in capture.files, or use source: hadoop"
_PATH_OF_URI = re.compile(r"[^:/]+://[^/]*(/.*)")


class _PagingClient(Client):  # type: ignore[misc] # hdfs ships no types
    """The library's client with the operations that are used here, of which the library lacks some."""

    list_status_batch = _Request("GET").to_method("LISTSTATUS_BATCH")
    list_status = _Request("GET").to_method("LISTSTATUS")
    get_status = _Request("GET").to_method("GETSTATUS")
    get_server_defaults = _Request("GET").to_method("GETSERVERDEFAULTS")


class WebHdfsLister:
    """Lists directories through WebHDFS; a `DirectoryLister`.

    A standby name node refuses to answer, and the library tries the next one. An observer answers, perhaps with an
    older state, so it must not be among the URLs.

    Args:
        urls: the address `http://host:port` of every name node.
        wal_root: a full URI, of which only the path is used.
        user: the value of `user.name`; None = the user of this process.
        timeout_ms: the limit of each request.
        kerberos: the JVM whose ticket is used; None = the name alone.
    """

    def __init__(
        self,
        urls: Sequence[str],
        wal_root: str,
        user: str | None = None,
        timeout_ms: int = 60_000,
        kerberos: HadoopJvm | None = None,
    ) -> None:
        match = _PATH_OF_URI.fullmatch(wal_root)
        if match is None:
            raise UsageError(f"wal_root {wal_root} has no path; write it like hdfs://ns1/hbase")
        self._path = match.group(1)
        self._where = f"WebHDFS {', '.join(urls)}"
        self._kerberos = kerberos is not None
        session = webhdfs_session(user, kerberos)
        self._client = _PagingClient(";".join(urls), timeout=timeout_ms / 1000, session=session)
        self._batched = True

    def pages(self, directory: str) -> Iterator[Sequence[WalTreeEntry]]:
        """See `DirectoryLister.pages`."""
        path = f"{self._path}/{directory}"
        first, last = None, ""
        while self._batched:
            page, remaining = self._batch(path, last)
            if page is None:
                if last:
                    raise UnavailableError(
                        f"{self._where} no longer knows LISTSTATUS_BATCH after a page of {path}; try again"
                    )
                logger.info("%s lacks LISTSTATUS_BATCH: each directory comes in one answer", self._where)
                self._batched = False
                break
            if page and page[0].name == first:
                # Hadoop reads `startafter`, its documentation says `startAfter`; a server that ignores
                # both sends the first page again. A name that sorts lower is no sign of it: in HDFS, bytes are signed
                raise UnavailableError(
                    f"{self._where} sends the same page of {path} again and again; use files.source: hadoop"
                )
            if page:
                yield page
                first, last = page[0].name, page[-1].name
            if remaining == 0:
                return
            if not page:
                raise UnavailableError(
                    f"{self._where} sends an empty page of {path} and reports that more elements follow; try again"
                )
        yield self._whole(path)

    def free_bytes(self) -> int | None:
        """See `DirectoryLister.free_bytes`; None from a Hadoop before 3.4.0, whose WebHDFS has no GETSTATUS."""
        try:
            remaining = int(self._ask(self._path, "get_status", {})["FsStatus"]["remaining"])
            replication = int(self._ask(self._path, "get_server_defaults", {})["FsServerDefaults"]["replication"])
        except HdfsError as error:
            logger.info("%s does not say how much is free: %s", self._where, _short(error))
            return None
        except (KeyError, TypeError, ValueError) as error:
            raise self._strange(self._path) from error
        return remaining // max(replication, 1)

    def _batch(self, path: str, last: str) -> tuple[list[WalTreeEntry] | None, int]:
        """Returns one page and the number of elements left; no page if the operation is unknown."""
        after = {"startAfter": last, "startafter": last} if last else {}
        try:
            document = self._ask(path, "list_status_batch", after)
        except HdfsError as error:
            if error.exception in {"IllegalArgumentException", "UnsupportedOperationException"}:
                return None, 0
            raise self._translated(error, path) from error
        try:
            listing = document["DirectoryListing"]
            return _entries(listing["partialListing"]), int(listing["remainingEntries"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._strange(path) from error

    def _whole(self, path: str) -> list[WalTreeEntry]:
        try:
            return _entries(self._ask(path, "list_status", {}))
        except HdfsError as error:
            raise self._translated(error, path) from error
        except (KeyError, TypeError, ValueError) as error:
            raise self._strange(path) from error

    def _ask(self, path: str, operation: str, parameters: dict[str, str]) -> Any:  # noqa: ANN401 - JSON
        try:
            return getattr(self._client, operation)(path, **parameters).json()
        except (RequestException, KeyError, TypeError) as error:  # a body that does not have WebHDFS's form
            raise UnavailableError(f"{self._where}, {path}: {_short(error)}; check urls, then try again") from error

    def _translated(self, error: HdfsError, path: str) -> Exception:
        if error.exception == "FileNotFoundException":
            return NoSuchDirectoryError(path)
        text = f"{self._where}, {path}: {_short(error)}"
        if any(sign in text for sign in _WANTS_KERBEROS):
            way = f"It did not accept the ticket. {LOG_IN}" if self._kerberos else _KERBEROS
            return UsageError(f"{text}. {way}")
        if error.exception in {"AccessControlException", "SecurityException"}:
            return UsageError(f"{text}; check user and permissions")
        return UnavailableError(f"{text}; try again")

    def _strange(self, path: str) -> UnavailableError:
        return UnavailableError(f"{self._where} answers in a form that is not WebHDFS's for {path}; check urls")


def _entries(listing: dict[str, Any]) -> list[WalTreeEntry]:
    return [_entry(status) for status in listing["FileStatuses"]["FileStatus"]]


def _entry(status: dict[str, Any]) -> WalTreeEntry:
    name, kind = status["pathSuffix"], status["type"]
    numbers = (status["length"], status["modificationTime"])
    if not isinstance(name, str) or not all(isinstance(number, int) and 0 <= number <= MAX_LONG for number in numbers):
        raise TypeError(f"not a FileStatus: {str(status)[:120]!r}")
    return WalTreeEntry(name, kind == "DIRECTORY", *numbers)


def _short(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:300]
