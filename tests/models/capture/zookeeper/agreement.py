"""The second promise where queues are in ZooKeeper: what is DELETABLE, HBase's own cleaner would delete too."""

from tests.models.capture.zookeeper.game import ZkGame, ZkPlan, ZkState
from tests.models.capture.zookeeper.judge import ZkJudge
from tests.models.capture.zookeeper.world import Wal


class ZkAgreementGame(ZkGame):
    """The same moves; a history goes wrong where HBase's cleaner, told everything, keeps what the plan lets go."""

    def __init__(self, plan: ZkPlan) -> None:
        super().__init__(plan, shorten=False)
        self._whole = ZkJudge(plan.scope.names)

    def loss(self, state: ZkState) -> tuple[Wal, str] | None:
        """A listed WAL, needed or not, that is DELETABLE and that HBase's cleaner keeps, with the reason."""
        seen = self.seen(state)
        kept = (wal for wal in self.files(state) or () if not self._whole.hbase_deletes(seen, wal))
        return self.judge.lets_go(seen, kept)
