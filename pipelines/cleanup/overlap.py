"""Determines from the URIs of two directories alone whether one may lie inside the other."""

import re

from pipelines.common.errors import UsageError

_URI = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(/.*)?", re.DOTALL)
_STORES = {
    "file": "file", "hdfs": "hdfs", "webhdfs": "hdfs", "swebhdfs": "hdfs", "s3": "s3", "s3n": "s3", "s3a": "s3",
    "gs": "gs",
}  # fmt: skip
"""The store of each scheme; schemes of one store may name the same file. Other schemes, or none, may name any file."""
_BUCKETS = ("s3", "gs")
"""In these stores the authority is the bucket; a URI without authority may name any bucket.

One HDFS has several authorities: a nameservice, or each name node with or without a port.
"""


def overlap(one: str, other: str) -> bool:
    """Returns whether the directories are the same or one is inside the other.

    False if their file systems certainly differ.

    Two nameservices of HDFS may name the same HDFS, so only their paths are compared.

    Raises:
        UsageError: a URI has no absolute path, or contains `..`.
    """
    (store, authority, path), (other_store, other_authority, other_path) = _parts(one), _parts(other)
    if store and other_store and store != other_store:
        return False
    if store == other_store and store in _BUCKETS and authority and other_authority and authority != other_authority:
        return False
    return path.startswith(other_path) or other_path.startswith(path)


def _parts(uri: str) -> tuple[str, str | None, str]:
    """Returns the store, the authority, and the path with a trailing slash.

    Raises:
        UsageError: the URI has no absolute path, or contains `..`.
    """
    match = _URI.fullmatch(uri)
    scheme, authority, path = match.groups() if match else (None, None, None)
    elements = [element for element in (path or "").split("/") if element not in {"", "."}]
    if ".." in elements or (path is None and authority is None):
        raise UsageError(f"{uri!r} is not a full path without '..'; write it like hdfs://ns1/hbase")
    return _STORES.get((scheme or "").lower(), ""), authority, "".join(f"/{element}" for element in elements) + "/"
