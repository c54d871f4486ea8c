"""The environment of a job that begins in the process of `spark-submit.sh`, and may end there without a JVM."""

import os
from argparse import Namespace
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from jobs.cli.command_line import Invocation
from jobs.cli.context import JobContext
from jobs.cli.launch.submit import SubmitSettings, UserArguments, default_file_system
from jobs.cli.monitoring.metrics_place import is_gateway
from jobs.cli.registry import JOBS
from pipelines.common.errors import SparkNeededError
from pipelines.files.local_paths import path_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipelines.lake.reader import LakeReader

_KEYTAB = {"spark.kerberos.principal", "spark.kerberos.keytab"}
_HADOOP = "spark.hadoop."


class ClientContext(JobContext):
    """Reads a lake by deltalake alone; whatever needs a session raises `SparkNeededError`.

    Args:
        job: the name of the job.
        settings: Spark's settings of this submission.
        environ: the environment of the process.
    """

    def __init__(self, job: str, settings: SubmitSettings, environ: Mapping[str, str]) -> None:
        super().__init__(job)
        names = settings.values.items()
        self._hadoop = {name.removeprefix(_HADOOP): value for name, value in names if name.startswith(_HADOOP)}
        self._environ = environ

    @cached_property
    def spark(self) -> "SparkSession":
        """There is none.

        Raises:
            SparkNeededError: always.
        """
        raise SparkNeededError(self.job)

    def need_spark(self) -> None:
        """See `JobContext.need_spark`."""
        raise SparkNeededError(self.job)

    def lake(self, uri: str) -> "LakeReader":
        """See `JobContext.lake`; reading raises `SparkNeededError` where deltalake cannot answer."""
        from pipelines.lake.delta_rs import DeltaRs
        from pipelines.lake.lake_queries import LakeQueries
        from pipelines.lake.reader import LakeReader

        lake = uri.rstrip("/")
        return LakeReader(LakeQueries(lake, DeltaRs.of(self.qualified(lake), self._hadoop, one_answer=True), None))

    def qualified(self, lake: str) -> str:
        """Returns the lake with its scheme, as Hadoop would name it; an empty text if only Hadoop can tell."""
        if ":" in lake.split("/", 1)[0]:
            return lake
        if any(self._environ.get(name) for name in ("SPARK_HOME", "SPARK_CONF_DIR")):
            return ""  # that Spark may have a core-site.xml of its own
        default = self._hadoop.get("fs.defaultFS") or default_file_system(self._environ)
        if not default or default.startswith("file:"):
            return f"file:{os.path.abspath(lake)}"
        return f"{default.rstrip('/')}{lake}" if lake.startswith("/") else ""


def client_context(
    invocation: Invocation, user: UserArguments, settings: SubmitSettings, environ: Mapping[str, str]
) -> ClientContext | None:
    """Returns the environment in which this process may answer the job; None if the job is Spark's.

    It is Spark's if it always needs a session, if another user or the cluster is to run it, or if its result or its
    metrics go to a file system that only Hadoop reaches.
    """
    elsewhere = writes_elsewhere(invocation.args)
    if not JOBS[invocation.name].begins_here or settings.cluster_mode or elsewhere or _another_user(user, settings):
        return None
    return ClientContext(invocation.name, settings, environ)


def writes_elsewhere(args: Namespace) -> bool:
    """Tells whether the result or the metrics of a job, also of one that fails, need Hadoop to be written."""
    metrics = None if getattr(args, "plan", None) is True else getattr(args, "metrics", None)  # a plan has no metrics
    places = (args.result, None if metrics is None or is_gateway(metrics) else metrics)
    return any(place is not None and path_here(place) is None for place in places)


def _another_user(user: UserArguments, settings: SubmitSettings) -> bool:
    return any(word.startswith("--proxy-user") for word in user.rest) or not _KEYTAB.isdisjoint(settings.values)
