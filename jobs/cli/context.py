"""The environment of a job: the session, the clock, its files."""

import os
import time
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.common.errors import UsageError
from pipelines.files.local_paths import path_here

if TYPE_CHECKING:  # --help must work before any package is installed
    from pyspark.sql import SparkSession

    from pipelines.common.clock import Clock
    from pipelines.common.spark.stages import StageProgress
    from pipelines.lake.reader import LakeReader


SHIPPED_ENV = "WALSAFE_SHIPPED"
"""Set for a driver on the cluster if the launcher ships files into its working directory."""
STOP_FILE_ENV = "WALSAFE_STOP_FILE"
"""Names the path of the file by which the launcher asks a job, on Ctrl-C, to end after its current batch."""


class SystemClock:
    """The clock of the machine."""

    def now_ms(self) -> int:
        """Ms since the epoch, UTC."""
        return time.time_ns() // 1_000_000


class JobContext:
    """The environment of one run of one job.

    Attributes:
        job: the name of the job.
        clock: the wall clock.
        failed_clusters: what a reconcile that fails knows of each cluster, for its metrics.
    """

    def __init__(self, job: str, clock: "Clock | None" = None, spark: "SparkSession | None" = None) -> None:
        self.job = job
        self.clock: Clock = clock or SystemClock()
        self.failed_clusters: list[dict[str, object]] = []
        self._owns_spark = spark is None
        self._stages: StageProgress | None = None
        if spark is not None:
            self.__dict__["spark"] = spark  # the session of a test replaces the cached property

    @cached_property
    def spark(self) -> "SparkSession":
        """The session, built on first use; `close` stops it unless the caller passed it in."""
        from jobs.cli.session import submitted_session
        from pipelines.common.spark.stages import StageProgress

        session = submitted_session(f"walsafe {self.job}")
        self._stages = StageProgress(session.sparkContext)
        self._stages.start()
        return session

    def need_spark(self) -> None:
        """Says that the job goes on with a session, and has done nothing yet; the session is built on first use.

        Raises:
            SparkNeededError: this process can have no session, and leaves the job to the JVM.
        """

    def lake(self, uri: str) -> "LakeReader":
        """Returns the reader of a lake."""
        from pipelines.lake.reader import LakeReader

        return LakeReader.of(self.spark, uri)

    def close(self) -> None:
        """Stops the session if this context built one."""
        if self._owns_spark and "spark" in self.__dict__:
            if self._stages is not None:
                self._stages.end()
            self.spark.stop()

    def local_file(self, given: str) -> Path:
        """Finds a file named on the command line.

        In cluster deploy mode the driver runs elsewhere, and `spark-submit.sh` ships the file (`--files`) into the
        driver's working directory under its base name. This file goes before one of the same path on the driver's
        machine. Anywhere else a file of that name in the working directory is another file.

        Args:
            given: the path as the user wrote it.

        Raises:
            UsageError: the file does not exist, or its folder cannot be searched.
        """
        shipped = [Path(Path(given).name)] if os.environ.get(SHIPPED_ENV) else []
        for candidate in (*shipped, Path(os.path.expanduser(given))):
            try:
                found = candidate.is_file()
            except OSError as error:
                raise UsageError(f"{given} cannot be read: {error}") from None
            if found:
                return candidate
        raise UsageError(f"no such file: {given} (looked in {Path.cwd()}); give the path of an existing file")


def project_file(relative: str) -> str:
    """Returns the text of a file that ships with walsafe, such as `conf/demo.yaml`, from the tree or from the archive.

    Args:
        relative: path below the project root, in one of the shipped folders (jobs/cli/launch/project_archive.py).
    """
    spec = find_spec("jobs")
    if spec is None or spec.origin is None or spec.loader is None:
        raise ImportError("package 'jobs' has no file of its own")
    root = Path(spec.origin).parent.parent
    data: bytes = spec.loader.get_data(str(root / relative))  # type: ignore[attr-defined]  # zipimport has it, its type does not say so
    return data.decode("utf-8")


def stop_asked() -> bool:
    """Returns whether the launcher has asked this job to end; a job that no launcher started never is."""
    told = os.environ.get(STOP_FILE_ENV)
    return bool(told) and Path(str(told)).exists()


def directory_here(given: str) -> Path:
    """Returns the local path of the directory that an option `--out` of a command names.

    Raises:
        UsageError: it is a URI of another file system.
    """
    here = path_here(given)
    if here is None:
        raise UsageError(f"--out {given}: give a directory of this machine")
    return here
