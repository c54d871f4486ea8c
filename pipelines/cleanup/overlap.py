"""Compares two directories by their URIs alone: whether one may lie inside the other."""

import re

from pipelines.common.errors import UsageError

_URI = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(/.*)?", re.DOTALL)
_STORES = {
    "file": "file", "hdfs": "hdfs", "webhdfs": "hdfs", "swebhdfs": "hdfs", "s3": "s3", "s3n": "s3", "s3a": "s3",
    "gs": "gs",
}  # fmt: skip
"""By scheme; schemes of one store may name the same file. A scheme not listed here, or none, may name any file."""
_BUCKETS = ("s3", "gs")
"""Here the authority is the bucket, and without one it may be any; one HDFS has several: a nameservice, each name node,
with a port or without."""


def overlap(one: str, other: str) -> bool:
    """Whether the directories are the same, or one is inside the other, unless their file systems certainly differ.

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
    """Returns the store, the authority, and the path with a trailing slash."""
    match = _URI.fullmatch(uri)
    scheme, authority, path = match.groups() if match else (None, None, None)
    elements = [element for element in (path or "").split("/") if element not in {"", "."}]
    if ".." in elements or (path is None and authority is None):
        raise UsageError(f"{uri!r} is no full path without '..': write it like hdfs://ns1/hbase")
    return _STORES.get((scheme or "").lower(), ""), authority, "".join(f"/{element}" for element in elements) + "/"
