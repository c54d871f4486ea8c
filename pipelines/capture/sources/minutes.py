"""Parses times that a tool printed to the minute in some time zone."""

from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from pipelines.common.errors import MalformedError

_LAST_MS_OF_MINUTE = 59_999


@lru_cache(maxsize=100_000)
def end_of_minute(text: str, zone: ZoneInfo) -> int:
    """Returns the last millisecond of a minute like `2026-11-21 02:00`: a file never counts as older than it is.

    When the clocks are set back, the minute occurs twice; the later one counts.

    Args:
        text: the time as `hdfs dfs -ls` and `hdfs oiv -p Delimited` print it.
        zone: the time zone of the process that printed it.

    Returns:
        Ms since the epoch, UTC.

    Raises:
        MalformedError: the text has another form.
    """
    try:
        local = datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=zone)
        moments = [local.replace(fold=fold).astimezone(UTC).timestamp() for fold in (0, 1)]
    except (ValueError, OverflowError):
        raise MalformedError(f"not a time like 2026-11-21 02:00: {text!r}") from None
    return int(max(moments)) * 1000 + _LAST_MS_OF_MINUTE
