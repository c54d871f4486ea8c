"""The whole table by name of one small cluster, answer by answer; of drawn clusters: test_zookeeper_rule.py."""

from dataclasses import replace

import pytest

from pipelines.decide.rule.cleaner_rule import HBaseVerdict
from pipelines.decide.rule.decision_table import DecisionTable, NamedAnswers, QueuedName, TableAnswer
from pipelines.decide.rule.name_table import name_table
from pipelines.decide.rule.verdict import Decision, Reason, deletable, held
from pipelines.decide.rule.zookeeper_rule import queued_holder
from pipelines.hbase.replication_queues import parse_queue_id
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.queued_wals import QueuedWals
from tests.labs.documented_failover import START, seen

H1, D1, H9 = (ServerName.parse(f"{host},16020,5") for host in ("h1", "d1", "h9"))
UNKNOWN = ServerName("unknown.invalid", 0, 0)
ONE, TWO, CLAIMED = (parse_queue_id(key) for key in ("1-h1,16020,5", "2-h1,16020,5", "1-h1,16020,5/d1,16020,5"))
G, GD, G9 = "h1%2C16020%2C5", "d1%2C16020%2C5", "h9%2C16020%2C5"
QUEUED = QueuedWals(
    1_000,
    {
        f"{G}.1": ((ONE, 10), (TWO, None)),
        f"{G}.2": ((ONE, 20), (TWO, 0)),
        f"{G}.3": ((ONE, 0),),
        f"{GD}.4": ((CLAIMED, 7),),
        "short.5": ((CLAIMED, 7),),
        f"{G9}.6": ((ONE, 1), (TWO, 2)),
        ".7": ((ONE, 1),),
    },
    frozenset({f"{G}.1", f"{G}.2", f"{GD}.4"}),
)
VIEW = replace(seen(START), queued=QUEUED)
WALS = {
    f"{G}.1": QueuedName(5, (10, None)),
    f"{G}.2": QueuedName(5, (20, 0)),
    f"{G}.3": QueuedName(6, (0,)),
    f"{GD}.4": QueuedName(7, (7,)),
    "short.5": QueuedName(8, (7,)),
    f"{G9}.6": QueuedName(9, (1, 2)),
}
KEEP, DELETE = HBaseVerdict.KEEP, HBaseVerdict.DELETE


def test_every_answer_by_name() -> None:
    queued = replace(QUEUED, queues_of={wal: queues for wal, queues in QUEUED.queues_of.items() if wal != ".7"})
    pending = tuple(
        TableAnswer(
            bucket,
            server,
            group,
            0,
            held(Reason.PENDING, tuple(queued_holder(one, None, None) for one in queues)),
            hbase,
        )
        for bucket, server, group, queues, hbase in (
            (5, H1, G, (ONE, TWO), KEEP),
            (6, H1, G, (ONE,), DELETE),
            (7, D1, GD, (CLAIMED,), KEEP),
            (8, D1, "short", (CLAIMED,), DELETE),
            (9, H9, G9, (ONE, TWO), DELETE),
        )
    )
    view = replace(VIEW, queued=queued)
    assert name_table(view, 5) == DecisionTable(
        VIEW.cluster,
        (),
        (),
        TableAnswer(10, UNKNOWN, "", 0, deletable(Reason.NOT_QUEUED), DELETE),
        TableAnswer(11, UNKNOWN, "", 0, held(Reason.QUEUE_READ_TOO_OLD), KEEP),
        NamedAnswers(WALS, pending, 1_000),
    )
    assert name_table(view).unknown.bucket == len(pending)
    assert name_table(view, 5).buckets_by_name == {wal: name.bucket for wal, name in WALS.items()}
    assert replace(name_table(view), named=None).buckets_by_name == {}


def test_a_name_that_is_none_belongs_to_the_server_of_its_queue() -> None:
    table = name_table(VIEW)
    assert table.named is not None
    assert table.named.pending[table.named.wals[".7"].bucket].server == H1


@pytest.mark.parametrize("restless", [None, "a queue moved"])
@pytest.mark.parametrize("keeps_all", [False, True])
def test_what_holds_for_all_files_holds_for_each(restless: str | None, *, keeps_all: bool) -> None:
    table = name_table(replace(VIEW, restless=restless, hbase_keeps_all=keeps_all))
    assert table.named is not None
    decided: list[Decision] = [held(Reason.CLUSTER_MOVED)] * 2
    if restless is None:
        decided = [deletable(Reason.NOT_QUEUED), held(Reason.QUEUE_READ_TOO_OLD)]
    assert [table.unknown.decision, table.no_server.decision] == decided
    assert (table.unknown.hbase_verdict, table.no_server.hbase_verdict) == (KEEP if keeps_all else DELETE, KEEP)
    assert {answer.hbase_verdict for answer in table.named.pending} == ({KEEP} if keeps_all else {KEEP, DELETE})
    assert {answer.decision.reason for answer in table.named.pending} == {Reason.PENDING}
