"""Wires split-run: RocksDB and SST files through rocksdict, one Spark task per old partition."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from jobs.cli.context import JobContext
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError, WalsafeError
from pipelines.common.version import VERSION
from pipelines.pegasus.domain.encryption import MAGIC, refuse_encrypted
from pipelines.pegasus.domain.offline.doubts import doubts_of
from pipelines.pegasus.domain.offline.plan import OfflineSplitOptions, OldPartition, PartitionCounts, PartitionResult
from pipelines.pegasus.domain.private_log.blocks import LogEnd
from pipelines.pegasus.domain.private_log.mutations import Mutation
from pipelines.pegasus.domain.private_log.names import LogName, parse_log_name
from pipelines.pegasus.domain.private_log.reader import PrivateLogReader
from pipelines.pegasus.sinks.part_files import PartitionFiles
from pipelines.pegasus.sinks.split_output import SplitOutput
from pipelines.pegasus.sources.parquet_rows import check_rows, opened_rows
from pipelines.pegasus.sources.replica_db import opened_db
from pipelines.pegasus.sources.replica_tree import backup_of, find_old_partitions
from pipelines.pegasus.transforms.log_checksum import crc32c
from pipelines.pegasus.use_cases.offline_partition import PartitionTools, split_partition
from pipelines.pegasus.use_cases.run_split import SplitResult


@dataclass(frozen=True, slots=True)
class OfflineSplitRequest:
    """The input of one offline split: exactly one of replicas, backup and rows is set."""

    replicas: str | None
    backup: str | None
    rows: str | None
    app_id: int
    app: str
    cluster: str
    counts: PartitionCounts
    rules: OfflineSplitOptions
    out: str

    @property
    def sources(self) -> list[OldPartition]:
        """The old partitions."""
        if self.replicas is not None:
            return find_old_partitions(self.replicas, self.app_id, self.counts.old)
        if self.rows is not None:
            check_rows(self.rows, self.counts.old)
            return [OldPartition(partition, self.rows) for partition in range(self.counts.old)]
        return backup_of(str(self.backup), self.app_id, self.counts.old)


def split_offline(context: JobContext, request: OfflineSplitRequest) -> SplitResult:
    """Split every partition that no earlier run has finished, and publish the result.

    Raises:
        UsageError, RefusedError, UnavailableError: the error of the first partition that cannot be split.
    """
    sources = request.sources
    prints = [(source, fingerprint(source, request)) for source in sources]
    whole = hashlib.sha256(json.dumps([told for _, told in prints]).encode()).hexdigest()
    output = SplitOutput(request.out, request.cluster, request.app, whole)
    parts = output.begin()
    if parts is None:
        spark = context.spark.sparkContext
        answers = spark.parallelize(prints, len(prints)).map(_worker(request, output)).collect()
        failed = [answer for answer in answers if isinstance(answer, WalsafeError)]
        if failed:
            raise failed[0]
        parts = [answer for answer in answers if isinstance(answer, PartitionResult)]
        output.publish(request.app_id, request.app, request.counts.new, parts, parquet=request.rules.parquet)
    doubts = tuple(doubts_of(request.app, sources, parts, of_replicas=request.replicas is not None))
    return SplitResult(request.app, str(output.final), request.counts, parts, doubts)


def fingerprint(source: OldPartition, request: OfflineSplitRequest) -> str:
    """Returns a digest of the inputs of a part: names, sizes and times of its files, and the rules."""
    files = []
    for folder in filter(None, (source.database, source.logs)):
        for path in sorted(Path(folder).rglob("*")):
            if path.name != "LOCK" and path.is_file():
                status = path.stat()
                files.append((str(path), status.st_size, status.st_mtime_ns))
    # the instant of expiry differs between attempts, but only whether expired rows are dropped matters
    rules = replace(request.rules, expired_at_s=None if request.rules.expired_at_s is None else 0)
    told = [VERSION, files, repr(rules), repr(request.counts), request.app_id]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def logged_mutations(folder: str) -> Iterator[Mutation]:
    """Yields all mutations of a replica's logs, in order.

    Raises:
        RefusedError: a log is corrupt before its end, or encrypted.
        UnavailableError: the folder cannot be read.
    """
    try:
        logs = sorted((_name(path), path) for path in Path(folder).iterdir() if path.name.startswith("log."))
        for name, path in logs:
            with path.open("rb") as stream:
                refuse_encrypted(stream.peek(len(MAGIC)), str(path))
                reader = PrivateLogReader(stream.read, crc32c, name.start_offset)
                yield from reader
            if reader.ending is LogEnd.CORRUPT:
                raise RefusedError(
                    Condition.REPLICA_DAMAGED, f"{path} is broken: {reader.problem}. Take the replica of another server"
                )
    except OSError as error:
        raise UnavailableError(f"{folder} cannot be read: {error.strerror}") from None


def _name(path: Path) -> LogName:
    return parse_log_name(path.name)


def _worker(
    request: OfflineSplitRequest, output: SplitOutput
) -> Callable[[tuple[OldPartition, str]], PartitionResult | WalsafeError]:
    """Returns the executor's function for one old partition; it returns WalsafeErrors instead of raising them."""

    def work(task: tuple[OldPartition, str]) -> PartitionResult | WalsafeError:
        source, told = task
        rules = request.rules
        kept = output.kept(source.partition, told)
        if kept is not None:
            return kept
        tools = PartitionTools(
            opened_db if request.rows is None else partial(opened_rows, partition=source.partition),
            logged_mutations,
            lambda partition: PartitionFiles(
                output.part(partition), partition, rules.file_bytes, parquet=rules.parquet
            ),
        )
        try:
            done = split_partition(source, request.counts, rules, tools)
            output.keep(done, told)
        except WalsafeError as error:
            return error
        except OSError as error:
            said = error.strerror or str(error)
            return UnavailableError(f"{error.filename or output.staging}: {said}; start again, and it goes on")
        return done

    return work
