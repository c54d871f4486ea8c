"""Checks the second promise for queues in ZooKeeper: HBase's own cleaner would also delete every DELETABLE file."""

from tests.models.capture.zookeeper.game import ZkGame, ZkPlan, ZkState
from tests.models.capture.zookeeper.judge import ZkJudge
from tests.models.capture.zookeeper.world import Wal


class ZkAgreementGame(ZkGame):
    """Plays the same moves.

    A history is wrong if HBase's cleaner, with all information, keeps a WAL that the plan lets go.
    """

    def __init__(self, plan: ZkPlan) -> None:
        super().__init__(plan, shorten=False)
        self._whole = ZkJudge(plan.scope.names)

    def loss(self, state: ZkState) -> tuple[Wal, str] | None:
        """Returns a listed WAL, needed or not, that is DELETABLE and that HBase's cleaner keeps, and the reason."""
        seen = self.seen(state)
        kept = (wal for wal in self.files(state) or () if not self._whole.hbase_deletes(seen, wal))
        return self.judge.lets_go(seen, kept)
