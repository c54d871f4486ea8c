"""Why a file system did not do what was asked of one file, and what that means for a call about many."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.common.errors import UnavailableError, UsageError

UNAVAILABLE = (
    "SafeMode|Standby|Observer|Retriable|Connect|SocketException|Timeout|TimedOut|EOFException|NoRouteToHost"
    "|UnknownHost|SaslException|KerberosAuth|InvalidToken|Filesystem closed"
)
"""Found in the text of failures that are nobody's in particular; for Java's regular expressions as well."""
_BROKEN = (
    f"{UNAVAILABLE}|Failed on local exception|Broken pipe|Interrupted|ClosedChannel|ChunkedEncoding|ContentDecoding"
    "|HdfsError"
)
"""Found in the text of failures of a connection, and of what a proxy between says: the file system may have acted."""
OTHER_KIND = "NotAFile"
OTHER = f"{OTHER_KIND}: it is a directory or a symbolic link, which walsafe neither moves nor deletes"
NOT_TRIED = "NotTried: the file system stopped answering"
_GONE = {"FileNotFoundException", "NoSuchFileException", "ParentNotDirectoryException"}
_DENIED = {"AccessControlException", "AccessDeniedException", "TraverseAccessControlException", "SecurityException"}
# what a second creator gets while the first still writes, or has died while it wrote
_EXISTS = {"FileAlreadyExistsException", "AlreadyBeingCreatedException", "RecoveryInProgressException"}
_JAVA = re.compile(r"(?:[\w$.]+[.$])?(\w+)(?:\((?:[\w$.]+[.$])?(\w+)\))?(?::\s*(.*))?", re.DOTALL)
_LENGTH = 400


@dataclass(frozen=True, slots=True)
class Failure:
    """One refusal of a file system.

    Attributes:
        kind: simple name of the exception, as Java has it.
        message: its first line.
    """

    kind: str
    message: str

    @property
    def text(self) -> str:
        """In one line."""
        return f"{self.kind}: {self.message}"[:_LENGTH] if self.message else self.kind

    @property
    def gone(self) -> bool:
        """There is nothing of that name."""
        return self.kind in _GONE

    @property
    def exists(self) -> bool:
        """There is something of that name already."""
        return self.kind in _EXISTS

    @property
    def denied(self) -> bool:
        """The user may not."""
        return self.kind in _DENIED

    @property
    def unavailable(self) -> bool:
        """The file system does not answer, or refuses everybody: no other file would fare better."""
        return re.search(UNAVAILABLE, self.text) is not None or self._not_tried

    @property
    def perhaps_done(self) -> bool:
        """The file system has not said no: the answer was lost, or was not its own."""
        if self._not_tried or "SafeMode" in self.text:
            return False
        return re.search(_BROKEN, self.text) is not None

    @property
    def _not_tried(self) -> bool:
        return self.kind == NOT_TRIED.partition(":")[0]


def parse_failure(text: str) -> Failure:
    """Reads what `Throwable.toString()` says; of a `RemoteException` it is the exception on the server that counts."""
    match = _JAVA.fullmatch(text.strip())
    if match is None:
        return Failure("IOException", _first_line(text))
    kind, remote, message = match.groups()
    return Failure(remote or kind, _first_line(message or ""))


def raise_common(failures: Sequence[Failure], asked: int, what: str) -> None:
    """Raises where a call about many files failed for a reason that is not any file's own.

    Args:
        failures: of the elements that failed.
        asked: how many elements there were; if one of them succeeded, every failure is its element's own.
        what: what was tried, for the message.

    Raises:
        UnavailableError: nothing succeeded, and the file system does not answer or refuses everybody.
        UsageError: nothing succeeded, since the user may do none of it.
    """
    if not failures or len(failures) < asked:
        return
    common = [failure for failure in failures if failure.unavailable]
    if common:
        raise UnavailableError(f"{what}: {to_blame(common).text}; put it right and try again")
    if all(failure.denied for failure in failures):
        raise denied(failures[0], what)


def to_blame(failures: Sequence[Failure]) -> Failure:
    """The first failure that says why: those not tried any more, of calls side by side, may come before it."""
    return next((failure for failure in failures if failure.kind != NOT_TRIED.partition(":")[0]), failures[0])


def outcomes(answers: Sequence[Failure | None], what: str) -> list[str | None]:
    """The answers of a call about many files: None = done, else why not; raises as `raise_common`."""
    raise_common([answer for answer in answers if answer], len(answers), what)
    return [answer.text if answer else None for answer in answers]


def denied(failure: Failure, what: str) -> UsageError:
    """The error for a user who may not."""
    return UsageError(f"{what}: {failure.text}; check the user and its permissions")


def failed(failure: Failure, what: str) -> UsageError | UnavailableError:
    """The error for a call about one thing."""
    if failure.denied:
        return denied(failure, what)
    return UnavailableError(f"{what}: {failure.text}; put it right and try again")


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
