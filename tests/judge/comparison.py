"""Our two rules beside the real cleaner's answers: where they may differ, and nowhere else.

1. `hbase_verdict` is the real answer. Where one peer has several rows for one server's WALs, HBase takes the last of a
   scan and `hbase_verdict` the smallest need, so it is asked over rows merged HBase's way too, and alone may only keep
   more. Where our parsers refuse what HBase reads (docs/adr/0003), it keeps all.
2. DELETABLE implies the real DELETE, but for the opt-in; and what we hold beyond HBase has a reason of the design.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import unquote_plus

from pipelines.common.errors import MalformedError
from pipelines.decide.rule.cleaner_rule import HBaseVerdict, hbase_verdict
from pipelines.decide.rule.cluster_view import ClusterView, MergedQueueRow
from pipelines.decide.rule.verdict import ArchivedFile, Decision, Reason, Verdict, decide
from pipelines.hbase.replication_queues import (
    QUEUE_FAMILY,
    Cell,
    GroupOffset,
    QueueId,
    parse_queue_cell,
    parse_queue_cells,
)
from pipelines.hbase.server_names import ServerName, parse_java_long
from pipelines.hbase.wal_names import parse_wal_name
from tests.judge.states import JudgedState

Answer = Literal["DELETE", "KEEP", "THROWS", "BLOCKED"]
"""Of the real cleaner; BLOCKED = it died over a row of the table, so it deletes nothing."""
BEFORE_THE_QUEUES = {Reason.INVALID_NAME, Reason.FUTURE_TIMESTAMP, Reason.TOO_YOUNG}
"""Asked by other cleaners of HBase's chain, or by nobody."""
_COMPARABLE = re.compile(rb"[\x20-\x7e]*")
_COMPARABLE_HOST = re.compile(r"[ -~]+")
# Java reads an escape with Integer.parseInt, which takes a sign and the digits of every script
_ESCAPE_OF_JAVA_ALONE = re.compile(r"%(\+[0-9A-Fa-f]|[^ -~]|[0-9A-Fa-f][^ -~])")
_ODD_HOST = re.compile(rb"[-/],|[\[\]]")
_WAL_OF_OFFSET = re.compile(rb".+\.([0-9]+)(\.[0-9A-Za-z]+)?:[^:]*", re.DOTALL)


@dataclass(frozen=True)
class Mismatch:
    """One file on which the comparison fails."""

    what: str
    path: str
    real: Answer
    hbase_verdict: HBaseVerdict
    decision: Decision

    def __str__(self) -> str:
        ours = f"{self.decision.verdict.value} {self.decision.reason.value}"
        return f"{self.what}: {self.path!r}: HBase {self.real}, hbase_verdict {self.hbase_verdict.value}, ours {ours}"


def mismatches(state: JudgedState, answers: Sequence[Answer]) -> list[Mismatch]:
    """Every file on which a rule and the real cleaner differ without a reason.

    Args:
        state: what the cleaner was asked.
        answers: one for each file, in their order.
    """
    view = state.view
    merged = _merged_as_hbase_does(state, view)
    found = []
    for file, real in zip(state.files, answers, strict=True):
        decision = decide(file, view)
        faults = (
            _of_the_transcription(state, view, merged, file, real),
            _of_the_rule(view, merged, file, real, decision),
        )
        transcribed = hbase_verdict(file.name, view)
        found += [Mismatch(what, file.path, real, transcribed, decision) for what in faults if what is not None]
    return found


def _of_the_transcription(
    state: JudgedState, view: ClusterView, merged: ClusterView | None, file: ArchivedFile, real: Answer
) -> str | None:
    transcribed = hbase_verdict(file.name, view)
    if transcribed is HBaseVerdict.DELETE and real != "DELETE":
        return "hbase_verdict would delete what HBase keeps"
    if real == "BLOCKED":
        return None if merged is None else "HBase cannot read a row that we can"
    if merged is None:
        return None if refused_by_us_alone(state) else "we cannot read a row that HBase can"
    if real in _answers_in_any_order(merged, file) or _is_not_comparable(file.name):
        return None
    return "hbase_verdict is not HBase's answer"


def _answers_in_any_order(view: ClusterView, file: ArchivedFile) -> set[str]:
    """HBase asks the peers in the order of a hash map; the first who keeps, or throws, decides."""
    one_by_one = {hbase_verdict(file.name, replace(view, peer_ids=(peer,))).value for peer in view.peer_ids}
    return (one_by_one - {"DELETE"}) or {hbase_verdict(file.name, view).value}


