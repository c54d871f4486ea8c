"""Converts instants between ms since the epoch (UTC) and text, for the years 1970 to 2999."""

import re
from datetime import UTC, date, datetime

from pipelines.common.errors import MalformedError

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
DEFAULT_GRACE_MS = 7 * DAY_MS
"""How long files rest in the quarantine if the configuration does not say: purge and explain mean the same."""
LAST_MS = 253_402_300_799_999
"""The end of the year 9999; a timestamp in the name of a WAL may be any number of 64 bits."""
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,3})\d*)?Z", re.ASCII)
# outside these years, dates overflow as soon as a duration is added
_FIRST_YEAR, _LAST_YEAR = 1970, 2999
NO_INSTANT = int(datetime(_LAST_YEAR + 1, 1, 1, tzinfo=UTC).timestamp()) * 1000
"""The first ms after these years."""


def parse_instant(text: str) -> int:
    """Converts text like `2026-11-21T02:00:00.000Z` to ms since the epoch; the fraction is optional.

    Raises:
        MalformedError: the text has another form (a local time would shift every age), or another year.
    """
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise MalformedError(f"not an instant like 2026-11-21T02:00:00.000Z: {text!r}")
    try:
        seconds = datetime.strptime(match.group(1), "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
    except ValueError as error:
        raise MalformedError(f"not an instant: {text!r} ({error})") from None
    ms = int(seconds.timestamp()) * 1000 + int((match.group(2) or "0").ljust(3, "0"))
    if not is_instant(ms):
        raise MalformedError(f"not an instant of {_FIRST_YEAR} to {_LAST_YEAR}: {text!r}")
    return ms


def is_instant(ms: int) -> bool:
    """Returns whether the value lies in the years that `parse_instant` accepts."""
    return 0 <= ms < NO_INSTANT


def format_instant(ms: int) -> str:
    """Converts ms since the epoch to text like `2026-11-21T02:00:00.000Z`.

    A file name or a table cell can give a value out of range (see `is_instant`). Such a value becomes text like `-1
    ms`, which `parse_instant` rejects.
    """
    if not is_instant(ms):
        return f"{ms} ms"
    seconds, rest = divmod(ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"


def compact_instant(ms: int) -> str:
    """Converts ms since the epoch to text for names, to the second: `20261121T020000Z`."""
    return f"{datetime.fromtimestamp(ms // 1000, UTC):%Y%m%dT%H%M%SZ}"


def utc_day(ms: int) -> date:
    """Returns the day of an instant in UTC; `run_date` of every table is such a day."""
    return datetime.fromtimestamp(ms // 1000, UTC).date()
