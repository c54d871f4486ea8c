"""What a generated cluster still needs: the truth that no capture reads."""

from collections.abc import Iterator

from jobs.demo.cluster.model import NEVER, ClusterPlan, Wal
from jobs.demo.cluster.wals import shipped_until, wals_of


def needed_wals(plan: ClusterPlan, at: int) -> Iterator[Wal]:
    """The WALs of which a peer that exists has not been shipped all by then."""
    for life in plan.lives:
        slowest = min((shipped_until(plan, peer, life.server, at) for peer in plan.peers), default=NEVER)
        for stream in life.streams if life.started <= at else ():
            if stream.tracked:
                yield from (wal for wal in wals_of(plan, life, stream, at) if wal.closed > slowest)