def _of_the_rule(
    view: ClusterView, merged: ClusterView | None, file: ArchivedFile, real: Answer, decision: Decision
) -> str | None:
    if decision.verdict is Verdict.DELETABLE:
        if decision.reason is Reason.REPLICATION_TABLE_WAL:
            return None if view.release.replication_table_wals else "freed without the opt-in"
        return None if real == "DELETE" else "DELETABLE although HBase keeps it"
    if real != "DELETE" or _is_held_by_design(view, merged, file, decision.reason):
        return None
    return "held without a reason of the design"


def _is_held_by_design(view: ClusterView, merged: ClusterView | None, file: ArchivedFile, reason: Reason) -> bool:
    if reason is Reason.SNAPSHOT_UNTRUSTED:
        return view.untrusted is not None
    if reason in BEFORE_THE_QUEUES:
        return True
    wal = parse_wal_name(file.name)
    if wal is None:
        return False
    if reason is Reason.POISON_NAME:
        return wal.server is None or wal.timestamp is None
    if wal.server is None or merged is None:
        return False
    alive_to_us_alone = wal.server in view.not_fully_dead - view.hbase_not_fully_dead
    if reason is Reason.CLUSTER_MOVED:
        return view.restless is not None and wal.server not in view.not_fully_dead
    if reason is Reason.LEFTOVER_WAL_DIR:
        return alive_to_us_alone and wal.server in view.wal_directories
    if reason is Reason.REPLICATION_TABLE_WAL:
        return alive_to_us_alone
    if reason is Reason.QUEUE_MISSING:
        return alive_to_us_alone or _has_several_rows(view, wal.server)
    return reason is Reason.PENDING and _has_several_rows(view, wal.server)


def _has_several_rows(view: ClusterView, source: ServerName) -> bool:
    return any(len(view.queues(peer, source)) > 1 for peer in view.peer_ids)


def _merged_as_hbase_does(state: JudgedState, view: ClusterView) -> ClusterView | None:
    """The view with one row for each peer and source: offsets of a later row replace those of an earlier one.

    None where our parser refuses a row.
    """
    try:
        cells = parse_queue_cells(state.cells)
    except MalformedError:
        return None
    offsets: dict[QueueId, dict[str, GroupOffset]] = {}
    for cell in cells:  # in scan order
        offsets.setdefault(QueueId(cell.queue.peer_id, cell.queue.wals_of), {})[cell.group] = cell.offset
    return replace(view, rows=tuple(MergedQueueRow(queue, groups) for queue, groups in offsets.items()))


def refused_by_us_alone(state: JudgedState) -> bool:
    """Whether HBase may read every row that our parsers refuse."""
    return all(_may_be_read_by_hbase(cell) for cell in state.cells if cell.family == QUEUE_FAMILY and _is_refused(cell))


def _is_refused(cell: Cell) -> bool:
    try:
        parse_queue_cell(cell)
    except MalformedError:
        return True
    return False


def _may_be_read_by_hbase(cell: Cell) -> bool:
    """Of a cell that we refuse.

    A host that is empty or in brackets, text outside printable ASCII (docs/adr/0003); a WAL timestamp over 64
    bits, on which HBase throws only where it compares it.
    """
    if not all(_COMPARABLE.fullmatch(part) for part in (cell.row, cell.value)) or _ODD_HOST.search(cell.row):
        return True
    if "\ufffd" in cell.qualifier.decode("utf-8", errors="replace"):
        return True
    wal = _WAL_OF_OFFSET.fullmatch(cell.value)
    return wal is not None and not _fits(wal.group(1).decode("ascii"))


def _fits(digits: str) -> bool:
    try:
        return parse_java_long(digits) >= 0
    except MalformedError:
        return False


def _is_not_comparable(name: str) -> bool:
    """Whether a name holds a host, or an escape, that we refuse and HBase may read (docs/adr/0003)."""
    wal = parse_wal_name(name)
    if wal is None or wal.server is not None:
        return False
    host = unquote_plus(name).partition(",")[0]
    odd = not _COMPARABLE_HOST.fullmatch(host) or not set(host).isdisjoint("[]/")
    return odd or _ESCAPE_OF_JAVA_ALONE.search(name) is not None
