"""The inspect-wals use case: reads the WALs that queues still need and tells how much of them their peers want."""

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from pipelines.common.errors import UnavailableError, UsageError
from pipelines.common.human import human_bytes, human_count
from pipelines.common.job_result import JobResult
from pipelines.decide.rule.cluster_view import MergedQueueRow
from pipelines.decide.rule.replication_storage_factory import replication_queue_storage
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.trust import Doubts
from pipelines.hbase.wal_names import parse_wal_name
from pipelines.lake.job_run import JobLake
from pipelines.queues.needed_wals import named_wals
from pipelines.queues.snapshot_run import believed, malformed, snapshot_run
from pipelines.queues.wals.executors import read_wals
from pipelines.queues.wals.findings import wal_findings
from pipelines.queues.wals.pending import (
    by_group,
    cuts_of,
    is_never_replicated,
    queue_edits,
)
from pipelines.queues.wals.queue_storage import INSPECTED_STORAGES
from pipelines.queues.wals.rows import (
    INSPECTION_SUFFIX,
    UNREADABLE,
    InspectedFile,
    file_row,
    table_rows,
)
from pipelines.queues.wals.text import inspection_lines, inspection_result
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from pipelines.snapshot.reader import SnapshotDirectories
from schemas.queue_edits import QUEUE_EDITS
from schemas.wal_files import WAL_FILES
from schemas.wal_tables import WAL_TABLES

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InspectRequest:
    """The input of one inspection.

    Attributes:
        snapshot: the snapshot directory.
        settings: from the configuration.
        paths: read exactly these files, even if no queue needs them; empty = all WALs that a queue still needs,
            restricted by the other options.
        server: the server that wrote the WALs: `host,port,startcode`, `host,port` or `host`.
        group: one WAL group, URL-encoded.
        queue: one queue, spelled like a row key of `hbase:replication`; in ZooKeeper also `<owner>/<queue id>`.
    """

    snapshot: str
    settings: ReconcileSettings
    paths: tuple[str, ...] = ()
    server: str | None = None
    group: str | None = None
    queue: str | None = None

    @property
    def suffix(self) -> str:
        """The suffix of the run id, with a digest of the restrictions if there are any."""
        limits = (sorted(self.paths), self.server, self.group, self.queue)
        digest = hashlib.sha256(json.dumps(limits).encode()).hexdigest()[:8]
        return f"-{digest}{INSPECTION_SUFFIX}" if any(limits) else INSPECTION_SUFFIX


def inspect_wals(
    request: InspectRequest, spark: SparkSession, snapshots: SnapshotDirectories, lake: JobLake
) -> JobResult:
    """Read the WALs and report their content.

    Returns:
        Exit code 5 when a finding of severity error is new and not acknowledged, else 0.

    Raises:
        UsageError: no WAL or queue matches the path, server, group or queue.
        RefusedError: the snapshot differs from what was captured, or its queues cannot be read.
        UnavailableError: no file could be read, or the lake cannot be written.
    """
    (opened,) = snapshots.open([request.snapshot])
    snapshot = believed(opened, _doubts(opened)).known
    storage = INSPECTED_STORAGES[snapshot.queue_storage]
    if request.queue is not None:
        request = replace(request, queue=storage.row_name(opened, request.queue))
    rows = _rows(request, storage.rows(opened))
    listed = _listed(request, snapshots, opened, rows)
    size = human_bytes(sum(file.length for file in listed))
    _LOG.info("reading %s, %s", human_count(len(listed), "WAL"), size)
    files = read_wals(spark, snapshot.wal_root, listed, cuts_of(rows))
    broken = [file for file in files if file.fault == UNREADABLE]
    if broken and len(broken) == len(files):
        raise UnavailableError(f"no WAL could be read; the first: {broken[0].problem}. Put it right and try again")
    is_whole = not request.paths
    queues = queue_edits(rows, snapshot.peers, by_group(files), is_whole=is_whole)
    run = snapshot_run(opened, request.suffix, request.settings)
    tables = (
        (WAL_FILES, [file_row(file) for file in files]),
        (WAL_TABLES, [row for file in files for row in table_rows(file)]),
        (QUEUE_EDITS, queues),
    )
    findings = run.record(lake, tables, wal_findings(queues, files, is_whole=is_whole))
    lines = inspection_lines(snapshot.cluster, files, queues, findings)
    return run.answer(inspection_result(snapshot, files, queues), lines, findings)


def _doubts(opened: OpenedSnapshot) -> Doubts:
    """Yields why the queues are not where they were read, or cannot be read."""
    yield from replication_queue_storage(opened.known).elsewhere(opened.known)
    yield from malformed(
        opened, f"malformed queue: {opened.malformed}; no offset can be believed. Mend it, capture again"
    )


def _rows(request: InspectRequest, rows: Sequence[MergedQueueRow]) -> list[MergedQueueRow]:
    """Returns the queues that match `--queue` and `--server`."""
    found = list(rows)
    if request.queue is not None:
        found = [row for row in found if str(row.queue) == request.queue]
        if not found:
            shown = ", ".join(str(row.queue) for row in rows[:5])
            raise UsageError(f"--queue {request.queue}: no such queue; there are {len(rows)}: {shown or 'none'}")
    if request.server is not None:
        found = [row for row in found if f"{row.queue.wals_of},".startswith(f"{request.server.rstrip(',')},")]
        if not found:
            shown = ", ".join(sorted({str(row.queue.wals_of) for row in rows})[:5])
            raise UsageError(f"--server {request.server}: no queue reads WALs of it; queues are of {shown or 'none'}")
    return found


def _listed(
    request: InspectRequest, snapshots: SnapshotDirectories, opened: OpenedSnapshot, rows: Sequence[MergedQueueRow]
) -> list[InspectedFile]:
    """Returns the files to read, from the listing."""
    listing = snapshots.files([opened])
    root = f"{opened.known.wal_root}/"
    paths = [path.removeprefix(root) for path in request.paths]
    if paths:
        frame = named_wals(listing, paths)
    else:
        frame = INSPECTED_STORAGES[opened.known.queue_storage].wals(listing, rows, request.group)
    found = []
    for row in frame.sort("path").collect():
        name = parse_wal_name(row["path"].rpartition("/")[2])
        if name is None and paths:
            raise UsageError(f"{row['path']} is no WAL by its name")
        if name is None:  # a znode can have any name
            _LOG.warning("%s is named by a queue, and is no WAL by its name: not read", row["path"])
            continue
        if paths or name.server is None or not is_never_replicated(name, name.server):
            found.append(InspectedFile(row["path"], name, row["length"]))
    missing = sorted(set(paths) - {file.path for file in found})
    if missing:
        raise UsageError(f"--path {missing[0]}: the listing has no such file; give paths below {root} as explain does")
    if request.group is not None and not found:
        raise UsageError(f"--group {request.group}: no queue still needs a WAL of it; groups are URL-encoded")
    return sorted(found, key=lambda file: (file.name.group, file.name.timestamp or 0, file.name.name))
