"""Wires maintain: the only job that may remove rows, lists, snapshots and pages."""

import re
from functools import partial

from jobs.cli.config.configuration import Config
from jobs.cli.context import JobContext
from pipelines.common.errors import UsageError
from pipelines.common.human import human_duration
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
from schemas.wal_verdicts import WAL_VERDICTS


def run_maintain(context: JobContext, config: Config, lake: str, *, execute: bool) -> JobResult:
    """Maintain a lake, its pages, and the lists and snapshots that the configuration names.

    Raises:
        UsageError: the configuration contradicts itself, or the lake does not exist.
    """
    policy = retention_policy(config)
    spark = context.spark
    hadoop = HadoopJvm.of(spark)
    # Delta takes file:///lake and file:/lake as two locations
    lake = re.sub(r"^file:/+", "file:/", lake.rstrip("/"))
    folders = (
        (config.maintain.lists, LIST),
        (config.maintain.snapshots, SNAPSHOT),
        (f"{lake}/{SECOND_LOOKS_FOLDER}", SECOND_LOOKS),
    )
    reports = config.reports or f"{lake}/reports"
    ports = MaintainPorts(
        clock=context.clock,
        reader=KeptRuns(spark, lake),
        keeper=LakeMaintenance(spark, lake),
        directories=[
            *((uri, partial(HadoopDirectories, hadoop, uri, kind)) for uri, kind in folders if uri),
            (reports, partial(HadoopPages, hadoop, reports)),
        ],
    )
    return maintain(MaintainRequest(TABLES, policy, execute), ports)


def retention_policy(config: Config) -> RetentionPolicy:
    """Returns the retention of each table, of lists, snapshots and pages.

    Raises:
        UsageError: an unknown table, or a retention shorter than the validity of lists.
    """
    section, valid_for = config.maintain, config.list.valid_for
    keep = section.keep
    names = [table.name for table in TABLES]
    for name in keep.tables:
        if name not in names:
            raise UsageError(f"maintain.keep.tables: there is no table {name!r}; tables: {', '.join(names)}")
    tables_ms = dict.fromkeys(names, keep.other_tables) | {WAL_VERDICTS.name: keep.wal_verdicts} | keep.tables
    times = {f"a night of {name}": time for name, time in tables_ms.items()} | {"lists": keep.lists}
    for what, time in times.items():
        if time < valid_for:
            raise UsageError(
                f"maintain.keep: {what} would go after {human_duration(time)}, while a list is valid for "
                f"{human_duration(valid_for)} (list.valid_for); keep it as long at least"
            )
    return RetentionPolicy(
        tables_ms=tables_ms,
        lists_ms=keep.lists,
        snapshots_ms=keep.snapshots,
        reports_ms=keep.reports,
        compact_from=section.compact_from,
        grace_ms=section.vacuum_grace,
        # findings compare tonight with this many nights; one more in case the newest run was repeated and failed
        nights=max(config.findings.stalled_nights, config.findings.growth_nights) + 1,
    )
