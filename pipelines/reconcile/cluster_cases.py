"""Builds the case of each cluster of a run: from the opened snapshot to the view and table that decide its files."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UsageError
from pipelines.common.instants import format_instant
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.decision_table import DecisionTable
from pipelines.decide.rule.queue_storage import ReplicationQueueStorage
from pipelines.decide.rule.replication_storage_factory import replication_queue_storage
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.totals import BucketTotal
from pipelines.decide.rule.trust import Doubts, first_doubt
from pipelines.decide.rule.verdict import Reason, Verdict
from pipelines.lake.job_run import default_run_id
from pipelines.lake.run_summary import RunKey
from pipelines.snapshot.backup import backup_of
from pipelines.snapshot.capture_order import foreign_listing_reason
from pipelines.snapshot.model import QUEUE_STORAGE_TABLE, Snapshot
from pipelines.snapshot.opened_snapshot import OpenedSnapshot

CLOCK_TOLERANCE_MS = 300_000
"""A capture whose start is later than this machine's clock by more than this (ms) is refused."""
NIGHTLY, REPLAY = "NIGHTLY", "REPLAY"
UNREADABLE = "unreadable-"
"""How the default run id of a cluster begins whose snapshot cannot be read."""


@dataclass(frozen=True)
class ClusterCase:
    """One cluster of the run.

    Attributes:
        key: cluster, run_id and run_date.
        refused: why the run must not emit a list for the cluster; None = not refused so far.
        view: None if snapshot.json cannot be read.
        table: the decision table of `view`.
        mode: NIGHTLY, or REPLAY after `not_after`.
        not_after: ms since the epoch.
        condition: the name for `refused`; it means nothing without one.
        capacity_bytes: bytes that oldWALs and the quarantine may take together, by the configuration.
    """

    key: RunKey
    opened: OpenedSnapshot
    refused: str | None
    view: ClusterView | None
    table: DecisionTable | None
    mode: str
    not_after: int
    condition: Condition = Condition.SNAPSHOT_UNTRUSTED
    capacity_bytes: int | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot; only for a case whose snapshot.json was read."""
        return self.opened.known

    @property
    def believed(self) -> tuple[ClusterView, DecisionTable]:
        """The view and decision table of a case that is not refused.

        Raises:
            RefusedError: the case is refused.
        """
        if self.refused is not None or self.view is None or self.table is None:
            raise RefusedError(self.condition, f"{self.opened.uri}: {self.refused or 'it cannot be read'}")
        return self.view, self.table

    @property
    def has_files(self) -> bool:
        """Whether the files of its listing can be decided."""
        return self.opened.listing_readable

    def refuse(self, reason: str) -> "ClusterCase":
        """Returns the case after the gate refused it: every file becomes HELD, SNAPSHOT_UNTRUSTED."""
        view = None if self.view is None else replace(self.view, untrusted=reason)
        return replace(self, refused=reason, view=view, condition=Condition.GATE_FAILED)


def cluster_cases(
    opened: Sequence[OpenedSnapshot],
    run_id: str | None,
    settings: ReconcileSettings,
    now: int,
    cluster: str | None = None,
) -> list[ClusterCase]:
    """Checks whether each snapshot can be trusted, and builds its view and decision table.

    Args:
        opened: the run's snapshots.
        run_id: from the command line; None = the default of each snapshot.
        settings: from the configuration.
        now: the wall clock, ms since the epoch; it decides only whether `not_after` has passed and whether the capture
            starts in the future.
        cluster: the cluster of a snapshot that cannot be read; None = such a snapshot is named after its directory.

    Raises:
        UsageError: two snapshots of one cluster.
    """
    names = [one.snapshot.cluster if one.snapshot else cluster or _directory_name(one.uri, 1) for one in opened]
    if cluster is None:  # a broken snapshot whose directory has the name of another cluster must not stop that one
        names = [
            _directory_name(one.uri, 2) if one.snapshot is None and names.count(name) > 1 else name
            for one, name in zip(opened, names, strict=True)
        ]
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise UsageError(f"two snapshots of cluster {twice[0]} in one run; give one snapshot a cluster")
    bucket = 0
    found: list[ClusterCase] = []
    for one, name in zip(opened, names, strict=True):
        case = _case(one, name, run_id, settings, now, bucket)
        bucket = case.table.next_bucket if case.table else bucket
        found.append(case)
    return found


def _directory_name(uri: str, elements: int) -> str:
    """Returns a name for the cluster of a snapshot that cannot be read, made of the last elements of its path."""
    text = "_".join(uri.rstrip("/").split("/")[-elements:])
    return re.sub(r"[^A-Za-z0-9._-]", "_", text)[:64].lstrip("._-") or "unknown"


def _case(
    opened: OpenedSnapshot, name: str, run_id: str | None, settings: ReconcileSettings, now: int, bucket: int
) -> ClusterCase:
    if opened.snapshot is None or opened.snapshot.step("files") is None:
        reason = opened.fault or "snapshot.json has no step 'files'; capture again"
        fallback = run_id or f"{UNREADABLE}{(opened.sha256 or '0' * 8)[:8]}"
        bare = replace(opened, snapshot=None, listing_readable=False)
        condition = opened.fault_condition if opened.fault else Condition.SNAPSHOT_INCOMPLETE
        return ClusterCase(RunKey.of(name, fallback, now), bare, reason, None, None, NIGHTLY, now, condition)
    snapshot = opened.snapshot
    started = snapshot.files_step.started_at
    storage = replication_queue_storage(snapshot)
    doubt = first_doubt(_doubts(opened, storage, settings, now))
    condition, refused = doubt or (Condition.SNAPSHOT_UNTRUSTED, None)
    view = _view(opened, storage, settings, refused)
    not_after = started + settings.valid_for_ms
    return ClusterCase(
        key=RunKey.of(snapshot.cluster, run_id or default_run_id(started, opened.sha256 or ""), started),
        opened=opened,
        refused=refused,
        view=view,
        table=storage.decision_table(view, bucket),
        mode=REPLAY if now > not_after else NIGHTLY,
        not_after=not_after,
        condition=condition,
        capacity_bytes=settings.capacity_bytes,
    )


def _doubts(opened: OpenedSnapshot, storage: ReplicationQueueStorage, settings: ReconcileSettings, now: int) -> Doubts:
    """Yields why the run must not emit a list for the cluster, in the order in which it is asked."""
    snapshot = opened.known
    yield opened.fault_condition, opened.fault
    yield Condition.CLOCK_WRONG, _clock_fault(snapshot.files_step.started_at, now)
    if opened.malformed:
        of_table = f"malformed queue row: {opened.malformed}. HBase's own cleaner stops at it too"
        in_table = snapshot.queue_storage == QUEUE_STORAGE_TABLE
        yield Condition.QUEUE_MALFORMED, of_table if in_table else f"malformed queues: {opened.malformed}"
    yield from storage.doubts(opened, settings.release)
    foreign = foreign_listing_reason(snapshot, opened.listing.live_servers, storage.queue_ids(opened))
    yield Condition.MIXED_CLUSTERS, foreign


def _view(
    opened: OpenedSnapshot, storage: ReplicationQueueStorage, settings: ReconcileSettings, refused: str | None
) -> ClusterView:
    view = storage.view(opened, settings, refused)
    backups = opened.extras.backups
    return view if backups is None else replace(view, backup=backup_of(backups))


def _clock_fault(started: int, now: int) -> str | None:
    if started - now > CLOCK_TOLERANCE_MS:
        return (
            f"the capture says it started at {format_instant(started)}, but it is {format_instant(now)} here: one of "
            "the two clocks is wrong, so no age can be trusted. Check NTP and capture again"
        )
    return None


def untrusted_totals(totals: Sequence[BucketTotal]) -> list[BucketTotal]:
    """Returns the totals of a refused cluster: every archived file is HELD, SNAPSHOT_UNTRUSTED."""
    return [
        replace(total, verdict=Verdict.HELD.value, reason=Reason.SNAPSHOT_UNTRUSTED.value) if total.archived else total
        for total in totals
    ]
