"""Where two reasons apply to one file, the one that stands first in the table of verdicts decides."""

from dataclasses import replace

import pytest

from pipelines.common.instants import DAY_MS
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.settings import Settings
from pipelines.decide.rule.verdict import ArchivedFile, Reason, Verdict, decide
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.model import Backup, Membership
from tests.strategies import ClusterCase, view_of
from tests.strategies.clusters import MASTER, NOW, STEP_MS, snapshot_of

ALIVE = Membership(MASTER, frozenset({ServerName.parse("h1,16020,5")}), frozenset())
OLD = NOW - 30 * DAY_MS
WAL, META, POISON = "h1%2C16020%2C5.7", "h1%2C16020%2C5.7.meta", "nobody.7"
PROCEDURE = "pv2-00000000000000000001.log"
BACKED_UP = Backup(enabled=True, boundaries={"h1:16020": 6})


def without_queues(peers: tuple[str, ...]) -> ClusterView:
    """A view in which only what a test changes can matter."""
    case = ClusterCase(snapshot_of(peers, ALIVE, ALIVE), (), (), (), (), Settings())
    return replace(view_of(case), untrusted=None)


ALONE, WITH_PEER = without_queues(()), without_queues(("1",))


@pytest.mark.promise("ages-count-from-the-listing", "names-compare-as-in-hbase")
@pytest.mark.parametrize(
    ("seen", "name", "time", "reason"),
    [
        (replace(ALONE, untrusted="x", add_peer_running=True), "no WAL", OLD, Reason.SNAPSHOT_UNTRUSTED),
        (replace(ALONE, add_peer_running=True), "no WAL", OLD, Reason.ADD_PEER_RUNNING),
        (replace(ALONE, foreign_cleaner="x"), "no WAL", NOW + DAY_MS, Reason.INVALID_NAME),
        (replace(ALONE, foreign_cleaner="x"), WAL, NOW + STEP_MS + 1, Reason.FUTURE_TIMESTAMP),
        (replace(ALONE, foreign_cleaner="x"), WAL, NOW, Reason.TOO_YOUNG),
        (replace(ALONE, foreign_cleaner="x"), PROCEDURE, OLD, Reason.FOREIGN_CLEANER),
        (replace(ALONE, backup=BACKED_UP), PROCEDURE, OLD, Reason.PROCEDURE_WAL),
        (replace(ALONE, backup=BACKED_UP), WAL, OLD, Reason.BACKUP),
        (replace(ALONE, backup=Backup(enabled=True)), META, OLD, Reason.BACKUP),
        (ALONE, META, OLD, Reason.NO_PEERS),
        (ALONE, POISON, OLD, Reason.NO_PEERS),
        (WITH_PEER, META, OLD, Reason.META_WAL),
        (WITH_PEER, POISON, OLD, Reason.POISON_NAME),
    ],
    ids=lambda value: value.value if isinstance(value, Reason) else "",
)
def test_the_first_reason_decides(seen: ClusterView, name: str, time: int, reason: Reason) -> None:
    free = {Reason.PROCEDURE_WAL, Reason.NO_PEERS, Reason.META_WAL}
    decision = decide(ArchivedFile(f"oldWALs/{name}", 1, time), seen)
    assert (decision.reason, decision.verdict) == (reason, Verdict.DELETABLE if reason in free else Verdict.HELD)
