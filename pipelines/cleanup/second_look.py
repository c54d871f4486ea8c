"""Implements the second look of the clean-up: captures and decides again, with the parts of capture and reconcile."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from pipelines.capture.capture import CaptureSources, CaptureTarget
from pipelines.capture.capture_zookeeper import ZooKeeperSources
from pipelines.capture.ports import FileSource, LiveSource
from pipelines.capture.timeline import RetryPolicy
from pipelines.cleanup.audit import LakeAudit
from pipelines.cleanup.audit_ports import PlannedFile, SecondLookResult
from pipelines.cleanup.clean_plan import clean_plan, in_pieces, lines_not_deletable, listed_paths, purge_plan
from pipelines.cleanup.deletions import CleanupFile, FileOutcome
from pipelines.cleanup.ports import WalStore
from pipelines.common.clock import Clock
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError
from pipelines.common.spark.few_rows import at_hand, few
from pipelines.common.spark.local_frames import local_frame
from pipelines.common.spark.local_rows import local_rows
from pipelines.decide.rule.replication_storage_factory import replication_queue_storage
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.spark.decision_frames import decision_frames
from pipelines.decide.spark.verdicts import looked_up, with_answers
from pipelines.files.file_batch import FileBatch
from pipelines.files.scratch import ScratchDirectory
from pipelines.hbase.wal_root import OLD_WALS
from pipelines.lake.run_summary import RunKey
from pipelines.reconcile.cluster_cases import cluster_cases
from pipelines.reconcile.delete_list import Manifest
from pipelines.reconcile.list_reader import DeleteListReader
from pipelines.snapshot.model import Snapshot
from pipelines.snapshot.reader import SnapshotDirectories
from pipelines.snapshot.target import SnapshotTarget
from pipelines.snapshot.writer import SnapshotWriter
from schemas.snapshot_files import SNAPSHOT_FILES

_COLUMNS = ("path", "length", "modification_time", "verdict", "reason")


@dataclass(frozen=True, slots=True)
class FilesBelow(LiveSource):
    """Lists the files of a second look through the store; a `FileSource`.

    Attributes:
        directory: the directory that is listed as `oldWALs`.
    """

    store: WalStore
    directory: str

    def files(self) -> Iterator[FileBatch]:
        """See `FileSource.files`."""
        for batch in self.store.walk(self.directory):
            paths = [f"{OLD_WALS}/{path}" for path in batch.paths]
            yield FileBatch(paths, batch.lengths, batch.modification_times)


@dataclass(frozen=True)
class CaptureParts:
    """The parts of a capture; see `pipelines.capture.capture` and `capture_zookeeper`.

    Attributes:
        sources: returns the sources; restore never asks for them.
        settings: the settings of reconcile, with the same opt-ins.
        target: returns the target of a snapshot for a URI.
    """

    cluster: CaptureTarget
    sources: Callable[[], CaptureSources | ZooKeeperSources]
    settings: ReconcileSettings
    patience: RetryPolicy
    clock: Clock
    target: Callable[[str], SnapshotTarget]


class SparkSecondLook:
    """Implements `SecondLook` with the sources of a capture, Spark and the lake.

    Args:
        spark: the session.
        parts: the parts of the capture; each look replaces the file source by its own.
        store: lists the files.
        audit: reads what was decided and done.
        lists: reads the lines of delete-safe lists.
        scratch: keeps the snapshots until `forget`; Spark's executors can read it.
    """

    def __init__(
        self,
        spark: SparkSession,
        parts: CaptureParts,
        store: WalStore,
        audit: LakeAudit,
        lists: DeleteListReader,
        scratch: ScratchDirectory,
    ) -> None:
        self._spark = spark
        self._parts = parts
        self._store = store
        self._audit = audit
        self._lists = lists
        self._scratch = scratch
        self._looks = 0

    def at_list(self, manifest: Manifest, run: RunKey) -> SecondLookResult:
        """See `SecondLook.at_list`."""
        listed = self._audit.listed(run, manifest.files)
        paths = at_hand(listed_paths(self._lists.lines(manifest), self._parts.cluster.wal_root), manifest.files)
        _check_lines(paths, listed, manifest)
        looked, decisions, _ = self._look(FilesBelow(self._store, f"{self._parts.cluster.wal_root}/{OLD_WALS}"))
        plan = clean_plan(paths, listed, decisions, self._audit.outcomes(run))
        return replace(looked, files=_planned(plan, manifest.files))

    def at_quarantine(self, directory: str, run: RunKey) -> SecondLookResult:
        """See `SecondLook.at_quarantine`."""
        looked, decisions, files = self._look(FilesBelow(self._store, f"{directory}/{OLD_WALS}"))
        return replace(looked, files=_planned(purge_plan(decisions, self._audit.outcomes(run)), files))

    def forget(self) -> None:
        """See `SecondLook.forget`."""
        self._scratch.remove()

    def _look(self, files: FileSource) -> tuple[SecondLookResult, DataFrame, int]:
        """Captures and decides again.

        Returns the cluster's state, the verdict of each file, and the number of files.
        """
        parts = self._parts
        self._looks += 1
        sources: CaptureSources | ZooKeeperSources = replace(parts.sources(), files=files)
        with SnapshotWriter(parts.target(f"{self._scratch.uri}/{self._looks}")) as writer:
            captured = sources.capture(parts.cluster, writer, clock=parts.clock, patience=parts.patience)
        reader = SnapshotDirectories(self._spark, parts.settings.row_layout)
        (opened,) = reader.open([captured.uri])
        if opened.snapshot is None:
            raise RefusedError(opened.fault_condition, opened.fault or f"{captured.uri} cannot be read")
        (case,) = cluster_cases([opened], None, parts.settings, parts.clock.now_ms())
        refused, decisions = case.refused, self._nothing()
        if captured.files == 0:
            refused = None  # no harm in an empty listing, which makes a snapshot untrusted: there is no file to decide
        elif refused is None and case.view is not None and case.table is not None:
            frames = decision_frames(self._spark, [(case.view, case.table)])
            decided = with_answers(looked_up(reader.files([opened]), frames), frames).select(*_COLUMNS)
            decisions = at_hand(decided, captured.files)
        looked = SecondLookResult(
            refused=refused,
            restless=captured.restless,
            cluster_id=captured.snapshot.cluster_id,
            peer_ids=tuple(sorted(peer.peer_id for peer in captured.snapshot.peers)),
            snapshot_sha256=opened.sha256 or "",
            files=(),
            add_peer_running=_may_add_peer(captured.snapshot),
            condition=case.condition,
        )
        return looked, decisions, captured.files

    def _nothing(self) -> DataFrame:
        empty = local_frame(self._spark, [], SNAPSHOT_FILES).select("path", "length", "modification_time")
        return empty.selectExpr("*", "CAST(NULL AS STRING) AS verdict", "CAST(NULL AS STRING) AS reason")


def _may_add_peer(snapshot: Snapshot) -> bool:
    """Whether a peer is being added, or may be, where that matters."""
    matters = replication_queue_storage(snapshot).new_peer_needs_archived
    return matters and any(
        flags is None or flags.add_peer_running is not False for flags in (snapshot.flags, snapshot.flags_2)
    )


def _check_lines(paths: DataFrame, listed: DataFrame, manifest: Manifest) -> None:
    """Checks that every line is a file that this run found DELETABLE, and that no file occurs twice.

    Raises:
        RefusedError: a line is not, or occurs twice.
    """
    foreign = paths.where("path IS NULL").select("line").limit(1).collect()
    if foreign:
        raise RefusedError(
            Condition.OUTSIDE_WAL_ROOT,
            f"the list names {foreign[0]['line']!r}, which does not lie below oldWALs of the configured wal_root: "
            "nothing was moved. Check wal_root; if it is right, reconcile again",
        )
    odd = lines_not_deletable(paths, listed).limit(1).collect()
    if odd:
        raise RefusedError(
            Condition.LIST_DAMAGED,
            f"the list of run {manifest.run_id} names {odd[0]['line']!r}, which the run did not find DELETABLE, or "
            "names it twice: nothing was moved. Reconcile again",
        )


def _planned(plan: DataFrame, files: int) -> Iterator[PlannedFile]:
    """Yields the rows of a plan by path, many rows one piece at a time."""
    for row in plan.sort("path").collect() if few(files) else local_rows(in_pieces(plan, files)):
        subject = CleanupFile(row["path"], row["length"], row["modification_time"], row["reason"])
        outcome = row["outcome"]
        yield PlannedFile(subject, None if outcome is None else FileOutcome(outcome), row["why"])
