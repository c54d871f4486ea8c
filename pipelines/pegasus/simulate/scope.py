"""The group and the failures that are played, and the protocol that must stand them."""

from typing import NamedTuple

PARENT_HALF, CHILD_HALF = "parent", "child"


class Scope(NamedTuple):
    """The group and the faults that a search plays.

    Attributes:
        replicas: replicas of the group.
        writes: the half to which each write belongs after the split.
        may: names of the moves that count as faults or operator actions.
        faults: how many of them can happen.
        in_flight: how many writes can be prepared and not yet committed at one time.
        cached: the writes are those of one client that has cached the table before the split; else those of any client.
        scans: a full scan runs at some time.
    """

    replicas: int = 3
    writes: tuple[str, ...] = (CHILD_HALF, PARENT_HALF)
    may: frozenset[str] = frozenset()
    faults: int = 1
    cached: bool = False
    scans: bool = False
    in_flight: int = 2


class Design(NamedTuple):
    """The protocol: its defaults are the fixed one; other values give the shipped protocol and the mutants.

    Attributes:
        restart_all: a primary that starts the split again makes the secondaries start again (#2209: the shipped one
            does not).
        query_first: a new primary rejects until it knows whether meta has the child (F29: the shipped one does not).
        remember_pause: PAUSED and CANCELING survive the meta leader (F5: in the shipped one they do not).
        sync_point: the primary waits for the sync point.
        replay_log: a child replays the parent's private log after the checkpoint.
        copy_list: a child copies the parent's prepare list, whose mutations are not committed yet.
        whole_list: the prepare list and its committed decree are of one instant (#2210: in the shipped one writes go on
            between the two).
        spare_registered: the check every three seconds spares a child that meta has registered (F39: the shipped one
            does not).
        reject: the parent rejects while it registers.
        check_ballot: meta compares the ballot of a registration.
        ballot_step: the child's first ballot is the parent's ballot plus this; correct is 1.
        drop_children: a new ballot ends all children.
        discard_orphans: a child that returns without being registered is discarded.
        careful_filter: the compaction filter drops nothing while the version is -1.
        check_start: meta refuses a split that it must not begin (F1).
        check_disks: the operator asks the preflight for space on the disks (F37).
        set_env: meta makes servers check hashes (`replica.split.validate_partition_hash`).
        refresh: a client asks meta again when a partition rejects it (F34).
        scan_filter: a scan returns only rows that the partition owns (F36).
    """

    restart_all: bool = True
    query_first: bool = True
    remember_pause: bool = True
    sync_point: bool = True
    replay_log: bool = True
    copy_list: bool = True
    whole_list: bool = True
    spare_registered: bool = True
    reject: bool = True
    check_ballot: bool = True
    ballot_step: int = 1
    drop_children: bool = True
    discard_orphans: bool = True
    careful_filter: bool = True
    check_start: bool = True
    check_disks: bool = True
    set_env: bool = True
    refresh: bool = True
    scan_filter: bool = True
