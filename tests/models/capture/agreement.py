"""Checks the second promise of the rule: HBase's own ReplicationLogCleaner would also delete every DELETABLE file.

The gate refuses a whole cluster in which the two disagree (`deletable_within_hbase_delete`), so a clause that no loss
needs may still be needed for this promise.
"""

from tests.models.capture.game import Game, Plan, State
from tests.models.capture.judge import Judge
from tests.models.capture.names import Names


class AgreementGame(Game):
    """Plays the same moves.

    A history is wrong if HBase's cleaner, with all information, keeps a WAL that the plan lets go.
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, shorten=False)
        self._whole = Judge(Names(plan.scope))

    def loss(self, state: State) -> tuple[tuple[int, int, int], str] | None:
        """Returns a listed WAL, needed or not, that is DELETABLE and that HBase's cleaner keeps, and the reason."""
        seen = self.seen(state)
        kept = (wal for wal in self.files(state) if not self._whole.hbase_deletes(seen, wal))
        return self.judge.lets_go(seen, kept)
