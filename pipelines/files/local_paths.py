"""Tells local paths from URIs of other file systems."""

import os
import re
from pathlib import Path

from pipelines.common.errors import UsageError

_FILE = re.compile(r"file:(?://[^/]*)?/+", re.IGNORECASE)
_URI = re.compile(r"file:|[A-Za-z][A-Za-z0-9+.-]+:/", re.IGNORECASE)
"""Hadoop takes `hdfs:/walsafe/r.json`, too. A colon without a slash is one in a name, such as that of a time."""
_HOME = re.compile(r"~[^/]*/|~$")


def check_place(place: str) -> str:
    """Returns the path or URI of a place.

    Raises:
        ValueError: it is a relative `file:` URI, or begins with `~`, which only a shell knows: a directory of this name
            would be made wherever the job runs.
    """
    if _HOME.match(place):
        raise ValueError(f"{place}: write the whole path instead of ~, or put ./ before a directory of this name")
    try:
        local_path(place)
    except UsageError as error:
        raise ValueError(str(error)) from None
    return place


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


def check_replaceable(place: str) -> str:
    """Returns a place whose file may be replaced; a place on another file system is not looked at.

    Raises:
        ValueError: it is a device, a pipe, a directory or a name of an open file: a file would take its place.
        UsageError: it is a relative `file:` URI.
    """
    path = path_here(place)
    if path is not None:
        is_other = os.path.exists(path) and not os.path.isfile(path)  # False where the folder may not be searched
        if is_other or path.parent == Path("/dev") or "proc" in Path(os.path.realpath(path.parent)).parts[1:2]:
            raise ValueError(f"{place} is not a regular file; --output json writes the object to standard output")
    return place
