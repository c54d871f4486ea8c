"""Wires split-run: RocksDB and SST files through rocksdict, one Spark task for each group of old partitions."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from jobs.cli.context import JobContext
from pipelines.common.errors import UnavailableError, WalsafeError
from pipelines.common.version import VERSION
from pipelines.lake.findings import dated
from pipelines.lake.job_run import JobRun
from pipelines.pegasus.domain.offline.doubts import doubts_of
from pipelines.pegasus.domain.offline.plan import OfflineSplitOptions, OldPartition, PartitionCounts, PartitionResult
from pipelines.pegasus.domain.private_log.names import Gpid
from pipelines.pegasus.domain.report import is_proven
from pipelines.pegasus.sinks.part_files import PartitionFiles
from pipelines.pegasus.sinks.split_output import SplitOutput
from pipelines.pegasus.sources.backup_files import check_backup_files
from pipelines.pegasus.sources.parquet_rows import check_rows, opened_rows
from pipelines.pegasus.sources.replica_db import opened_db
from pipelines.pegasus.sources.replica_logs import ReplicaLogs
from pipelines.pegasus.sources.replica_tree import backup_of, find_old_partitions
from pipelines.pegasus.use_cases.offline_partition import OpenDb, PartitionTools, split_partitions
from pipelines.pegasus.use_cases.run_split import SplitResult


@dataclass(frozen=True, slots=True)
class OfflineSplitRequest:
    """The input of one offline split: exactly one of replicas, backup and rows is set.

    Attributes:
        app_id: the id of the table.
        app: the name of the table that is to be loaded.
        target_id: the id of the table that is to be loaded; None = the output is Parquet.
        data_version: the `pegasus_data_version` of the values in `rows`.
    """

    replicas: str | None
    backup: str | None
    rows: str | None
    app_id: int
    app: str
    cluster: str
    counts: PartitionCounts
    rules: OfflineSplitOptions
    out: str
    target_id: int | None = None
    data_version: int = 1

    @property
    def sources(self) -> list[OldPartition]:
        """The old partitions."""
        if self.replicas is not None:
            return find_old_partitions(self.replicas, self.app_id, self.counts.old)
        if self.rows is not None:
            check_rows(self.rows, self.counts.old)
            return [OldPartition(partition, self.rows) for partition in range(self.counts.old)]
        return backup_of(str(self.backup), self.app_id, self.counts.old)


def split_offline(context: JobContext, request: OfflineSplitRequest, run: JobRun) -> SplitResult:
    """Splits every partition that no earlier run has finished, and publishes the result if nothing speaks against it.

    Raises:
        UsageError, RefusedError, UnavailableError: the error of the first partition that cannot be split.
    """
    sources = request.sources
    prints = {source.partition: fingerprint(source, request) for source in sources}
    whole = hashlib.sha256(json.dumps([*prints.values(), request.target_id]).encode()).hexdigest()
    output = SplitOutput(request.out, request.cluster, request.app, whole)
    parts = output.begin()
    published = parts is not None
    if parts is None:
        groups = request.counts.groups()
        spark = context.spark.sparkContext
        answers = spark.parallelize(groups, len(groups)).map(_worker(request, sources, prints, output)).collect()
        failed = [answer for answer in answers if isinstance(answer, WalsafeError)]
        if failed:
            raise failed[0]
        parts = [part for answer in answers if isinstance(answer, list) for part in answer]
    doubts = tuple(doubts_of(request.app, sources, parts, of_replicas=request.replicas is not None))
    if not published and not is_proven(dated(doubts, run.at_ms, {}, run.acknowledged)):
        target = request.target_id or request.app_id
        output.publish(target, request.app, request.counts.new, parts, parquet=request.rules.parquet)
        published = True
    return SplitResult(request.app, str(output.final) if published else None, request.counts, parts, doubts)


def fingerprint(source: OldPartition, request: OfflineSplitRequest) -> str:
    """Returns a digest of the inputs of a part: names, sizes and times of its files, and the rules."""
    files = []
    for folder in filter(None, (source.database, source.logs)):
        for path in sorted(Path(folder).rglob("*")):
            if path.name != "LOCK" and path.is_file():
                status = path.stat()
                files.append((str(path), status.st_size, status.st_mtime_ns))
    rules = replace(request.rules, now_s=0)  # the time differs between attempts
    told = [VERSION, files, repr(rules), repr(request.counts), request.app_id, request.data_version]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _opener(request: OfflineSplitRequest) -> Callable[[OldPartition], AbstractContextManager[OpenDb]]:
    def opened(source: OldPartition) -> AbstractContextManager[OpenDb]:
        if request.rows is not None:
            return opened_rows(source.database, source.partition, request.data_version)
        if request.backup is not None:
            check_backup_files(source.database)
        return opened_db(source.database)

    return opened


def _worker(
    request: OfflineSplitRequest, sources: Sequence[OldPartition], prints: Mapping[int, str], output: SplitOutput
) -> Callable[[range], list[PartitionResult] | WalsafeError]:
    """Returns the executor's function for one group; it returns WalsafeErrors instead of raising them."""

    def work(group: range) -> list[PartitionResult] | WalsafeError:
        rules = request.rules
        kept = output.kept(group, prints)
        if kept is not None:
            return kept
        try:
            tools = PartitionTools(
                _opener(request),
                lambda source: ReplicaLogs(
                    str(source.logs), Gpid(request.app_id, source.partition), source.valid_offset
                ),
                PartitionFiles(output.part(group), group[0], rules.file_bytes, parquet=rules.parquet),
            )
            done = split_partitions(group, sources, request.counts, rules, tools)
            output.keep(done, prints)
        except WalsafeError as error:
            return error
        except OSError as error:
            said = error.strerror or str(error)
            return UnavailableError(f"{error.filename or output.staging}: {said}; start again, and it goes on")
        return done

    return work
