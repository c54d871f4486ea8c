"""The input of all findings of a night."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.decision_table import DecisionTable
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.totals import BucketTotal
from pipelines.decide.rule.verdict import Reason
from pipelines.lake.run_summary import PinnedRow, QueueOffsetRow
from pipelines.reconcile.past import PastNight
from pipelines.reconcile.peer_states import SyncPeerRow
from pipelines.reconcile.remote_wals import RemoteDirectory
from pipelines.snapshot.extras import Extras
from pipelines.snapshot.model import Snapshot
from pipelines.snapshot.other_families import OtherFamilies


@dataclass(frozen=True, slots=True)
class OffsetWal:
    """The listed WAL of an offset: whether it is below oldWALs, and its length in bytes."""

    archived: bool
    length: int


@dataclass(frozen=True, slots=True)
class OddDirectory:
    """Files of one directory with one of the reasons in `ODD_REASONS`."""

    reason: str
    directory: str
    files: int
    bytes: int
    example: str


ODD_REASONS = (Reason.POISON_NAME, Reason.INVALID_NAME, Reason.FUTURE_TIMESTAMP)


@dataclass(frozen=True)
class Evidence:
    """Everything that the findings of one cluster are derived from.

    Attributes:
        totals: of this cluster.
        queues: rows of `queue_offsets`.
        pinned: rows of `pinned_bytes`.
        offset_wals: by name, the listed WALs of offsets.
        odd_names: directories with files whose name or age causes a finding.
        past: earlier nights, newest first.
        extras: the snapshot's extras.
        beside: HFile references and last pushed sequence ids.
        remote: directories below `remoteWALs/`.
        sync_peers: rows of `sync_peers`.
    """

    snapshot: Snapshot
    view: ClusterView
    table: DecisionTable
    settings: ReconcileSettings
    totals: Sequence[BucketTotal]
    queues: Sequence[QueueOffsetRow]
    pinned: Sequence[PinnedRow]
    offset_wals: Mapping[str, OffsetWal] = field(default_factory=dict)
    odd_names: Sequence[OddDirectory] = ()
    past: Sequence[PastNight] = ()
    extras: Extras = field(default_factory=Extras)
    beside: OtherFamilies = field(default_factory=OtherFamilies)
    remote: Sequence[RemoteDirectory] = ()
    sync_peers: Sequence[SyncPeerRow] = ()


def of_reason(evidence: Evidence, reason: Reason) -> tuple[int, int]:
    """Returns the number of files and bytes under oldWALs with a reason."""
    totals = [total for total in evidence.totals if total.archived and total.reason == reason.value]
    return sum(total.files for total in totals), sum(total.bytes for total in totals)
