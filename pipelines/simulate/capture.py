"""A capture of a generated cluster: what each step of the real one would have read."""

from pipelines.domain.capture_order import CAPTURE_ORDER
from pipelines.domain.snapshot import (
    QUEUE_STORAGE_TABLE,
    Backup,
    Flags,
    Membership,
    Snapshot,
    Step,
    WalDirectory,
)
from pipelines.domain.verdict import ArchivedFile
from pipelines.simulate.model import SECOND_MS, ClusterPlan, GeneratedCapture, ServerLife
from pipelines.simulate.queues import cells_at
from pipelines.simulate.wals import files_at

LOG_CLEANERS = (
    "org.apache.hadoop.hbase.master.cleaner.TimeToLiveLogCleaner",
    "org.apache.hadoop.hbase.master.cleaner.TimeToLiveProcedureWALCleaner",
    "org.apache.hadoop.hbase.master.cleaner.TimeToLiveMasterLocalStoreWALCleaner",
)
SAFE_FLAGS = Flags(queue_table_exists=True, add_peer_running=False, migration_pending=False, zk_queue_data=False)


def capture_at(plan: ClusterPlan, at: int) -> GeneratedCapture:
    """Capture the cluster.

    Args:
        plan: the cluster's life.
        at: start of step `files`, ms; each step takes a second, and queues advance between the two passes.
    """
    steps = steps_at(at, SECOND_MS)
    begins = {step.step: step.started_at for step in steps}
    files = files_at(plan, at)
    snapshot = Snapshot(
        cluster=plan.cluster,
        cluster_id="5c7a0f0e-3a52-4a8e-9a53-2f1f6d6c2a10",
        hbase_version="3.0.0",
        queue_storage=QUEUE_STORAGE_TABLE,
        wal_root=plan.wal_root,
        clock_host="edge1.example.org",
        steps=steps,
        contents={},
        peers=tuple(peer.peer for peer in sorted(plan.peers, key=lambda peer: peer.peer.peer_id)),
        membership=_membership(plan, begins["online"], _directories(plan, files, at)),
        membership_2=_membership(plan, begins["online-2"], ()),
        flags=SAFE_FLAGS,
        flags_2=SAFE_FLAGS,
        retention=plan.retention,
        log_cleaner_plugins=LOG_CLEANERS,
        backup=Backup(enabled=False),
        extras=(),
    )
    return GeneratedCapture(snapshot, files, cells_at(plan, begins["queues-1"]), cells_at(plan, begins["queues-2"]))


def steps_at(at: int, each: int, gap: int = 1) -> tuple[Step, ...]:
    """The steps of a capture from `at` on, one beginning every `each` ms and ending `gap` ms before the next."""
    return tuple(
        Step(name, at + number * each, at + (number + 1) * each - gap) for number, name in enumerate(CAPTURE_ORDER)
    )


def _membership(plan: ClusterPlan, at: int, directories: tuple[WalDirectory, ...]) -> Membership:
    return Membership(
        active_master=str(plan.master),
        online=frozenset(life.server for life in plan.lives if life.started <= at < life.died),
        crashing=frozenset(life.server for life in plan.lives if life.died <= at < life.recovered),
        wal_directories=directories,
    )


def _directories(plan: ClusterPlan, files: tuple[ArchivedFile, ...], at: int) -> tuple[WalDirectory, ...]:
    inside: dict[str, list[ArchivedFile]] = {}
    for file in files:
        folder, _, name = file.path.removeprefix("WALs/").partition("/")
        if file.path.startswith("WALs/") and name:
            inside.setdefault(folder.removesuffix("-splitting"), []).append(file)
    return tuple(
        WalDirectory(
            life.server,
            len(inside.get(str(life.server), [])),
            _last_change(life, inside.get(str(life.server), []), at),
        )
        for life in sorted(plan.lives, key=lambda life: life.server)
        if life.started <= at and (at < life.recovered or life.leftover_directory)
    )


def _last_change(life: ServerLife, inside: list[ArchivedFile], at: int) -> int:
    if at >= life.recovered:
        return life.recovered
    return max((file.modification_time for file in inside), default=life.started)
