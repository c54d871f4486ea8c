"""A capture of a generated cluster: what each step of the real one would have read."""

from dataclasses import replace

from jobs.demo.cluster.model import ClusterPlan, GeneratedCapture, ServerLife
from jobs.demo.cluster.queues import cells_at
from jobs.demo.cluster.snapshots import healthy_snapshot, steps_at
from jobs.demo.cluster.wals import files_at
from pipelines.common.instants import SECOND_MS
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.snapshot.model import Membership, WalDirectory


def capture_at(plan: ClusterPlan, at: int) -> GeneratedCapture:
    """Capture the cluster.

    Args:
        plan: the cluster's life.
        at: start of step `files`, ms; each step takes a second, and queues advance between the two passes.
    """
    steps = steps_at(at, SECOND_MS)
    begins = {step.step: step.started_at for step in steps}
    files = files_at(plan, at)
    snapshot = healthy_snapshot(
        plan.cluster,
        steps,
        sorted((peer.peer for peer in plan.peers), key=lambda peer: peer.peer_id),
        _membership(plan, begins["online"], _directories(plan, files, at)),
        _membership(plan, begins["online-2"], ()),
        retention=plan.retention,
    )
    snapshot = replace(snapshot, wal_root=plan.wal_root)
    return GeneratedCapture(snapshot, files, cells_at(plan, begins["queues-1"]), cells_at(plan, begins["queues-2"]))


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
