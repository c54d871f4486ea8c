"""Weakens capture and rule for queues in ZooKeeper, each time by one piece."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pipelines.hbase.zookeeper.queued_wals import QueuedWals, queued_wals
from pipelines.hbase.zookeeper.tree import ReplicationTree, ZkQueue
from tests.models.capture.zookeeper.capture import DESIGN
from tests.models.capture.zookeeper.game import ZkPlan
from tests.models.capture.zookeeper.judge import NOTHING_TAKEN, Trees, ZkWeakening
from tests.models.capture.zookeeper.scope import ZkScope


@dataclass(frozen=True, eq=False)
class ZkMutant:
    """The capture and the rule for queues in ZooKeeper, weakened by one piece.

    Attributes:
        name: a short name, for tables and the command line.
        what: what the mutant does instead, for docs/proof.md.
        order: the order of the steps.
        unread: the reads that are left out.
        weakening: what is taken away from the rule.
    """

    name: str
    what: str
    order: tuple[str, ...] = DESIGN
    unread: tuple[str, ...] = ()
    weakening: ZkWeakening = NOTHING_TAKEN

    def plan(self, scope: ZkScope) -> ZkPlan:
        """Returns the plan that plays the mutant in a cluster."""
        return ZkPlan(scope, self.order, self.unread, self.weakening)


def _compares(change: Callable[[Trees], Trees]) -> ZkWeakening:
    return ZkWeakening(trees=change)


def _servers_not_compared(trees: Trees) -> Trees:
    return replace(trees[0], cversions={}), replace(trees[1], cversions={}, cversions_after={})


def _rs_not_compared(trees: Trees) -> Trees:
    return replace(trees[0], opened=0, closed=0), replace(trees[1], opened=0, closed=0)


def _nothing_compared(_trees: Trees) -> str | None:
    return None


def _as_hbase_compares(trees: Trees) -> str | None:
    """Returns why queues may have moved by HBase's own test.

    `getAllWALs` reads again until the cversion of `rs` is equal before and after that one reading.
    """
    return None if trees[0].opened == trees[0].closed else "HBase reads again"


def _of_trees(change: Callable[[Trees], Trees]) -> ZkWeakening:
    """Returns the weakening in which other names are in queues; the whole readings still show what has moved."""
    return ZkWeakening(queued=lambda trees, _peers, read_from: queued_wals(change(trees), read_from))


def _queues(keep: Callable[[ReplicationTree, ZkQueue], bool]) -> ZkWeakening:
    """Returns the weakening that ignores some queues."""

    def left(tree: ReplicationTree) -> ReplicationTree:
        return replace(tree, queues=tuple(queue for queue in tree.queues if keep(tree, queue)))

    return _of_trees(lambda trees: (left(trees[0]), left(trees[1])))


def _wals(keep: Callable[[Mapping[str, int | None]], Mapping[str, int | None]]) -> ZkWeakening:
    """Returns the weakening that ignores some WALs of a queue."""

    def left(tree: ReplicationTree) -> ReplicationTree:
        return replace(tree, queues=tuple(replace(queue, wals=keep(queue.wals)) for queue in tree.queues))

    return _of_trees(lambda trees: (left(trees[0]), left(trees[1])))


def _existing_peers_only(trees: Trees, peers: frozenset[str], read_from: int) -> QueuedWals:
    first, second = (
        replace(tree, queues=tuple(queue for queue in tree.queues if queue.queue.peer_id in peers)) for tree in trees
    )
    return queued_wals((first, second), read_from)


class _ByPrefix(dict[str, object]):
    """Matches names by everything before their timestamp."""

    def get(self, name: str, default: object = None) -> object:
        """See `dict.get`."""
        before = name.rpartition(".")[0]
        return next((value for key, value in self.items() if key.rpartition(".")[0] == before), default)


def _prefix_match(trees: Trees, _peers: frozenset[str], read_from: int) -> QueuedWals:
    queued = queued_wals(trees, read_from)
    return replace(queued, queues_of=_ByPrefix(queued.queues_of))  # type: ignore[arg-type]


LISTED_LAST = ("peers", "queues-1", "queues-2", "files")
LISTED_BETWEEN = ("peers", "queues-1", "files", "queues-2")

ZK_MUTANTS: tuple[ZkMutant, ...] = (
    ZkMutant("zk-files-last", "files listed after the queues, as HBase's own cleaner does", LISTED_LAST),
    ZkMutant(
        "zk-files-last-true-clocks",
        "files listed after the queues, with one true clock for files and steps",
        LISTED_LAST,
        weakening=ZkWeakening(true_clocks=True),
    ),
    ZkMutant(
        "zk-files-last-times-ignored",
        "the same, and modification times are not compared with the start of queues-1",
        LISTED_LAST,
        weakening=ZkWeakening(true_clocks=True, times=False),
    ),
    ZkMutant(
        "zk-times-ignored",
        "modification times are not compared with the start of queues-1",
        weakening=ZkWeakening(times=False),
    ),
    ZkMutant("zk-files-between", "files listed between the readings", LISTED_BETWEEN),
    ZkMutant(
        "zk-files-between-servers-once",
        "the same, and the cversions of `rs/<server>` are not read again behind all queues",
        LISTED_BETWEEN,
        unread=("again",),
    ),
    ZkMutant("zk-one-reading", "the queues are read once", ("files", "peers", "queues-1")),
    ZkMutant(
        "zk-first-names",
        "names of the first reading only",
        weakening=_of_trees(lambda trees: (trees[0], trees[0])),
    ),
    ZkMutant(
        "zk-second-names",
        "names of the second reading only",
        weakening=_of_trees(lambda trees: (trees[1], trees[1])),
    ),
    ZkMutant("zk-rs-ignored", "the cversion of `rs` is not compared", weakening=_compares(_rs_not_compared)),
    ZkMutant(
        "zk-servers-ignored",
        "the cversions of `rs/<server>` are not compared",
        weakening=_compares(_servers_not_compared),
    ),
    ZkMutant(
        "zk-servers-once",
        "the cversions of `rs/<server>` are not read again behind all queues",
        unread=("again",),
    ),
    ZkMutant(
        "zk-last-look",
        "the cversion of `rs` is not read after the second reading",
        weakening=_compares(lambda trees: (trees[0], replace(trees[1], closed=trees[1].opened))),
    ),
    ZkMutant(
        "zk-first-look",
        "the cversion of `rs` is not read before the first reading",
        weakening=_compares(lambda trees: (replace(trees[0], opened=trees[0].closed), trees[1])),
    ),
    ZkMutant("zk-nothing-compared", "no cversion is compared", weakening=ZkWeakening(unsettled=_nothing_compared)),
    ZkMutant("zk-no-sync", "the server that answers need not have caught up with the leader", unread=("sync",)),
    ZkMutant(
        "zk-any-session",
        "a capture may continue in another session, on a server that lacks the latest changes",
        unread=("session", "session-again"),
    ),
    ZkMutant(
        "zk-own-queues-only",
        "claimed queues are not looked at",
        weakening=_queues(lambda _, queue: not queue.queue.recovered),
    ),
    ZkMutant(
        "zk-locked-skipped",
        "queues of a server whose lock is held are not looked at: somebody is moving them",
        weakening=_queues(lambda tree, queue: queue.owner not in tree.locks),
    ),
    ZkMutant(
        "zk-first-wal-only",
        "only the WAL that a queue reads next holds",
        weakening=_wals(lambda wals: dict(list(wals.items())[:1])),
    ),
    ZkMutant(
        "zk-position-is-shipped",
        "a WAL with a position counts as shipped",
        weakening=_wals(lambda wals: {name: position for name, position in wals.items() if not position}),
    ),
    ZkMutant(
        "zk-existing-peers-only",
        "queues of removed peers do not hold",
        weakening=ZkWeakening(queued=_existing_peers_only),
    ),
    ZkMutant(
        "zk-hbase-cleaner",
        "HBase's own ReplicationLogCleaner decides, which reads once, and again while the cversion of `rs` changes",
        weakening=ZkWeakening(hbase=True, unsettled=_as_hbase_compares),
    ),
)

ZK_TOO_CAUTIOUS: tuple[ZkMutant, ...] = (
    ZkMutant(
        "zk-prefix-match",
        "names match by the beginning, all that stands before the timestamp",
        weakening=ZkWeakening(queued=_prefix_match),
    ),
    ZkMutant("zk-never-settled", "no capture counts as settled", weakening=ZkWeakening(unsettled=lambda _: "never")),
)
"""Mutants that hold too much."""

ZK_DESIGN = ZkMutant("zk-design", "nothing is taken away")


def zk_mutant(name: str) -> ZkMutant:
    """Returns the mutant of that name, or the design itself.

    Raises:
        KeyError: there is no such mutant.
    """
    return {one.name: one for one in (ZK_DESIGN, *ZK_MUTANTS, *ZK_TOO_CAUTIOUS)}[name]
