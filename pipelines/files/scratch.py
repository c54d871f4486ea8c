"""Directories that a job makes for itself and removes again."""

import uuid
from contextlib import suppress

from pipelines.common.errors import UnavailableError, UsageError
from pipelines.files.hadoop_jvm import HadoopJvm, java_errors

SECOND_LOOKS_FOLDER = ".second-looks"
"""Below a lake: where the snapshots of second looks are; `maintain` removes those of dead jobs."""


class ScratchDirectory:
    """A name below a folder that nothing else has; the directory is whatever is written there.

    Args:
        hadoop: the JVM.
        folder: Hadoop URI that Spark's executors can read.
    """

    def __init__(self, hadoop: HadoopJvm, folder: str) -> None:
        self._hadoop = hadoop
        self._folder = folder.rstrip("/")
        self.uri = f"{folder.rstrip('/')}/{uuid.uuid4().hex}"

    def remove(self) -> None:
        """Remove it with all it holds, and the folder too if nothing else is in it.

        What cannot be removed stays, and harms nobody (docs/cleanup.md).
        """
        with suppress(UnavailableError, UsageError), java_errors(self.uri):
            path = self._hadoop.path(self.uri)
            files = path.getFileSystem(self._hadoop.conf)
            files.delete(path, True)
            folder = self._hadoop.path(self._folder)
            if not len(files.listStatus(folder)):  # a Java array
                files.delete(folder, False)
