"""Names the clusters with queues in ZooKeeper, and the clusters in which each mutant is looked for."""

from tests.models.capture.scenarios import Kept
from tests.models.capture.zookeeper.scope import CVERSION, LOCK, MULTI, ZkScope, ZkServer

_LIVE, _THIRD = ZkServer(2), ZkServer(3)
_BEHIND = ZkServer(1, wals=2, archived=1)
"""A live server with one WAL in oldWALs that is not shipped yet."""
_DEAD = ZkServer(1, dead=True)
_LATER = ZkServer(2, waits=True)

ZK_SCOPES: dict[str, ZkScope] = {
    scope.name: scope
    for scope in (
        ZkScope("zk-one-server", (ZkServer(1),), crashes=0, rolls=True, max_wals=3),
        ZkScope("zk-crash", (_BEHIND, _LIVE)),
        ZkScope("zk-rolls", (ZkServer(1), _LIVE), rolls=True, max_wals=2),
        ZkScope("zk-lock", (_BEHIND, _LIVE), claim=LOCK),
        ZkScope("zk-lock-twice", (_THIRD, _LIVE, _DEAD), claim=LOCK, ships=False),
        ZkScope("zk-multi", (_LIVE, _THIRD, _DEAD), claim=MULTI, crashes=0),
        ZkScope("zk-multi-rolls", (_LIVE, ZkServer(1)), claim=MULTI, rolls=True, ships=False),
        ZkScope("zk-multi-twice", (_THIRD, _LIVE, _DEAD), claim=MULTI, ships=False),
        ZkScope("zk-cversion-twice", (_THIRD, _LIVE, _DEAD), claim=CVERSION, ships=False),
        ZkScope("zk-newcomers", (_DEAD, _LATER, ZkServer(3, waits=True)), claim=MULTI, ships=False),
        ZkScope("zk-newcomer", (ZkServer(3, waits=True), _LIVE, _DEAD), claim=MULTI, ships=False),
        ZkScope("zk-two-peers", (_BEHIND, _LIVE), peers=(True, True)),
        ZkScope("zk-add-peer", (ZkServer(1), _LIVE), peers=(True, False), crashes=0, adds=1, rolls=True),
        ZkScope("zk-remove-peer", (_BEHIND, _LIVE), peers=(True, True), crashes=0, removes=1),
        ZkScope("zk-late", (ZkServer(1),), crashes=0, rolls=True, max_wals=3, late=2, expiries=2),
        ZkScope("zk-late-crash", (_BEHIND, _LIVE), claim=MULTI, late=1, expiries=1),
    )
}
"""Small clusters, each with little that can happen, so that a search comes to an end."""

ZK_GROUNDS: dict[str, tuple[str, ...]] = {
    "zk-files-last": ("zk-one-server",),
    "zk-files-last-times-ignored": ("zk-one-server",),
    "zk-files-between-servers-once": ("zk-multi-rolls",),
    "zk-one-reading": ("zk-multi",),
    "zk-first-names": ("zk-lock",),
    "zk-second-names": ("zk-lock",),
    "zk-rs-ignored": ("zk-newcomers",),
    "zk-servers-ignored": ("zk-multi-twice",),
    "zk-servers-once": ("zk-lock-twice",),
    "zk-last-look": ("zk-newcomer",),
    "zk-first-look": ("zk-newcomers",),
    "zk-nothing-compared": ("zk-multi-twice",),
    "zk-no-sync": ("zk-late",),
    "zk-any-session": ("zk-late",),
    "zk-locked-skipped": ("zk-lock",),
    "zk-hbase-cleaner": ("zk-multi",),
}
"""Where a mutant is looked for; the others in `zk-crash`."""

ZK_KEPT: dict[str, Kept] = {
    "zk-files-last-true-clocks": Kept("zk-one-server", "zk-times-ignored", "zk-files-last-times-ignored"),
    "zk-times-ignored": Kept("zk-one-server", "zk-files-last-true-clocks", "zk-files-last-times-ignored"),
    "zk-files-between": Kept("zk-multi-rolls", "zk-servers-once", "zk-files-between-servers-once"),
    "zk-existing-peers-only": Kept("zk-remove-peer"),
}
"""Mutants that lose nothing in any cluster, each with what shows that its piece is needed."""
