"""The judge's saved answers, without HBase: both rules agree with them, no mutant of either does (docs/judge.md)."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from pipelines.domain import cleaner_rule
from pipelines.domain.cleaner_rule import HBaseVerdict, for_every_file, for_tracked_wal
from pipelines.domain.cluster_view import ClusterView, QueueRow
from pipelines.domain.replication_queues import GroupOffset
from pipelines.domain.server_names import ServerName
from pipelines.domain.verdict import ArchivedFile, Decision, decide
from pipelines.domain.wal_names import WalName
from tests.judge import comparison
from tests.judge.comparison import mismatches
from tests.judge.corpus import Entry, entries, words
from tests.judge.record import BEGIN, END, PAGE, RECORD, block
from tests.judge.states import parse_state, state_document

Patch = Callable[[pytest.MonkeyPatch], None]
CORPUS = entries()


@pytest.mark.parametrize("entry", CORPUS, ids=lambda entry: entry.name)
def test_both_rules_agree_with_the_recorded_answers(entry: Entry) -> None:
    assert [str(one) for one in mismatches(entry.state, entry.answers)] == []
    view = entry.state.view()
    assert tuple(words(file, view) for file in entry.state.files) == entry.ours


def test_a_state_is_read_back_as_it_was_written() -> None:
    for entry in CORPUS:
        assert parse_state(json.loads(json.dumps(state_document(entry.state)))) == entry.state


def attribute(owner: object, name: str, value: object) -> Patch:
    return lambda monkeypatch: monkeypatch.setattr(owner, name, value)


def every_peer_ever(file: ArchivedFile, view: ClusterView) -> Decision:
    peers = {*view.peer_ids, *(row.queue.peer_id for row in view.rows)}
    return decide(file, replace(view, peer_ids=tuple(sorted(peers))))


def all_are_dead(view: ClusterView, server: ServerName, group: str, timestamp: int | None) -> HBaseVerdict:
    return for_tracked_wal(replace(view, hbase_not_fully_dead=frozenset()), server, group, timestamp)


def lacking_means_finished(rows: list[QueueRow], group: str, timestamp: int | None) -> HBaseVerdict:
    return TRUE_SHOULD_REPLICATE([row for row in rows if group in row.offsets], group, timestamp)


def peers_do_not_matter(view: ClusterView) -> HBaseVerdict | None:
    return for_every_file(view) if view.peer_ids or view.hbase_keeps_all else None


TRUE_SHOULD_REPLICATE = cleaner_rule._should_replicate
MUTANTS = {
    "rule: every server is fully dead": attribute(ClusterView, "not_fully_dead", frozenset()),
    "rule: one more millisecond is finished": attribute(
        QueueRow, "need", lambda row, group: row.offsets[group].need + 1 if group in row.offsets else -1
    ),
    "rule: a row without the group needs nothing of it": attribute(
        QueueRow, "need", lambda row, group: row.offsets[group].need if group in row.offsets else 1 << 63
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


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_caught(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[mutant](monkeypatch)
    assert any(mismatches(entry.state, entry.answers) for entry in CORPUS)


def test_the_page_shows_the_record() -> None:
    shown = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert f"{BEGIN}{shown}{END}" == block(json.loads(RECORD.read_text(encoding="utf-8")))
