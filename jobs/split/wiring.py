"""Wires the split jobs: they read state files, private logs and rows, and remember findings in the lake."""

from collections.abc import Sequence
from functools import partial

from pyspark.sql import DataFrame

from jobs.cli.context import JobContext
from pipelines.common.job_result import JobResult
from pipelines.files.executor_streams import open_file
from pipelines.files.file_reader import file_reader_for
from pipelines.files.hadoop_jvm import HadoopJvm, hadoop_configuration
from pipelines.lake.job_run import JobLake, JobRun
from pipelines.pegasus.domain.audit_log.facts import parse_facts
from pipelines.pegasus.domain.rows import Placement
from pipelines.pegasus.domain.state.model import ClusterState
from pipelines.pegasus.sources.private_logs import PrivateLogs
from pipelines.pegasus.sources.row_files import ParquetRows, read_parquet
from pipelines.pegasus.sources.state_files import states_at
from pipelines.pegasus.sources.written_rows import WrittenRows, check_written_rows_at
from pipelines.pegasus.use_cases.audit_log import LogInputs
from pipelines.pegasus.use_cases.split_stale import StaleRequest, split_stale
from pipelines.pegasus.use_cases.split_verify import VerifyRequest, split_verify


def split_lake(context: JobContext, uri: str | None) -> JobLake:
    """Returns the lake in a folder; None = no lake, and no session for it."""
    return JobLake.of(context.spark, uri, f"-{context.job}") if uri else JobLake()


def read_states(context: JobContext, uri: str) -> Sequence[ClusterState]:
    """Returns the states in the state files at a URI of any Hadoop file system."""
    return states_at(file_reader_for(context.spark, uri), uri)


def read_rows(context: JobContext, uri: str, partition_count: int) -> DataFrame:
    """Returns the rows of a table, from Parquet; code that reads them must also use `parquet_errors`.

    Raises:
        UsageError: there are no rows, they cannot be read, or walsafe has written them for another partition count.
        RefusedError: the files are not those of their manifest.
    """
    check_written_rows_at(context.spark, uri, WrittenRows(partition_count=partition_count))
    return read_parquet(context.spark, uri, "docs/split-plan.md")


def log_reader(context: JobContext, uri: str) -> PrivateLogs:
    """Returns a reader of private logs and journals on any Hadoop file system."""
    opener = partial(open_file, hadoop_conf=hadoop_configuration(HadoopJvm.of(context.spark)))
    return PrivateLogs(context.spark, file_reader_for(context.spark, uri), opener)


def log_inputs(context: JobContext, logs: str, facts: str, journal: str | None) -> LogInputs:
    """Reads the inputs of split-audit-log: logs, facts and journal."""
    known = parse_facts(file_reader_for(context.spark, facts).read(facts), facts)
    decoded = log_reader(context, logs).decode(logs)
    return LogInputs(decoded, known, log_reader(context, journal).journal(journal) if journal else None)


def run_split_verify(context: JobContext, request: VerifyRequest, run: JobRun, lake: str | None) -> JobResult:
    """Run split-verify with the production ports; `lake` is the folder of the Delta tables, None = no lake."""
    before, after = request.before, request.after
    given = [_said(before.placement), _said(after.placement)]
    rows = ParquetRows(context.spark, before.uri, after.uri, given=given)
    return split_verify(request, rows, run, JobLake.of(context.spark, lake, "-split-verify"))


def run_split_stale(context: JobContext, request: StaleRequest, run: JobRun, lake: str | None) -> JobResult:
    """Run split-stale with the production ports; `lake` as in `run_split_verify`."""
    rows = ParquetRows(context.spark, request.uri, given=[_said(request.settings.placement)])
    return split_stale(request, rows, run, JobLake.of(context.spark, lake, "-split-stale"))


def _said(placement: Placement) -> WrittenRows:
    return WrittenRows(placement.data_version, placement.count)
