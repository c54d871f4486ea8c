"""Opens a checkpoint of a cold backup that is not on a local file system: a task copies it to its own disk first."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.common.errors import UnavailableError, WalsafeError
from pipelines.files.executor_streams import copy_directory
from pipelines.pegasus.sources.backup_files import check_backup_files
from pipelines.pegasus.sources.replica_db import ReplicaDb, opened_db


@contextmanager
def fetched_backup(uri: str, hadoop_conf: str) -> Iterator[ReplicaDb]:
    """Copies a checkpoint to a temporary directory, compares its files with their checksums, and opens it.

    The copy is removed afterwards. Messages name the checkpoint, not the copy.

    Args:
        uri: the directory of the checkpoint.
        hadoop_conf: the Hadoop configuration, as the text of a `core-site.xml`.

    Raises:
        UsageError: it is not a checkpoint of Pegasus, or rocksdict is not installed.
        RefusedError: a file is missing, damaged or encrypted.
        UnavailableError: the file system did not return all files, or the disk is full.
    """
    with tempfile.TemporaryDirectory(prefix="walsafe-backup-") as scratch:
        copy = str(Path(scratch, "checkpoint"))
        try:
            try:
                copy_directory(uri, copy, hadoop_conf)
            except OSError as error:
                raise UnavailableError(
                    f"{error}: the checkpoint was not copied to {scratch}; start again, and the job goes on"
                ) from None
            check_backup_files(copy)
            with opened_db(copy) as database:
                yield database
        except WalsafeError as error:
            error.args = (str(error).replace(copy, uri),)
            raise
