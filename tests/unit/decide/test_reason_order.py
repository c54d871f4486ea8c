"""Where two reasons apply to one file, the one that stands first in the table of verdicts decides."""

from dataclasses import replace

import pytest

from pipelines.common.instants import DAY_MS
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.verdict import ArchivedFile, Reason, Verdict, decide
from pipelines.decide.rule.zookeeper_queue_storage import ZOOKEEPER
from pipelines.hbase.replication_queues import parse_queue_id
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.queued_wals import QueuedWals
from pipelines.snapshot.model import Backup, Membership, Retention
from tests.strategies import ClusterCase, view_of
from tests.strategies.clusters import MASTER, NOW, STEP_MS, snapshot_of

ALIVE = Membership(MASTER, frozenset({ServerName.parse("h1,16020,5")}), frozenset())
OLD = NOW - 30 * DAY_MS
WAL, META, POISON = "h1%2C16020%2C5.7", "h1%2C16020%2C5.7.meta", "nobody.7"
PROCEDURE = "pv2-00000000000000000001.log"
BACKED_UP = Backup(enabled=True, boundaries={"h1:16020": 6})


def without_queues(peers: tuple[str, ...]) -> ClusterView:
    """A view in which only what a test changes can matter."""
    case = ClusterCase(snapshot_of(peers, ALIVE, ALIVE), (), (), (), (), ReconcileSettings())
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


MASTER_LOCAL = "h1%2C16000%2C5.7$masterlocalwal$"


@pytest.mark.parametrize("name", [PROCEDURE, MASTER_LOCAL])
def test_what_stands_in_a_queue_is_held_whatever_it_is_called(name: str) -> None:
    queue = parse_queue_id("1-h1,16020,5")
    in_queue = replace(ALONE, storage=ZOOKEEPER, queued=QueuedWals(NOW, {name: ((queue, 3),)}))
    for view in (in_queue, replace(in_queue, backup=BACKED_UP)):
        held = decide(ArchivedFile(f"oldWALs/{name}", 1, OLD), view)
        assert (held.verdict, held.reason) == (Verdict.HELD, Reason.PENDING)
        assert [(one.peer_id, one.owner, one.source, one.wal, one.offset) for one in held.blocking] == [
            ("1", queue.owner, queue.owner, name, 3)
        ]
    for view in (ALONE, replace(ALONE, storage=ZOOKEEPER, queued=QueuedWals(NOW))):
        assert decide(ArchivedFile(f"oldWALs/{name}", 1, OLD), view).verdict is Verdict.DELETABLE


@pytest.mark.parametrize(
    ("name", "kept_for"),
    [
        (WAL, "wal_ttl_ms"),
        (META, "wal_ttl_ms"),
        (PROCEDURE, "procedure_wal_ttl_ms"),
        (MASTER_LOCAL, "master_local_wal_ttl_ms"),
    ],
)
def test_each_kind_of_file_rests_for_its_own_time_to_live(name: str, kept_for: str) -> None:
    """To the millisecond, counted to the start of the listing; and a file may be of the listing's last millisecond."""
    kept = {"wal_ttl_ms": 1_000, "procedure_wal_ttl_ms": 1_000, "master_local_wal_ttl_ms": 1_000, kept_for: 500}
    view = replace(ALONE, retention=Retention(**kept), files_started=NOW, files_finished=NOW + STEP_MS)
    for age, young in ((-STEP_MS, True), (500, True), (501, False), (1_001, False)):
        decision = decide(ArchivedFile(f"oldWALs/{name}", 1, NOW - age), view)
        assert (decision.reason is Reason.TOO_YOUNG) == young, age
    late = decide(ArchivedFile(f"oldWALs/{name}", 1, NOW + STEP_MS + 1), view)
    assert late.reason is Reason.FUTURE_TIMESTAMP


@pytest.mark.parametrize(
    ("boundaries", "others", "held"),
    [
        ({"h1:16020": 6}, None, True),
        ({"h1:16020": 7}, None, False),
        ({"h1:16020": 6}, 7, True),
        ({"h2:16020": 7}, None, True),
        ({"h2:16020": 7}, 6, True),
        ({"h2:16020": 7}, 7, False),
    ],
)
def test_a_backup_holds_what_lies_after_its_boundary(
    boundaries: dict[str, int], others: int | None, *, held: bool
) -> None:
    """The boundary of the WAL's own server, else that of the others; none of either holds everything."""
    view = replace(ALONE, backup=Backup(True, boundaries, others))
    for name in (WAL, META, "h1%2C16020%2C5.group.7"):
        decision = decide(ArchivedFile(f"oldWALs/{name}", 1, OLD), view)
        assert decision.reason is (Reason.BACKUP if held else Reason.NO_PEERS)
    for name in (POISON, "h1%2C16020%2C5.99999999999999999999"):
        assert decide(ArchivedFile(f"oldWALs/{name}", 1, OLD), view).reason is Reason.BACKUP
