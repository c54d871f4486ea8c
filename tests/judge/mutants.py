"""Both rules with one mistake each: the judge's answers must tell every one of them from the truth."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from pipelines.decide.rule import cleaner_rule
from pipelines.decide.rule.cleaner_rule import HBaseVerdict, for_every_file, for_tracked_wal
from pipelines.decide.rule.cluster_view import ClusterView, MergedQueueRow
from pipelines.decide.rule.verdict import ArchivedFile, Decision, decide
from pipelines.hbase.replication_queues import GroupOffset
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import WalName
from tests.judge import comparison
from tests.judge.comparison import Answer, mismatches
from tests.judge.states import JudgedState

Patch = Callable[[pytest.MonkeyPatch], None]


def attribute(owner: object, name: str, value: object) -> Patch:
    return lambda monkeypatch: monkeypatch.setattr(owner, name, value)


def every_peer_ever(file: ArchivedFile, view: ClusterView) -> Decision:
    peers = {*view.peer_ids, *(row.queue.peer_id for row in view.rows)}
    return decide(file, replace(view, peer_ids=tuple(sorted(peers))))


def all_are_dead(view: ClusterView, server: ServerName, group: str, timestamp: int | None) -> HBaseVerdict:
    return for_tracked_wal(replace(view, hbase_not_fully_dead=frozenset()), server, group, timestamp)


def lacking_means_finished(rows: list[MergedQueueRow], group: str, timestamp: int | None) -> HBaseVerdict:
    return TRUE_SHOULD_REPLICATE([row for row in rows if group in row.offsets], group, timestamp)


def peers_do_not_matter(view: ClusterView) -> HBaseVerdict | None:
    return for_every_file(view) if view.peer_ids or view.hbase_keeps_all else None


TRUE_SHOULD_REPLICATE = cleaner_rule._should_replicate
MUTANTS = {
    "rule: every server is fully dead": attribute(ClusterView, "not_fully_dead", frozenset()),
    "rule: one more millisecond is finished": attribute(
        MergedQueueRow, "need", lambda row, group: row.offsets[group].need + 1 if group in row.offsets else -1
    ),
    "rule: a row without the group needs nothing of it": attribute(
        MergedQueueRow, "need", lambda row, group: row.offsets[group].need if group in row.offsets else 1 << 63
    ),
    "rule: rows of removed peers hold": attribute(comparison, "decide", every_peer_ever),
    "rule: barrier and broken rows are passed over": attribute(
        comparison, "decide", lambda file, view: decide(file, replace(view, untrusted=None, add_peer_running=False))
    ),
    "both: an offset of zero or more is finished": attribute(
        GroupOffset, "should_replicate", lambda offset, timestamp: timestamp > offset.need
    ),
    "both: no WAL of meta": attribute(WalName, "is_meta", False),
    "transcription: every server is fully dead": attribute(cleaner_rule, "for_tracked_wal", all_are_dead),
    "transcription: a group that is lacking is finished": attribute(
        cleaner_rule, "_should_replicate", lacking_means_finished
    ),
    "transcription: no peer, and still it asks": attribute(cleaner_rule, "for_every_file", peers_do_not_matter),
    "transcription: the barrier is passed over": attribute(
        cleaner_rule, "for_every_file", lambda view: for_every_file(replace(view, hbase_keeps_all=False))
    ),
}


def caught_on(mutant: str, state: JudgedState, answers: Sequence[Answer]) -> int | None:
    """The number of a file on which the mutant differs from the real answers without a reason; None = on no file."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        MUTANTS[mutant](monkeypatch)
        # a copy: the state keeps its view, and that what it has worked out
        found = {one.path for one in mismatches(replace(state), answers)}
    return next((number for number, file in enumerate(state.files) if file.path in found), None)
