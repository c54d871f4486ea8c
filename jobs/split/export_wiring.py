"""Wires split-export: RocksDB through rocksdict, in Spark tasks for ranges of partitions."""

from dataclasses import dataclass

from jobs.cli.context import JobContext
from jobs.split.run_wiring import database_opener, digest, fingerprint, hadoop_for, partition_tools, place_of
from jobs.split.split_tasks import SplitInputs, finished_parts
from pipelines.files.hadoop_jvm import hadoop_configuration
from pipelines.lake.job_run import JobRun
from pipelines.pegasus.domain.offline.doubts import input_doubts
from pipelines.pegasus.domain.offline.plan import OfflineSplitOptions, PartitionResult, backup_began
from pipelines.pegasus.domain.offline.ranges import SplitTask
from pipelines.pegasus.sinks.part_files import PartitionFiles
from pipelines.pegasus.sinks.split_output import SplitOutput
from pipelines.pegasus.sources.cold_backup import backup_of
from pipelines.pegasus.sources.replica_tree import find_old_partitions
from pipelines.pegasus.use_cases.export_rows import export_partition
from pipelines.pegasus.use_cases.frame import refusals
from pipelines.pegasus.use_cases.run_split import OfflineResult


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """The input of one export: either replicas or backup is set.

    Attributes:
        app_id: the id of the table.
        app: the name of the table.
        count: the number of its partitions.
    """

    replicas: str | None
    backup: str | None
    app_id: int
    app: str
    cluster: str
    count: int
    rules: OfflineSplitOptions
    out: str


def export_table(context: JobContext, request: ExportRequest, run: JobRun) -> OfflineResult:
    """Exports every partition that no earlier run has finished, and publishes the result if it has all rows.

    Raises:
        UsageError, RefusedError, UnavailableError: the error of the first partition that cannot be exported.
    """
    if request.replicas is not None:
        sources = find_old_partitions(*place_of(context, request.replicas), request.app_id, request.count)
    else:
        sources = backup_of(*place_of(context, str(request.backup)), request.app_id, request.count)
    hadoop = hadoop_for(context, sources)
    hadoop_conf = hadoop_configuration(hadoop) if hadoop else ""
    given = ["export as version 1", request.app_id]
    prints = {source.partition: fingerprint(source, request.rules, given, hadoop) for source in sources}
    output = SplitOutput(request.out, request.cluster, request.app, digest([*prints.values()]))

    def export(task: SplitTask, files: PartitionFiles) -> list[PartitionResult]:
        opener = database_opener(task, hadoop_conf, of_backup=request.backup is not None)
        tools = partition_tools(request.app_id, opener, hadoop_conf, files)
        return [export_partition(task, sources[index], request.rules, tools) for index in task.group]

    groups = [range(index, index + 1) for index in range(request.count)]
    inputs = SplitInputs(groups, sources, prints, request.backup is not None)
    with output.lock():
        staged = finished_parts(context, output, inputs, request.rules, export)
        doubts = tuple(input_doubts(request.app, sources, staged.results, of_replicas=request.replicas is not None))
        is_output = staged.published or not refusals(run, doubts)
        if is_output and not staged.published:
            output.publish(request.app_id, request.app, request.count, staged, parquet=True)
    began = None if request.backup is None else backup_began(sources)
    location = str(output.final) if is_output else None
    return OfflineResult(request.app, location, staged.results, doubts, began, staged.published)
