"""Computes what a generated cluster still needs: the truth, which no capture reads."""

from collections.abc import Iterator

from jobs.demo.cluster.model import NEVER, ClusterPlan, Wal
from jobs.demo.cluster.wals import shipped_until, wals_of


def needed_wals(plan: ClusterPlan, at: int) -> Iterator[Wal]:
    """Yields the WALs that an existing peer has not completely received by this time."""
    for life in plan.lives:
        slowest = min((shipped_until(plan, peer, life.server, at) for peer in plan.peers), default=NEVER)
        for stream in life.streams if life.started <= at else ():
            if stream.tracked:
                yield from (wal for wal in wals_of(plan, life, stream, at) if wal.closed > slowest)
