"""Copies a directory that is not on a local file system to a task's own disk, as long as the task reads it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.common.errors import UnavailableError, WalsafeError
from pipelines.files.executor_streams import copy_directory


@contextmanager
def fetched_directory(uri: str, hadoop_conf: str) -> Iterator[str]:
    """Copies a directory to a temporary one and returns its path; the copy is removed afterwards.

    Messages of errors in the `with` block name the directory, not the copy.

    Args:
        uri: the directory.
        hadoop_conf: the Hadoop configuration, as the text of a `core-site.xml`.

    Raises:
        UnavailableError: the file system did not return all files, or the disk is full.
    """
    with tempfile.TemporaryDirectory(prefix="walsafe-copy-") as scratch:
        copy = str(Path(scratch, "copy"))
        try:
            try:
                copy_directory(uri, copy, hadoop_conf)
            except OSError as error:
                raise UnavailableError(
                    f"{error}: the directory was not copied to {scratch}; start again, and the job goes on"
                ) from None
            yield copy
        except WalsafeError as error:
            error.args = (str(error).replace(copy, uri),)
            raise
