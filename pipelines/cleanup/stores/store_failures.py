"""Classifies the failures of a file system, for one file and for a call about many files."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.common.errors import UnavailableError, UsageError

OTHER_KIND = "NotAFile"
OTHER = f"{OTHER_KIND}: it is a directory or a symbolic link, which walsafe neither moves nor deletes"
NOT_TRIED = "NotTried: the file system stopped answering"
_GONE = {"FileNotFoundException", "NoSuchFileException", "ParentNotDirectoryException"}
_DENIED = {"AccessControlException", "AccessDeniedException", "TraverseAccessControlException", "SecurityException"}
# the errors that a second creator gets while the first one still writes, or after it died while writing
_EXISTS = {"FileAlreadyExistsException", "AlreadyBeingCreatedException", "RecoveryInProgressException"}
# These are answers about one path, and name it: a directory may be called Standby. It is part of the expressions below,
# so that the JVM, which gets them, judges as Python does.
_NOT_OF_ONE_PATH = rf"^(?!-?(?:[\w.$]+\()?[\w.$]*\b(?:{'|'.join(sorted(_GONE | _EXISTS | _DENIED))})\b)[\s\S]*?"
_NO_ANSWER = (
    "SafeMode|Standby|Observer|Retriable|Connect|SocketException|Timeout|TimedOut|EOFException|NoRouteToHost"
    "|UnknownHost|SaslException|KerberosAuth|InvalidToken|Filesystem closed"
)
UNAVAILABLE = f"{_NOT_OF_ONE_PATH}(?:{_NO_ANSWER})"
"""Matches failures that are not specific to one file; also as a Java regular expression, for `-` and the exception."""
_BROKEN = (
    f"{_NOT_OF_ONE_PATH}(?:{_NO_ANSWER}|Failed on local exception|Broken pipe|Interrupted|ClosedChannel"
    "|ChunkedEncoding|ContentDecoding|HdfsError)"
)
"""Matches failures of a connection, and answers of a proxy in between: the file system may have done the work."""
_JAVA = re.compile(r"(?:[\w$.]+[.$])?(\w+)(?:\((?:[\w$.]+[.$])?(\w+)\))?(?::\s*(.*))?", re.DOTALL)
_LENGTH = 400


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure that a file system reported.

    Attributes:
        kind: the simple name of the Java exception.
        message: the first line of its message.
    """

    kind: str
    message: str

    @property
    def text(self) -> str:
        """Returns the kind and message in one line."""
        return f"{self.kind}: {self.message}"[:_LENGTH] if self.message else self.kind

    @property
    def gone(self) -> bool:
        """Returns whether the path does not exist."""
        return self.kind in _GONE

    @property
    def exists(self) -> bool:
        """Returns whether the path exists already."""
        return self.kind in _EXISTS

    @property
    def denied(self) -> bool:
        """Returns whether the user lacks permission."""
        return self.kind in _DENIED

    @property
    def unavailable(self) -> bool:
        """Returns whether the file system does not answer, or refuses every user.

        Then any other file would fail too.
        """
        return re.search(UNAVAILABLE, self.text) is not None or self._not_tried

    @property
    def perhaps_done(self) -> bool:
        """Returns whether the work may have been done: the answer was lost, or did not come from the file system."""
        if self._not_tried or "SafeMode" in self.text:
            return False
        return re.search(_BROKEN, self.text) is not None

    @property
    def _not_tried(self) -> bool:
        return self.kind == NOT_TRIED.partition(":")[0]


def parse_failure(text: str) -> Failure:
    """Parses the text of `Throwable.toString()`; in a `RemoteException`, the exception of the server counts."""
    match = _JAVA.fullmatch(text.strip())
    if match is None:
        return Failure("IOException", _first_line(text))
    kind, remote, message = match.groups()
    return Failure(remote or kind, _first_line(message or ""))


def raise_common(failures: Sequence[Failure], asked: int, what: str) -> None:
    """Raises an exception if a call about many files failed for a reason that is not specific to a file.

    Args:
        failures: the failures of the elements that failed.
        asked: the number of all elements; if one of them succeeded, every failure is specific to its element.
        what: what was tried, as the beginning of the message.

    Raises:
        UnavailableError: nothing succeeded, and the file system does not answer or refuses every user.
        UsageError: nothing succeeded, because the user has no permission for any of it.
    """
    if not failures or len(failures) < asked:
        return
    common = [failure for failure in failures if failure.unavailable]
    if common:
        raise UnavailableError(f"{what}: {to_blame(common).text}; solve this and try again")
    if all(failure.denied for failure in failures):
        raise denied(failures[0], what)


def to_blame(failures: Sequence[Failure]) -> Failure:
    """Returns the first failure that has a cause of its own.

    If calls are concurrent, calls that were not tried may come before it.
    """
    return next((failure for failure in failures if failure.kind != NOT_TRIED.partition(":")[0]), failures[0])


def outcomes(answers: Sequence[Failure | None], what: str) -> list[str | None]:
    """Turns the answers of a call about many files into reasons: None = done; raises the errors of `raise_common`."""
    raise_common([answer for answer in answers if answer], len(answers), what)
    return [answer.text if answer else None for answer in answers]


def denied(failure: Failure, what: str) -> UsageError:
    """Returns the error for a user who lacks permission."""
    return UsageError(f"{what}: {failure.text}; check the user and its permissions")


def failed(failure: Failure, what: str) -> UsageError | UnavailableError:
    """Returns the error for a failed call about one path."""
    if failure.denied:
        return denied(failure, what)
    return UnavailableError(f"{what}: {failure.text}; solve this and try again")


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
