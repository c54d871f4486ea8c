"""Reads the head of a page, in which the page says of which runs it is (templates/report.html: `walsafe:run`)."""

import re
from dataclasses import dataclass

from pipelines.files.hadoop_jvm import JavaObject

QUALITY = ".quality.html"
"""How the name of the Data Docs beside a page ends."""
_WALSAFE = b'<meta name="generator" content="walsafe '
_RUN = re.compile(r'<meta name="walsafe:run" content="(\S+) (\S+) (\d+)">')
_HEAD_ENDS = b"<title>"
_MOST_HEAD = 1 << 20


@dataclass(frozen=True, slots=True)
class PageHead:
    """The head of a file.

    Attributes:
        of_walsafe: whether walsafe wrote the file.
        runs: the (cluster, run_id) of each run that the page shows; empty if it does not say all of them.
        newest: the start of step `files` of the newest of these runs, ms since the epoch.
    """

    of_walsafe: bool
    runs: frozenset[tuple[str, str]]
    newest: int


def page_head(files: JavaObject, path: JavaObject) -> PageHead:
    """Reads the head of a file.

    Args:
        files: Hadoop's file system.
        path: a path of it.
    """
    stream = files.open(path)
    try:
        head, ends, _ = bytes(stream.readNBytes(_MOST_HEAD)).partition(_HEAD_ENDS)
    finally:
        stream.close()
    runs = [match.groups() for match in _RUN.finditer(head.decode("utf-8", "replace"))] if ends else []
    shown = frozenset((cluster, run_id) for cluster, run_id, _ in runs)
    return PageHead(_WALSAFE in head, shown, max((int(started) for _, _, started in runs), default=0))
