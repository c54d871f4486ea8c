"""Models the actions of the master: ServerCrashProcedure, fail-over, and the migration of the queues from ZooKeeper."""

from collections.abc import Iterator

from tests.models.capture.scope import NO_OFFSET, Scope
from tests.models.capture.servers import Action, Listing
from tests.models.capture.world import (
    ASSIGNING,
    COPIED,
    CRASHING,
    DEAD,
    EXPIRED,
    MIGRATING,
    NO_DIRECTORY,
    NO_MIGRATION,
    ONLINE,
    OWN,
    REMOVED,
    RENAMED,
    SPLIT,
    SPLITTING,
    STORED,
    SUBMITTED,
    ZK_ONLY,
    Life,
    World,
    find_row,
    source_of,
    with_life,
    with_row,
    without_row,
)


def master_actions(world: World, scope: Scope, listed: Listing | None, *, shorten: bool) -> Iterator[Action]:
    """Yields everything that the master may do next; a master that is loading can only finish loading.

    Args:
        world: the cluster.
        scope: what may happen.
        listed: the WALs that matter, once they are known.
        shorten: whether to leave out steps that nobody can see: the renaming, and the archiving once the files are
            listed.
    """
    yield from actions_of_master(world, scope)
    if world.loaded:
        for number in range(len(world.lives)):
            yield from actions_of_crash(world, scope, listed, number, shorten=shorten)


def actions_of_master(world: World, scope: Scope) -> Iterator[Action]:
    """Yields fail-over, ReplicationSyncUp while everything is down, and the steps of the queue migration."""
    if not world.loaded:
        yield load, ()
        down = not any(life.status == ONLINE for life in world.lives)
        if scope.sync_up and down and not world.synced:
            yield sync_up, ()
        return
    if world.budget.failovers:
        yield fail_over, ()
    if world.migration == ZK_ONLY:
        yield submit_migration, ()
    elif world.migration == MIGRATING:
        yield (copy_row, ()) if world.znodes else (remove_znodes, ())
    elif world.migration == COPIED:
        yield end_migration, ()


def actions_of_crash(
    world: World, scope: Scope, listed: Listing | None, number: int, *, shorten: bool
) -> Iterator[Action]:
    """Yields the next steps of the crash procedure of one server."""
    life = world.lives[number]
    if life.status == EXPIRED:
        yield submit, (number, 0)
        if scope.hbck:
            yield submit, (number, 1)
    elif life.status == CRASHING:
        yield from _crash_procedure(world, scope, number, _shortened(life, listed) if shorten else life)


def _crash_procedure(world: World, scope: Scope, number: int, life: Life) -> Iterator[Action]:
    if life.step == SUBMITTED:
        yield rename_directory, (number,)
    elif life.step == RENAMED:
        yield split_logs, (number,)
    elif life.step == SPLIT:
        yield from ((remove_directory, (number, stays)) for stays in range(1 + scope.leftovers))
    elif life.step == REMOVED:
        if world.migration in (NO_MIGRATION, ZK_ONLY):
            yield assign_queues, (number,)
    elif life.todo:
        yield from ((add_missing_queue, (number, peer)) for peer in range(len(world.peers)) if life.todo >> peer & 1)
    elif world.synced >> number & 1:
        yield remove_queues, (number,)
    else:
        yield from _claims(world, number)


def _claims(world: World, number: int) -> Iterator[Action]:
    mine = [row for row in world.rows if row[1] == number and world.peers[row[0]].status == STORED]
    if not mine:
        yield finish, (number,)
    for peer, _, source, _ in mine:
        for target, other in enumerate(world.lives):
            if other.status == ONLINE or (other.status == EXPIRED and other.memory and target != number):
                yield claim, (peer, number, source, target)


def _shortened(life: Life, listed: Listing | None) -> Life:
    """Returns the life with its crash procedure advanced to the next step that makes a difference."""
    if life.step == SUBMITTED:
        return life._replace(step=RENAMED if listed is None else SPLIT)
    return life


def submit(world: World, server: int, hbck: int) -> World:
    """`ServerManager.expireServer`, last part: the crash procedure is in `getProcedures` from now on."""
    life = world.lives[server]
    return with_life(world, server, life._replace(status=CRASHING, step=SUBMITTED, hbck=bool(hbck)))


