"""Describes one file or directory as the file system shows it."""

from typing import NamedTuple


class FileStatus(NamedTuple):
    """The status of one path; a symbolic link is neither a file nor a directory.

    Attributes:
        name: the last element of the path; empty if the caller asked about one path.
        length: bytes; 0 for a directory.
        modification_time: ms since the epoch, UTC.
    """

    name: str
    is_file: bool
    is_directory: bool
    length: int
    modification_time: int
