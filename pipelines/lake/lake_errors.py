"""Turns errors of a Delta table into errors that tell the user what to do, and retries rejected commits.

Errors of Delta and Hadoop arrive in Python as captured exceptions or as raw `Py4JJavaError`s, depending on the class.
Both contain the error condition or the Java class name in their text, so the functions below search the text.
"""

import logging
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from pipelines.common.errors import UnavailableError, UsageError, WalsafeError

_LOG = logging.getLogger(__name__)
_RANDOM = random.SystemRandom()
_CONFLICT = re.compile(
    r"DELTA_CONCURRENT_|DELTA_METADATA_CHANGED|DELTA_PROTOCOL_CHANGED|io\.delta\.exceptions\."
    r"(Concurrent\w+|MetadataChanged|ProtocolChanged)|ConcurrentModificationException"
)
_DAMAGED_LOG = (
    r"FAILED_READ_FILE[^\n]*_delta_log|DELTA_(VERSIONS_NOT_CONTIGUOUS|TRUNCATED_TRANSACTION_LOG|STATE_RECOVER|LOG_FILE"
    r"|MISSING_PART_FILES|SCHEMA_NOT_SET)|EXPRESSION_DECODING_FAILED"
)
# messages of the Parquet reader about damaged content; an error of the file system during a read has other messages
_DAMAGED_FILE = (
    r"is not a Parquet file|can not read class org\.apache\.parquet\.format|ParquetDecodingException|ZstdIOException"
    r"|(Caused by|^): (org\.apache|shaded)\.parquet\."
)
_NO_ANSWER = (
    r"\bjava\.(net|io|nio)\.[\w.]*(Exception|Error)\b"
    r"|org\.apache\.hadoop\.(ipc|fs|hdfs|security)\.[\w.]*(Exception|Error)"
)
NO_TABLE = "there is no such table: check --lake, or let reconcile run there first"
_KNOWN: tuple[tuple[str, type[UsageError] | type[UnavailableError], str], ...] = (
    (
        r"No space left on device|QuotaExceeded|[Dd]isk quota",
        UnavailableError,
        "its disk is full or over quota: free some space",
    ),
    (
        r"DELTA_MISSING_DELTA_TABLE|DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION|DELTA_TABLE_NOT_FOUND",
        UsageError,
        "the folder holds other files and no Delta table: give --lake a folder of its own",
    ),
    (r"PATH_NOT_FOUND", UsageError, NO_TABLE),
    (
        r"DELTA_INVALID_PROTOCOL|DELTA_UNSUPPORTED_(FEATURES|PROTOCOL)|InvalidProtocolVersion",
        UsageError,
        "a newer Delta wrote it: use a walsafe with that version, or another --lake",
    ),
    (
        _DAMAGED_LOG,
        UsageError,
        "its transaction log is damaged: restore it from a backup; docs/runbook.md says which tables you may move away",
    ),
    (
        r"FAILED_READ_FILE\.FILE_NOT_EXIST|DELTA_FILE_NOT_FOUND",
        UsageError,
        "a data file is gone that its transaction log names: restore it from a backup",
    ),
    (_DAMAGED_FILE, UsageError, "a data file is damaged: restore it from a backup"),
    (r"No FileSystem for scheme|UnsupportedFileSystem", UsageError, "Spark has no file system for that URI"),
    (
        r"AccessControlException|Permission denied|AccessDenied",
        UsageError,
        "this user may not do that there: check owner and permissions",
    ),
    (r"DELTA_CANNOT_CREATE_LOG_PATH", UsageError, "the folder cannot be made: check the path and its permissions"),
    (
        _NO_ANSWER,
        UnavailableError,
        "the file system did not answer as it should: try again",
    ),
)
_CAUSE = re.compile(r"^Caused by: (.+)$", re.MULTILINE)
_RAISED = re.compile(r"^: (.+)$", re.MULTILINE)


def is_conflict(error: Exception) -> bool:
    """Returns whether Delta rejected the commit because another came first; nothing was written, a retry may work."""
    return _CONFLICT.search(str(error)) is not None


def is_damaged_file(error: Exception) -> bool:
    """Returns whether Spark could not read what is in a Parquet file; False if it could not get at the file."""
    text = str(error)
    if re.search(_DAMAGED_FILE, text):
        return True
    return "FAILED_READ_FILE" in text and re.search(_NO_ANSWER, text) is None


def lake_error(error: Exception, location: str) -> WalsafeError | None:
    """Returns the error that tells the user what to do about this table, or None if the lake is not the cause."""
    text = str(error)
    if is_conflict(error):
        return None
    for pattern, kind, way_out in _KNOWN:
        if re.search(pattern, text):
            return kind(f"Delta table {location}: {way_out} ({_shortly(text)})")
    return None


@contextmanager
def lake_errors(location: str) -> Iterator[None]:
    """Turns errors of a table at `location` into `UsageError` and `UnavailableError`; other errors pass unchanged."""
    try:
        yield
    except WalsafeError:
        raise
    except Exception as error:
        known = lake_error(error, location)
        if known is None:
            raise
        raise known from error


def retry_commit(
    location: str,
    commit: Callable[[], object],
    attempts: int,
    errors: Callable[[str], AbstractContextManager[None]] = lake_errors,
) -> None:
    """Commits to the table at `location`; tries again while other runs commit first, as nothing is written then.

    Raises:
        UnavailableError: other runs committed first in every attempt.
    """
    for attempt in range(1, attempts + 1):
        try:
            with errors(location):
                commit()
            return
        except Exception as error:
            if not is_conflict(error):
                raise
            if attempt == attempts:
                raise UnavailableError(
                    f"Delta table {location}: other runs kept committing for {attempts} attempts; try again when they "
                    "have ended"
                ) from error
        pause = _RANDOM.uniform(0.1, min(15.0, 0.25 * 2**attempt))
        _LOG.info("%s: another run committed first, attempt %d, waiting %.1f s", location, attempt, pause)
        time.sleep(pause)


def _shortly(text: str) -> str:
    found = _CAUSE.findall(text)[-1:] or _RAISED.findall(text)[:1] or text.strip().splitlines()[:1]
    return found[0][:300] if found else "no further word"
