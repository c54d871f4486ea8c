"""Who claimed which queue when, and how long it waited, from successive snapshots of queues in the table."""

from pipelines.queues.audit.classify import audit_rows
from pipelines.queues.audit.observed_cluster import ObservedCluster, ObservedQueue
from pipelines.queues.audit.timeline import Sighting, sighting, timeline
from tests.labs.queue_pictures import AT, HOUR, A, B, C, cluster, queue, servers


def seen(*pictures: ObservedCluster) -> list[Sighting]:
    return [sighting(audit_rows(one), one.servers.at, all_hops=False) for one in pictures]


def at(hours: int, *queues: ObservedQueue, online: str, crashing: str = "") -> ObservedCluster:
    return cluster(*queues, who=servers(online, crashing, at=AT + hours * HOUR))


def test_a_chain_of_deaths_is_told() -> None:
    life = timeline(
        seen(
            at(0, queue("1-a"), queue("1-b"), queue("1-c"), online="abc"),
            at(1, queue("1-a"), queue("1-b"), queue("1-c"), online="ac", crashing="b"),
            at(2, queue("1-a"), queue("1-b"), queue("1-c"), online="ac", crashing="b"),
            at(3, queue("1-a"), queue("1-c"), queue("1-c/b"), online="ac"),
            at(4, queue("1-a"), queue("1-a/c"), queue("1-a/b"), online="a"),
            at(5, queue("1-a"), queue("1-a/b"), online="a"),
        )
    )
    told = [
        (
            row.source[0],
            row.event,
            (row.from_owner or "?")[0],
            (row.to_owner or "?")[0],
            row.waited_min_ms,
            row.waited_max_ms,
        )
        for row in life
    ]
    assert told == [
        ("b", "CLAIMED", "b", "c", HOUR, 3 * HOUR),
        ("b", "CLAIMED", "c", "a", 0, HOUR),
        ("c", "CLAIMED", "c", "a", 0, HOUR),
        ("c", "ENDED", "a", "?", None, None),
    ]


def test_what_waits_is_told_with_how_long() -> None:
    (row,) = timeline(
        seen(at(0, queue("1-c"), online="c"), at(2, queue("1-c"), online=""), at(5, queue("1-c"), online=""))
    )
    assert (row.event, row.from_owner, row.waited_min_ms, row.waited_max_ms) == ("WAITING", str(C), 3 * HOUR, 5 * HOUR)


def test_the_first_snapshot_shows_claims_of_unknown_age() -> None:
    (row,) = timeline(seen(at(0, queue("1-a/c"), queue("1-a"), online="a")))
    assert (row.event, row.from_owner, row.happened_after, row.waited_max_ms) == ("CLAIMED", None, None, None)


def test_a_new_server_and_a_removed_peer_are_no_failover() -> None:
    assert timeline(seen(at(0, queue("1-a"), online="a"), at(1, queue("1-a"), queue("1-b"), online="ab"))) == ()
    assert timeline(seen(at(0, queue("1-a"), online="a"), at(1, online="a"))) == ()
    assert timeline(seen(at(0, queue("9-c"), online="a"))) == (), "nobody claims the queue of a removed peer"
    assert timeline([]) == ()


def test_two_possible_owners_before_are_not_guessed() -> None:
    life = timeline(seen(at(0, queue("1-b/d"), queue("1-c/d"), online="bc"), at(1, queue("1-a/d"), online="a")))
    (claimed,) = [row for row in life if row.happened_after is not None]
    assert (claimed.to_owner, claimed.from_owner) == (str(A), None)


def test_a_row_that_comes_back_under_its_source_is_no_claim() -> None:
    life = timeline(seen(at(0, queue("1-a/c"), online="a"), at(1, queue("1-a/c"), queue("1-c"), online="a")))
    assert [(row.event, row.from_owner) for row in life] == [("CLAIMED", None), ("WAITING", str(C))]


def test_who_still_has_it_is_not_who_lost_it() -> None:
    life = timeline(seen(at(0, queue("1-a/c"), online="ab"), at(1, queue("1-a/c"), queue("1-b/c"), online="ab")))
    assert [(row.to_owner, row.from_owner) for row in life] == [(str(A), None), (str(B), None)]


def test_a_queue_that_comes_back_to_its_source_was_claimed_twice() -> None:
    pictures = (
        at(0, queue("1-b"), online="ab"),
        at(1, queue("1-a/b"), online="ab"),
        at(2, queue("1-b/b"), online="b"),
    )
    told = [(row.from_owner, row.to_owner) for row in timeline(seen(*pictures))]
    assert told == [(str(B), str(A)), (str(A), str(B))]


def test_a_queue_that_nobody_had_before_comes_from_its_source() -> None:
    """A server that has shipped nothing yet has no row: its crash procedure writes one, and has it claimed."""
    (claimed,) = timeline(seen(at(0, online="ac"), at(1, queue("1-a/c"), online="a")))
    assert (claimed.from_owner, claimed.to_owner, claimed.waited_max_ms) == (str(C), str(A), None)
