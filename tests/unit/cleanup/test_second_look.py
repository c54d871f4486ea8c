"""A second look sees that a peer is being added in whichever of the two readings of the flags says so."""

from dataclasses import replace

import pytest

from pipelines.cleanup.second_look import _may_add_peer
from pipelines.snapshot.model import QUEUE_STORAGE_ZOOKEEPER, MasterFlags, Membership, Snapshot
from tests.strategies.clusters import MASTER, snapshot_of

NOBODY = Membership(MASTER, frozenset(), frozenset())
SNAPSHOT = snapshot_of(("1",), NOBODY, NOBODY)
assert SNAPSHOT.flags is not None
SAFE = SNAPSHOT.flags
ADDING, UNKNOWN = replace(SAFE, add_peer_running=True), replace(SAFE, add_peer_running=None)


def read(first: MasterFlags | None, second: MasterFlags | None) -> Snapshot:
    return replace(SNAPSHOT, flags=first, flags_2=second)


def test_nobody_adds_a_peer_where_both_readings_say_so() -> None:
    assert _may_add_peer(read(SAFE, SAFE)) is False


@pytest.mark.parametrize("odd", [ADDING, UNKNOWN, None], ids=["running", "unknown", "not read"])
def test_either_reading_is_enough(odd: MasterFlags | None) -> None:
    assert _may_add_peer(read(odd, SAFE)) is True
    assert _may_add_peer(read(SAFE, odd)) is True


def test_queues_in_zookeeper_need_nobody_to_ask() -> None:
    """A peer that is added gets the WALs that are being written then, none that was archived before."""
    assert _may_add_peer(replace(read(ADDING, None), queue_storage=QUEUE_STORAGE_ZOOKEEPER)) is False
