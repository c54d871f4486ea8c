"""Models HMaster's own ReplicationLogCleaner: it reads in HBase's order and deletes what it may delete.

Its answer is the transcription of `pipelines.decide.rule.cleaner_rule`. It takes the barrier, which AddPeer and the
migration disable, so that they wait for the cleaner and the cleaner for them; and it has HBase's own gap
(docs/safety.md).
"""

from collections.abc import Iterator

from tests.models.capture import capture
from tests.models.capture.judge import Judge, Seen
from tests.models.capture.names import Names
from tests.models.capture.scope import Scope
from tests.models.capture.servers import Action
from tests.models.capture.world import (
    ADD_REFRESHING,
    ADD_SUBMITTED,
    NO_MIGRATION,
    CleanerRun,
    World,
)

_NO_FLAGS = capture.Flags(add_peer=False, migration=False, znodes=False)


class Cleaner:
    """The cleaner of one scope; it remembers the answers to earlier questions."""

    def __init__(self, scope: Scope) -> None:
        self._judge = Judge(Names(scope))

    def actions(self, world: World) -> Iterator[Action]:
        """Yields the actions that the cleaner may take next."""
        run = world.cleaner
        if run is None:
            adding = any(peer.procedure in (ADD_SUBMITTED, ADD_REFRESHING) for peer in world.peers)
            if world.loaded and world.budget.cleans and not adding and world.migration == NO_MIGRATION:
                yield start_cleaner, ()
        elif run.rows is None:
            yield cleaner_reads, ()
        else:
            yield self.cleaner_deletes, ()

    def cleaner_deletes(self, world: World) -> World:
        """`CleanerChore`: it lists oldWALs now, and deletes what ReplicationLogCleaner lets go."""
        run = world.cleaner
        if run is None or run.rows is None:
            return world
        servers, crashing, rows = capture.ServerLook(run.online), capture.CrashLook(run.crashing), run.rows
        seen = Seen(0, servers, crashing, 0, run.peers, _NO_FLAGS, rows, rows, servers, crashing, _NO_FLAGS, 0)
        gone = [wal for wal in capture.list_files(world) if self._judge.hbase_deletes(seen, wal)]
        return world._replace(gone=tuple(sorted((*world.gone, *gone))), cleaner=None)


def start_cleaner(world: World) -> World:
    """`ReplicationLogCleaner.preClean`: the barrier is taken."""
    budget = world.budget._replace(cleans=world.budget.cleans - 1)
    return world._replace(cleaner=CleanerRun(), budget=budget)


def cleaner_reads(world: World) -> World:
    """`preClean`, one read more: online servers, crash procedures, peers, queues."""
    run = world.cleaner
    if run is None:
        return world
    if run.online < 0:
        run = run._replace(online=capture.servers(world).online)
    elif run.crashing < 0:
        run = run._replace(crashing=sum(capture.crashing(world)))
    elif run.peers < 0:
        run = run._replace(peers=capture.stored_peers(world))
    else:
        run = run._replace(rows=world.rows)
    return world._replace(cleaner=run)
