"""Where a cluster keeps its replication queues, as far as the decision depends on it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from pipelines.decide.rule.cluster_view import ClusterView, MergedQueueRow
from pipelines.decide.rule.decision_table import DecisionTable
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.decide.rule.trust import Doubts
from pipelines.decide.rule.verdict import ArchivedFile, Decision
from pipelines.hbase.replication_queues import QueueId
from pipelines.snapshot.model import Snapshot
from pipelines.snapshot.opened_snapshot import OpenedSnapshot


@dataclass(frozen=True, slots=True)
class QueueNeed:
    """The answers for the files that one queue still has to read in one group.

    Attributes:
        row: the queue.
        group: the WAL group; None = every group in which the queue has no offset.
        need: the smallest WAL timestamp that the queue needs, ms; None = no timestamp says it.
        buckets: numbers of the answers.
    """

    row: MergedQueueRow
    group: str | None
    need: int | None
    buckets: tuple[int, ...]


class ReplicationQueueStorage(Protocol):
    """A storage of replication queues; `replication_storage_factory` chooses it for a snapshot.

    There are two: `table_queue_storage` and `zookeeper_queue_storage`. The names of the classes are those of HBase.
    """

    @property
    def name(self) -> str:
        """Its name in snapshot.json (`queue_storage`)."""
        ...

    @property
    def asks_peers(self) -> bool:
        """Whether HBase's cleaner asks which peers exist.

        Then no file is needed if there is no peer, and what the removal of a peer frees is a question to the rule. Else
        only the names in queues count.
        """
        ...

    @property
    def new_peer_needs_archived(self) -> bool:
        """Whether a peer that is being added may need files that were archived before the queues were read.

        With queues in ZooKeeper a new peer gets the WALs that are being written at that time.
        """
        ...

    @property
    def frees_while_moving(self) -> bool:
        """Whether a file whose last queue has shipped it is DELETABLE although queues moved during the capture."""
        ...

    def elsewhere(self, snapshot: Snapshot) -> Doubts:
        """Yields why the queues are, or may be, in the other storage: then this one proves nothing."""
        ...

    def doubts(self, opened: OpenedSnapshot, release: Release) -> Doubts:
        """Yields why nothing in the snapshot can be trusted, in the order in which it is asked."""
        ...

    def queue_ids(self, opened: OpenedSnapshot) -> frozenset[QueueId]:
        """Returns the queues of both readings."""
        ...

    def restless(self, opened: OpenedSnapshot) -> str | None:
        """Returns why queues may have moved without being seen by the two readings, or None."""
        ...

    def view(self, opened: OpenedSnapshot, settings: ReconcileSettings, untrusted: str | None) -> ClusterView:
        """Builds the view of the cluster; `untrusted` is the first of its doubts."""
        ...

    def decide(self, view: ClusterView, file: ArchivedFile) -> Decision:
        """Decides a file by the queues: the last question of `verdict.decide`."""
        ...

    def decision_table(self, view: ClusterView, first_bucket: int = 0) -> DecisionTable:
        """Builds the fast form of `decide`: a table with the answers for all files."""
        ...

    def needs(self, view: ClusterView, table: DecisionTable) -> Iterator[QueueNeed]:
        """Yields what each queue still has to read, in the order of `view.rows`, as answers of the view's table."""
        ...
