"""Request journals: the requests that clients sent to each partition, and the answers (docs/split-route.md).

Executors read them line by line, and need only the standard library for it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.common.errors import SnapshotError, UsageError
from pipelines.common.instants import is_instant
from pipelines.common.strict_json import read_json
from pipelines.pegasus.domain.partitions import MOST_PARTITIONS, REJECT_CODES, PrimaryAnswer

KINDS = ("read", "write", "scan")
OK, MISUSED = PrimaryAnswer.OK.value, PrimaryAnswer.MISUSED.value
REJECTS = tuple(REJECT_CODES.values())
CODES = (OK, MISUSED, *REJECTS, "ERR_TIMEOUT", "ERR_INVALID_STATE")
_HASH = re.compile("[0-9a-f]{16}")


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
        fault = _fault(values := read_json(text, place))
    except SnapshotError as error:
        raise UsageError(f"{error}; the format of journals is docs/split-route.md") from None
    if fault is not None:
        raise UsageError(f"{place}: {fault}; the format of journals is docs/split-route.md")
    return JournalRequest(
        line,
        values["ts"],
        values["client"],
        values["kind"],
        int(values["hash"], 16),
        values["pidx"],
        values.get("version"),
        values["code"],
        values.get("decree"),
        values.get("node"),
        values.get("foreign_rows"),
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_long(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _is_index(value: Any) -> bool:  # noqa: ANN401 - whatever the line holds
    return _is_long(value) and 0 <= value < MOST_PARTITIONS


_Check = tuple[str, Callable[[Any], bool]]
_LONG: _Check = ("a whole number of at most 64 bits", _is_long)
_TEXT: _Check = ("a non-empty string", _is_text)
_REQUIRED: Mapping[str, _Check] = {
    "ts": ("μs since the epoch", lambda value: _is_long(value) and is_instant(value // 1000)),
    "client": _TEXT,
    "kind": (f"one of {', '.join(KINDS)}", lambda value: value in KINDS),
    "hash": ("16 hexadecimal digits", lambda value: isinstance(value, str) and _HASH.fullmatch(value) is not None),
    "pidx": (f"from 0 to {MOST_PARTITIONS - 1}", _is_index),
    "code": (f"one of {', '.join(CODES)}", lambda value: value in CODES),
}
_OPTIONAL: Mapping[str, _Check] = {"version": _LONG, "decree": _LONG, "node": _TEXT, "foreign_rows": _LONG}


def _fault(values: Any) -> str | None:  # noqa: ANN401 - whatever the line holds
    """Returns what is wrong with a line; None = nothing."""
    if not isinstance(values, dict):
        return f"must be an object of keys and values, found {str(values)[:120]!r}"
    for key in _REQUIRED:
        if key not in values:
            return f"key {key!r} is missing"
    for key, value in values.items():
        check = _REQUIRED.get(key) or _OPTIONAL.get(key)
        if check is None:
            return f"unknown key {key!r}"
        must, holds = check
        if not (holds(value) or (value is None and key == "node")):
            return f"{key!r} must be {must}, found {str(value)[:120]!r}"
    return None
