"""Request journals: the requests that clients sent to each partition, and the answers (docs/split-route.md)."""

from dataclasses import dataclass

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError, UsageError
from pipelines.common.json_object import JsonObject, read_json

KINDS = ("read", "write", "scan")
OK = "ERR_OK"
MISUSED = "ERR_PARENT_PARTITION_MISUSED"
REJECTS = ("ERR_OBJECT_NOT_FOUND", "ERR_SPLITTING")
"""The name in Pegasus's split design, and the name in the code since 2.3."""
CODES = (OK, MISUSED, *REJECTS, "ERR_TIMEOUT", "ERR_INVALID_STATE")
U64 = 1 << 64


@dataclass(frozen=True, slots=True)
class JournalRequest:
    """One request and its answer.

    Attributes:
        line: the line number in the journal, from 1.
        at_us: μs since the epoch.
        client: the name of the client.
        kind: read, write or scan.
        hash: the hash in the request's header, 0 … 2^64-1; a scan has the number of its partition here.
        partition: the partition that received the request.
        version: the `partition_version` of the primary that answered; None = unknown.
        code: the error code of the answer.
        decree: the decree in the answer to an acknowledged write; None = unknown.
        node: the node that answered; None = unknown.
        foreign_rows: the number of rows that a scan returned and that its partition does not own; None = unknown.
    """

    line: int
    at_us: int
    client: str
    kind: str
    hash: int
    partition: int
    version: int | None
    code: str
    decree: int | None = None
    node: str | None = None
    foreign_rows: int | None = None


def parse_request(text: str | bytes, line: int, where: str) -> JournalRequest:
    """Parses one line of a journal.

    Raises:
        UsageError: the line is invalid; the message names file, line and key.
    """
    place = f"{where}, line {line}"
    try:
        form = JsonObject(read_json(text, place), place)
        asked = _request(form, line)
        form.no_other_keys()
    except SnapshotError as error:
        raise UsageError(f"{error}; the format of journals is docs/split-route.md") from None
    return asked


def _request(form: JsonObject, line: int) -> JournalRequest:
    digits = form.text("hash")
    if len(digits) != 16 or not set(digits) <= set("0123456789abcdef"):
        raise SnapshotError(
            Condition.DOCUMENT_MALFORMED, f"{form.where}: 'hash' must be 16 hexadecimal digits, found {digits!r}"
        )
    return JournalRequest(
        line,
        form.count("ts"),
        form.text("client"),
        form.one_of("kind", KINDS),
        int(digits, 16),
        form.count("pidx"),
        _optional(form, "version"),
        form.one_of("code", CODES),
        _optional(form, "decree"),
        form.optional_text("node"),
        _optional(form, "foreign_rows"),
    )


def _optional(form: JsonObject, key: str) -> int | None:
    return form.integer(key) if key in tuple(form.names()) else None
