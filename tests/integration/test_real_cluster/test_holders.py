"""Who holds the WALs of a real HBase 3: peers, crashes, claimed queues, groups."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.labs.cluster_life import ONE, TWO, Story

pytestmark = pytest.mark.realhbase


def reasons(rows: Mapping[str, Mapping[str, Any]], server: str | None = None) -> set[str]:
    return {row["reason"] for row in rows.values() if server in (None, row["server"])}


def holders(rows: Mapping[str, Mapping[str, Any]], server: str) -> set[tuple[str, str | None]]:
    return {(one["peer_id"], one["owner"]) for r in rows.values() if r["server"] == server for one in r["blocking"]}


@pytest.mark.promise("disabled-peer-holds")
def test_a_disabled_peer_holds_by_name(verdicts: dict[str, dict[str, dict[str, Any]]]) -> None:
    pending = [row for row in verdicts["disabled"].values() if row["reason"] == "PENDING"]
    # an idle server may still owe its last offset for the enabled one
    assert [{one["peer_id"] for one in row["blocking"]} for row in pending].count({TWO}) > len(pending) / 2


@pytest.mark.promise("unfinished-crash-counts", "missing-row-proves-only-of-the-dead")
@pytest.mark.parametrize("name", ["crash-start", "crash-missing-queues", "crash-claim"])
def test_an_unfinished_crash_holds_everything_of_its_server(
    story: Story, verdicts: dict[str, dict[str, dict[str, Any]]], name: str
) -> None:
    stage = story.stages[name]
    assert stage.taken.membership is not None
    assert stage.victim in {str(server) for server in stage.taken.membership.crashing}
    rows = {path: row for path, row in verdicts[name].items() if row["server"] == stage.victim}
    assert rows
    held = {"QUEUE_MISSING", "PENDING", "REPLICATION_TABLE_WAL"}
    # what a server that has replicated already is done with stays free
    assert reasons(rows) <= (held if name != "crash-claim" else held | {"REPLICATED", "META_WAL"})
    assert reasons(rows) & held


def test_a_claimed_queue_is_followed_to_its_owner(story: Story, verdicts: dict[str, dict[str, dict[str, Any]]]) -> None:
    source = story.stages["claimed"].victim
    assert source is not None
    before, after = holders(verdicts["claimed"], source), holders(verdicts["claimed-again"], source)
    assert {peer for peer, _ in before} == {peer for peer, _ in after} == {ONE, TWO}
    assert source not in {owner for _, owner in before | after}
    (first,), (second,) = ({owner for peer, owner in found if peer == ONE} for found in (before, after))
    assert first == story.stages["crash-claim"].victim
    assert second != first


def test_without_peers_everything_is(verdicts: dict[str, dict[str, dict[str, Any]]]) -> None:
    assert {row["verdict"] for row in verdicts["no-peers"].values()} == {"DELETABLE"}
    assert "NO_PEERS" in reasons(verdicts["no-peers"])


@pytest.mark.promise("both-forms-of-oldwals")
def test_multiwal_groups_and_directories_of_servers(verdicts: dict[str, dict[str, dict[str, Any]]]) -> None:
    rows = verdicts["multiwal"]
    # a master that has run for a quarter of an hour archives a WAL of its own region too, which is in no group
    groups = {row["wal_group"].rpartition("regiongroup-")[2] for row in rows.values() if row["wal_group"]}
    assert groups >= {"0", "1"}
    assert all(path.split("/")[1] == row["server"] for path, row in rows.items() if row["server"])
    assert "REPLICATED" in reasons(rows)
