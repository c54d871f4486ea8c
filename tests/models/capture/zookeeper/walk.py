"""Plays one history with queues in ZooKeeper by its seed."""

import random
from functools import lru_cache

from tests.models.capture.walk import HISTORIES_OF_ONE, Walk, walked
from tests.models.capture.zookeeper.game import ZkGame, ZkState
from tests.models.capture.zookeeper.mutants import ZK_DESIGN, ZkMutant
from tests.models.capture.zookeeper.scope import CVERSION, LOCK, MULTI, ZkScope, ZkServer
from tests.models.walk import Pace
from tests.models.walk import play as play_game

_PACE = Pace(hurry=(0.2, 0.4, 0.6), before=(0, 0, 5, 12), most=300, draws_from_all=True)
ZkWalk = Walk[ZkScope, ZkState]
"""One history."""


@lru_cache(maxsize=4)
def random_zk_scope(seed: int) -> ZkScope:
    """Draws a cluster from a seed: two to four servers, one or two peers, one of the ways of claiming."""
    draw = random.Random(seed)
    peers = draw.choice(((True,), (True,), (True, True), (True, False)))
    servers = []
    for host in range(1, draw.randint(2, 4) + 1):
        kind, wals = draw.random(), draw.randint(1, 3)
        if kind < 0.15 and host > 1:
            servers.append(ZkServer(host, waits=True))
        elif kind < 0.4 and host > 1:
            servers.append(ZkServer(host, wals=wals, dead=True))
        else:
            servers.append(ZkServer(host, wals=wals, archived=draw.randint(0, wals - 1)))
    rare = [draw.random() < 0.25 for _ in range(3)]
    return ZkScope(
        name=f"zk-seed-{seed}",
        servers=tuple(servers),
        claim=draw.choice((LOCK, MULTI, CVERSION)),
        peers=peers,
        max_wals=4,
        crashes=draw.randint(1, 3),
        rolls=True,
        adds=int(not all(peers)) + int(rare[0]),
        removes=int(rare[0]),
        late=2 * rare[1],
        expiries=2 * rare[1],
    )


def zk_walk(seed: int, weakened: ZkMutant = ZK_DESIGN) -> ZkWalk:
    """Plays one history to the end of its capture.

    Args:
        seed: any whole number; the same seed gives the same history.
        weakened: what is taken away from capture and rule.
    """
    return zk_play(_game(random_zk_scope(seed // HISTORIES_OF_ONE), weakened), seed)


@lru_cache(maxsize=2)
def _game(scope: ZkScope, weakened: ZkMutant) -> ZkGame:
    return ZkGame(weakened.plan(scope))


def zk_play(game: ZkGame, seed: int) -> ZkWalk:
    """Plays one history of a game; it ends with the capture, or as soon as nothing is left to lose."""
    moves, state = play_game(game, seed, _PACE)
    return walked(game, seed, game.plan.scope, moves, state)
