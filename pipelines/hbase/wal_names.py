"""Parses WAL file names (HBase `AbstractFSWALProvider`, `AbstractWALProvider`).

`tests/golden/hbase/names.tsv` records the answers of those classes.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote_plus, unquote_to_bytes

from pipelines.common.errors import MalformedError
from pipelines.hbase.server_names import ServerName, parse_java_long, remembered

# Java's `.` does not match these characters; Python's `.` excludes only "\n"
_NO_LINE_END = r"[^\n\r\x85\u2028\u2029]"
WAL_NAME = re.compile(rf"({_NO_LINE_END}+)\.([0-9]+)(\.[0-9A-Za-z]+)?")
PROCEDURE_WAL_NAME = re.compile(rf"{_NO_LINE_END}*pv2-[0-9]{{20}}{_NO_LINE_END}log")
MASTER_LOCAL_WAL_SUFFIX = "$masterlocalwal$"
META_SUFFIX = ".meta"
_SERVER_AT_START = re.compile(r"[^,]+,[0-9]+,[0-9]+")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class FileKind(StrEnum):
    """The kind of a file for HBase's cleaner chain, by its name alone."""

    WAL = "WAL"
    PROCEDURE_WAL = "PROCEDURE_WAL"
    MASTER_LOCAL_WAL = "MASTER_LOCAL_WAL"
    INVALID = "INVALID"


@dataclass(frozen=True, slots=True)
class WalName:
    """The parts of a valid WAL name.

    Attributes:
        name: the file name, verbatim.
        group: everything before the timestamp, still URL-encoded: the qualifier in `hbase:replication`.
        timestamp: ms; None if it does not fit in 64 bits (HBase throws NumberFormatException when it compares it).
        server: the server in the name; None if HBase throws: the name does not begin with a server, or has a malformed
            escape or a port out of range.
    """

    name: str
    group: str
    timestamp: int | None
    server: ServerName | None

    @property
    def is_meta(self) -> bool:
        """Returns whether this is a WAL of hbase:meta, which HBase never replicates."""
        return self.name.endswith(META_SUFFIX)


def file_kind(name: str) -> FileKind:
    """Classifies one file name of oldWALs as HBase's `LogCleaner.validate` does."""
    if WAL_NAME.fullmatch(name):
        return FileKind.WAL
    if PROCEDURE_WAL_NAME.fullmatch(name):
        return FileKind.PROCEDURE_WAL
    if name.endswith(MASTER_LOCAL_WAL_SUFFIX):
        return FileKind.MASTER_LOCAL_WAL
    return FileKind.INVALID


def parse_wal_name(name: str) -> WalName | None:
    """Parses a WAL name; returns None if the name is not a WAL name (HBase's `validateWALFilename` returns false)."""
    match = WAL_NAME.fullmatch(name)
    if match is None:
        return None
    try:
        timestamp = parse_java_long(match.group(2))
    except MalformedError:
        timestamp = None
    return WalName(name, match.group(1), timestamp, server_of(name))


@remembered
def wal_timestamp(name: str) -> int:
    """Returns the timestamp that HBase reads from a WAL name, in ms; -1 for a name that is not a WAL name.

    Raises:
        MalformedError: the timestamp does not fit in 64 bits.
    """
    match = WAL_NAME.fullmatch(name)
    if match is None:
        return -1
    try:
        return parse_java_long(match.group(2))
    except MalformedError as error:
        raise MalformedError(f"the timestamp of {name!r} does not fit in 64 bits") from error


def server_of(name: str) -> ServerName | None:
    """Returns the server at the beginning of the URL-decoded WAL name; None if HBase throws."""
    if _BAD_ESCAPE.search(name):
        return None
    decoded = unquote_to_bytes(name.replace("+", " ")).decode("utf-8", errors="replace")
    match = _SERVER_AT_START.match(decoded)
    if match is None:
        return None
    try:
        return ServerName.parse(match.group())
    except MalformedError:
        return None


@remembered
def encode_prefix(raw: str) -> str:
    """Encodes a server or a namespace as HBase writes it into a WAL name: Java's `URLEncoder.encode(raw, UTF_8)`."""
    return quote_plus(raw, safe="*").replace("~", "%7E")


def is_replication_table_group(group: str, server: ServerName) -> bool:
    """Returns whether the group holds the WALs of `hbase:replication` itself.

    With E for the encoded server, such a group is exactly E`.rep`, or begins with E`.`E`.rep.` (multiwal). E`.`E`.rep`
    belongs to a user namespace called `rep`. E is taken from the group as written there, because groups are compared
    case-sensitively.
    """
    encoded = encoded_server(group, server)
    return encoded is not None and (group == f"{encoded}.rep" or group.startswith(f"{encoded}.{encoded}.rep."))


def encoded_server(group: str, server: ServerName) -> str | None:
    """Returns the prefix of `group` that equals the encoded server, letter case ignored; None if there is none."""
    encoded = encode_prefix(str(server))
    return group[: len(encoded)] if group[: len(encoded)].lower() == encoded.lower() else None
