"""Checks that once a cluster is quiet, WALs that no peer needs are DELETABLE, or a queue is left over."""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.reconcile.findings.evidence import Evidence
from pipelines.reconcile.findings.queues import orphan_queues
from tests.models.capture.liveness import come_to_rest, read_all
from tests.models.capture.trust import zookeeper_distrust_reason
from tests.models.capture.zookeeper.game import ZkGame, ZkState
from tests.models.capture.zookeeper.judge import Seen
from tests.models.capture.zookeeper.servers import Action
from tests.models.capture.zookeeper.world import NOBODY, ONLINE, Wal, World, is_needed

_UPSETTING = frozenset({"crash", "roll", "add_peer", "remove_peer", "fall_behind", "expire"})


@dataclass(frozen=True, slots=True)
class Held:
    """A WAL that no peer needs, but that is held.

    Attributes:
        wal: server, group, number.
        reason: the reason of the verdict.
        locked: whether it is in a queue whose claimer died with the lock; HBase leaves such a queue forever
            (HBASE-16144).
        told: what tells the operator the cause: the code of a finding, or the reason why the snapshot is not trusted;
            None = the report names its holder.
    """

    wal: Wal
    reason: str
    locked: bool
    told: str | None


def settle(game: ZkGame, world: World) -> World:
    """Returns the cluster after everything that was begun has ended, and all queues have shipped; nothing new begins.

    Raises:
        RuntimeError: the cluster never comes to rest, a defect of the model.
    """
    return come_to_rest(world, lambda world: _calming(game, world))


def _calming(game: ZkGame, world: World) -> Iterator[Action]:
    nobody = not any(life.status == ONLINE for life in world.lives)
    for action in game.actions(ZkState(world, ())):
        name = action[0].__name__
        if name not in _UPSETTING and (name != "start" or nobody):
            yield action


def undisturbed(game: ZkGame, world: World) -> ZkState:
    """Returns the state after a capture in which nothing happens between the reads.

    Raises:
        RuntimeError: a read fails, a defect of the model.
    """
    return read_all(game, game.first()._replace(world=world))


def held_without_need(game: ZkGame, world: World) -> tuple[Held, ...]:
    """Returns the WALs that an undisturbed capture would hold although no peer needs them."""
    state = undisturbed(game, world)
    seen = game.seen(state)
    return tuple(
        Held(wal, game.judge.decide(seen, wal).reason.value, _locked(world, wal), _told(game, seen, wal))
        for wal in game.files(state) or ()
        if not is_needed(world, wal) and not game.judge.deletable(seen, wal)
    )


def _locked(world: World, wal: Wal) -> bool:
    queues = (queue for queue in world.znodes.queues if queue.source == wal[0] and wal[2] in queue.wals)
    return any(world.znodes.locks[queue.owner] != NOBODY for queue in queues)


def _told(game: ZkGame, seen: Seen, wal: Wal) -> str | None:
    """Returns the finding about a queue that holds the WAL, or the refusal of the snapshot; None = nothing."""
    snapshot, trees = game.judge.snapshot(seen)
    settings, view = ReconcileSettings(), game.judge.view(seen)
    if view.untrusted is not None:
        return zookeeper_distrust_reason(snapshot, trees, settings.release)
    holders = {(one.peer_id, str(one.owner)) for one in game.judge.decide(seen, wal).blocking}
    table = view.storage.decision_table(view)
    evidence = Evidence(snapshot, view, table, settings, (), (), ())
    found = (one.code for one in orphan_queues(evidence) if (one.peer_id, one.server) in holders)
    return next(found, None)
