"""Wires maintain: the only job that may remove rows, lists, snapshots and pages."""

from functools import partial

from jobs.cli.config.configuration import Config
from jobs.cli.context import JobContext
from pipelines.common.job_result import JobResult
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.files.scratch import SECOND_LOOKS_FOLDER
from pipelines.lake.maintenance import LakeMaintenance
from pipelines.lake.retention import LIST, SNAPSHOT, RetentionPolicy
from pipelines.maintain.expiry import SECOND_LOOKS, HadoopDirectories
from pipelines.maintain.kept_runs import KeptRuns
from pipelines.maintain.maintain import MaintainPorts, MaintainRequest, maintain
from pipelines.maintain.pages import HadoopPages
from schemas.registry import TABLES


def run_maintain(
    context: JobContext, config: Config, policy: RetentionPolicy, lake: str, *, execute: bool
) -> JobResult:
    """Maintain a lake, its pages, and the lists and snapshots that the configuration names.

    Raises:
        UsageError: the lake does not exist.
    """
    spark = context.spark
    hadoop = HadoopJvm.of(spark)
    lake = lake.rstrip("/")
    section = config.maintain
    folders = (  # with whether it must exist: a night makes a folder when it first needs it
        (section.lists or config.lists, LIST, section.lists is not None),
        (section.snapshots or config.snapshots, SNAPSHOT, section.snapshots is not None),
        (f"{lake}/{SECOND_LOOKS_FOLDER}", SECOND_LOOKS, False),
    )
    reports = config.reports or f"{lake}/reports"
    ports = MaintainPorts(
        clock=context.clock,
        reader=KeptRuns(
            spark,
            lake,
            needs_runs=bool(section.lists or config.lists or section.snapshots or config.snapshots or config.reports),
        ),
        keeper=LakeMaintenance(spark, lake),
        directories=[
            *(
                (uri, partial(HadoopDirectories, hadoop, uri, kind, expected=expected))
                for uri, kind, expected in folders
                if uri
            ),
            (reports, partial(HadoopPages, hadoop, reports)),
        ],
    )
    return maintain(MaintainRequest(TABLES, policy, execute), ports)
