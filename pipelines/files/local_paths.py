"""Tells which local path a `file:` URI means."""

import re
from pathlib import Path

from pipelines.common.errors import UsageError

_FILE = re.compile(r"file:(?://[^/]*)?/+", re.IGNORECASE)


def local_path(uri: str) -> Path | None:
    """Returns the local path of a `file:` URI; None for any other scheme and for a bare path.

    Like Hadoop, it goes by the text: `#`, `?` and `%20` are characters of a path.

    Raises:
        UsageError: the path of the `file:` URI is relative.
    """
    start = _FILE.match(uri)
    if start is None and uri[:5].lower() == "file:":
        raise UsageError(f"{uri}: a file: URI needs an absolute path, such as file:///var/walsafe")
    return Path(f"/{uri[start.end() :]}") if start else None
