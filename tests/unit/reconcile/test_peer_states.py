"""Since when a peer has been in its state, from one night to the next."""

import pytest

from pipelines.hbase.peers import Peer
from pipelines.reconcile.past import PastPeer
from pipelines.reconcile.peer_states import peer_rows

TONIGHT = 1_790_000_000_000


@pytest.mark.parametrize(
    ("before", "since", "nights", "previous"),
    [
        (None, TONIGHT, 1, None),
        (PastPeer("2", "DISABLED", 5, 3), 5, 4, "DISABLED"),
        (PastPeer("2", "ENABLED", 5, 3), TONIGHT, 1, "ENABLED"),
    ],
)
def test_a_state_lasts_until_a_night_with_another(
    before: PastPeer | None, since: int, nights: int, previous: str | None
) -> None:
    (row,) = peer_rows([Peer("2", "DISABLED", serial=True)], {"2": before} if before else {}, TONIGHT)
    assert (row.peer_id, row.state, row.state_since, row.nights) == ("2", "DISABLED", since, nights)
    assert (row.previous_state, row.serial, row.sync_state) == (previous, True, None)


def test_a_peer_that_was_removed_and_added_again_begins_anew() -> None:
    assert peer_rows([], {"2": PastPeer("2", "DISABLED", 5, 3)}, TONIGHT) == ()
    (row,) = peer_rows([Peer("2", "DISABLED")], {}, TONIGHT)
    assert (row.state_since, row.nights, row.previous_state) == (TONIGHT, 1, None)
