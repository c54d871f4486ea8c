"""Tells which local path a `file:` URI means."""

import re
from pathlib import Path

_FILE = re.compile(r"file:(?://[^/]*)?/+", re.IGNORECASE)


def local_path(uri: str) -> Path | None:
    """Returns the local path of a `file:` URI; None for any other scheme and for a bare path.

    Like Hadoop, it goes by the text: `#`, `?` and `%20` are characters of a path.
    """
    start = _FILE.match(uri)
    return Path(f"/{uri[start.end() :]}") if start else None
