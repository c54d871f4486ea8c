"""Temporary directories that a job creates and removes."""

import uuid
from contextlib import suppress

from pipelines.common.errors import UnavailableError, UsageError
from pipelines.files.hadoop_jvm import HadoopJvm, java_errors

SECOND_LOOKS_FOLDER = ".second-looks"
"""Folder below a lake for the snapshots of second looks; `maintain` removes the snapshots of jobs that died."""


class ScratchDirectory:
    """Gives a job a unique directory below a folder. The first write there creates the directory.

    Args:
        hadoop: the interface to Spark's JVM.
        folder: a Hadoop URI that Spark's executors can read.
    """

    def __init__(self, hadoop: HadoopJvm, folder: str) -> None:
        self._hadoop = hadoop
        self._folder = folder.rstrip("/")
        self.uri = f"{folder.rstrip('/')}/{uuid.uuid4().hex}"

    def remove(self) -> None:
        """Removes the directory and its content, and the folder too if it is empty then.

        It ignores errors: a directory that cannot be removed stays and does no harm (docs/cleanup.md).
        """
        with suppress(UnavailableError, UsageError), java_errors(self.uri):
            path = self._hadoop.path(self.uri)
            files = path.getFileSystem(self._hadoop.conf)
            files.delete(path, True)
            folder = self._hadoop.path(self._folder)
            if not len(files.listStatus(folder)):  # a Java array
                files.delete(folder, False)
