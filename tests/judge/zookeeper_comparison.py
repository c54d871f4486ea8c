"""Our two rules for queues in ZooKeeper beside the answers of the cleaner of HBase 2: where they may differ.

1. `hbase_2_verdict` is the real answer. Where our parsers refuse a znode, it keeps all.
2. DELETABLE implies the real DELETE; and what we hold beyond HBase has a reason of the design.
"""

from collections.abc import Sequence

from pipelines.common.errors import MalformedError
from pipelines.decide.rule.cleaner_rule import HBaseVerdict, hbase_2_verdict
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.verdict import ArchivedFile, Reason, Verdict, decide
from pipelines.hbase.server_names import ServerName
from tests.judge.comparison import BEFORE_THE_QUEUES, Answer, Mismatch
from tests.judge.zookeeper_states import RS, ZkJudgedState


def zk_mismatches(state: ZkJudgedState, answers: Sequence[Answer]) -> list[Mismatch]:
    """Every file on which a rule and the real cleaner differ without a reason.

    Args:
        state: what the cleaner was asked.
        answers: one for each file, in their order.
    """
    view, found = state.view, []
    for file, real in zip(state.files, answers, strict=True):
        decision = decide(file, view)
        transcribed = hbase_2_verdict(file.name, file.modification_time, view)
        if real == "DELETE" and decision.verdict is Verdict.HELD and _is_below_an_odd_name(state, file.name):
            continue
        faults = (
            _of_the_transcription(state, view, transcribed, real),
            _of_the_rule(view, file, real, decision.verdict, decision.reason),
        )
        found += [Mismatch(what, file.path, real, transcribed, decision) for what in faults if what is not None]
    return found


def _of_the_transcription(
    state: ZkJudgedState, view: ClusterView, transcribed: HBaseVerdict, real: Answer
) -> str | None:
    if transcribed is HBaseVerdict.DELETE and real != "DELETE":
        return "hbase_2_verdict would delete what HBase keeps"
    if view.hbase_keeps_all:
        return None if real == "BLOCKED" or refused_by_us_alone(state) else "we cannot read a znode that HBase can"
    expected = "KEEP" if real == "BLOCKED" else real
    return None if transcribed.value == expected else "hbase_2_verdict is not HBase's answer"


def _of_the_rule(view: ClusterView, file: ArchivedFile, real: Answer, verdict: Verdict, reason: Reason) -> str | None:
    if verdict is Verdict.DELETABLE:
        return None if real == "DELETE" else "DELETABLE although HBase keeps it"
    if real != "DELETE" or _is_held_by_design(view, file, reason):
        return None
    return "held without a reason of the design"


def _is_held_by_design(view: ClusterView, file: ArchivedFile, reason: Reason) -> bool:
    if reason is Reason.SNAPSHOT_UNTRUSTED:
        return view.untrusted is not None
    if reason is Reason.CLUSTER_MOVED:
        return view.restless is not None
    if reason is Reason.PENDING:  # in the second reading, which HBase does not make
        return file.name in set(view.queued.queues_of) - view.queued.first_reading
    if reason is Reason.FOREIGN_CLEANER:
        return view.foreign_cleaner is not None
    return reason in BEFORE_THE_QUEUES or (reason is Reason.BACKUP and view.backup.enabled)


def refused_by_us_alone(state: ZkJudgedState) -> bool:
    """Whether a znode is there that HBase does not ask for, or a server that it may read where we refuse it.

    The second reading is ours alone.
    """
    znodes = (*state.znodes, *(znode for znode in state.case.pass_2 if znode.path != RS))
    below = [znode.path.removeprefix(f"{RS}/").split("/") for znode in znodes]
    return any(len(names) > 3 or _is_refused(names[0]) for names in below)


def _is_below_an_odd_name(state: ZkJudgedState, wal: str) -> bool:
    """Whether the WAL is queued below a server whose znode is not called as `ServerName` writes it, as with capitals.

    HBase lists that znode, and asks for the queues of the name that it would have given: there are none.
    """
    below = [znode.path.removeprefix(f"{RS}/").split("/") for znode in state.znodes]
    servers = {names[0] for names in below if len(names) == 3 and names[2] == wal}
    return any(not _is_refused(server) and str(ServerName.parse(server)) != server for server in servers)


def _is_refused(server: str) -> bool:
    try:
        ServerName.parse(server)
    except MalformedError:
        return True
    return False
