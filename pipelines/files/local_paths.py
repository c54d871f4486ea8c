"""Tells local paths from URIs of other file systems."""

import re
from pathlib import Path

from pipelines.common.errors import UsageError

_FILE = re.compile(r"file:(?://[^/]*)?/+", re.IGNORECASE)
_URI = re.compile(r"file:|[A-Za-z][A-Za-z0-9+.-]+:/", re.IGNORECASE)
"""Hadoop takes `hdfs:/walsafe/r.json`, too. A colon without a slash is one in a name, such as that of a time."""


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


def path_here(uri: str) -> Path | None:
    """Returns the local path of a `file:` URI or a bare path; None for a file of another file system."""
    return local_path(uri) if _URI.match(uri) else Path(uri)


def local_uri(path: Path) -> str:
    """Returns a local path as Hadoop spells it: not percent-encoded, and local whatever `fs.defaultFS` is."""
    return f"file:{path}"
