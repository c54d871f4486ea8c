"""Instants as text: ms since the epoch, UTC, from 1970 to 2999."""

import re
from datetime import datetime, timezone

from pipelines.common.errors import MalformedError

_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,3})\d*)?Z", re.ASCII)
# beyond them dates overflow as soon as a duration is added
_FIRST_YEAR, _LAST_YEAR = 1970, 2999
_NO_INSTANT = int(datetime(_LAST_YEAR + 1, 1, 1, tzinfo=timezone.utc).timestamp()) * 1000


def parse_instant(text: str) -> int:
    """`2026-11-21T02:00:00.000Z` to ms since the epoch.

    Raises:
        MalformedError: any other form; a local time would shift every age.
    """
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise MalformedError(f"not an instant like 2026-11-21T02:00:00.000Z: {text!r}")
    try:
        seconds = datetime.strptime(match.group(1), "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    except ValueError as error:
        raise MalformedError(f"not an instant: {text!r} ({error})") from None
    ms = int(seconds.timestamp()) * 1000 + int((match.group(2) or "0").ljust(3, "0"))
    if not is_instant(ms):
        raise MalformedError(f"not an instant of {_FIRST_YEAR} to {_LAST_YEAR}: {text!r}")
    return ms


def is_instant(ms: int) -> bool:
    """Whether it is of the years that `parse_instant` takes."""
    return 0 <= ms < _NO_INSTANT


def format_instant(ms: int) -> str:
    """Ms since the epoch to `2026-11-21T02:00:00.000Z`.

    What is no instant (`is_instant`), as a name or a cell may say, is written as `-1 ms`, which none parses as one.
    """
    if not is_instant(ms):
        return f"{ms} ms"
    seconds, rest = divmod(ms, 1000)
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"


HOUR_MS = 3_600_000


DAY_MS = 24 * HOUR_MS