def rename_directory(world: World, server: int) -> World:
    """`SplitWALManager.getWALsToSplit`: `WALs/<server>` becomes `WALs/<server>-splitting`."""
    return with_life(world, server, world.lives[server]._replace(step=RENAMED, directory=SPLITTING))


def split_logs(world: World, server: int) -> World:
    """`SplitWALProcedure`: every WAL that was left is archived."""
    life = world.lives[server]
    return with_life(world, server, life._replace(step=SPLIT, directory=SPLITTING, archived=life.created))


def remove_directory(world: World, server: int, stays: int) -> World:
    """`SplitWALManager.deleteWALDir`, best effort: the empty directory may stay forever."""
    life = world.lives[server]
    directory = SPLITTING if stays else NO_DIRECTORY
    return with_life(world, server, life._replace(step=REMOVED, directory=directory, archived=life.created))


def assign_queues(world: World, server: int) -> World:
    """SERVER_CRASH_CLAIM_REPLICATION_QUEUES: nothing to do without peers, else AssignReplicationQueuesProcedure."""
    life = world.lives[server]
    stored = sum(1 << peer for peer, state in enumerate(world.peers) if state.status == STORED)
    if not stored:
        return with_life(world, server, life._replace(status=DEAD))
    return with_life(world, server, life._replace(step=ASSIGNING, todo=stored))


def add_missing_queue(world: World, server: int, peer: int) -> World:
    """`AssignReplicationQueuesProcedure.addMissingQueues` for one peer: a placeholder where it has no row."""
    life = world.lives[server]
    world = with_life(world, server, life._replace(todo=life.todo & ~(1 << peer)))
    if find_row(world, peer, server, OWN) is not None or world.peers[peer].status != STORED:
        return world
    return with_row(world, (peer, server, OWN, (NO_OFFSET,) * len(life.created)))


def claim(world: World, peer: int, owner: int, source: int, target: int) -> World:
    """`TableReplicationQueueStorage.claimQueue`: delete here and put there, one atomic mutation."""
    row = find_row(world, peer, owner, source)
    if row is None:
        return world
    return with_row(without_row(world, row), (peer, target, source_of(row), row[3]))


def remove_queues(world: World, server: int) -> World:
    """REMOVE_QUEUES: ReplicationSyncUp has shipped this server's queues; rows and flag file go."""
    rows = tuple(row for row in world.rows if row[1] != server)
    return world._replace(rows=rows, synced=world.synced & ~(1 << server))


def finish(world: World, server: int) -> World:
    """The crash procedure ends in state SUCCESS: the server is fully dead."""
    return with_life(world, server, world.lives[server]._replace(status=DEAD))


def fail_over(world: World) -> World:
    """The active master dies and another one takes over: it answers, but shows no procedures while it loads.

    Of dead servers it lists those whose crash procedure is unfinished (`ServerManager.findDeadServersAndProcess`).
    """
    budget = world.budget._replace(failovers=world.budget.failovers - 1)
    fully = sum(1 << number for number, life in enumerate(world.lives) if life.status == DEAD)
    return world._replace(
        master=world.master + 1, loaded=False, cleaner=None, budget=budget, unlisted=world.unlisted | fully
    )


def load(world: World) -> World:
    """`HMaster.finishActiveMasterInitialization` is done."""
    return world._replace(loaded=True)


def sync_up(world: World) -> World:
    """ReplicationSyncUp, while all is down: it ships every queue, leaves the rows, and a flag file for each server."""
    dead = sum(1 << number for number, life in enumerate(world.lives) if life.status == EXPIRED)
    return world._replace(synced=dead)


def submit_migration(world: World) -> World:
    """`HMaster.startActiveMasterManager`, late: MigrateReplicationQueueFromZkToTableProcedure."""
    return world._replace(migration=MIGRATING)


def copy_row(world: World) -> World:
    """MIGRATE: one queue is put into the table and its znode removed."""
    return with_row(world._replace(znodes=world.znodes[1:]), world.znodes[0])


def remove_znodes(world: World) -> World:
    """CLEAN_UP: the three znode trees go."""
    return world._replace(migration=COPIED)


def end_migration(world: World) -> World:
    """The migration procedure ends in state SUCCESS."""
    return world._replace(migration=NO_MIGRATION)
