"""Which WALs a generated cluster has at an instant, and what HBase's own cleaner has removed by then."""

from collections.abc import Iterator
from itertools import pairwise

from jobs.demo.cluster.model import (
    MIB,
    NEVER,
    ClusterPlan,
    Held,
    PeerPlan,
    ServerLife,
    Wal,
    WalStream,
    fraction,
)
from pipelines.common.instants import MINUTE_MS
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import encode_prefix

CLEANER_INTERVAL_MS = 10 * MINUTE_MS
"""HBase's own cleaner comes by once in this time."""
_FLUSHED_AFTER = 25 * MINUTE_MS
"""A WAL is archived once the memstores behind it are flushed."""


def wals_of(plan: ClusterPlan, life: ServerLife, stream: WalStream, until: int) -> list[Wal]:
    """All WALs that the stream has begun by `until`, oldest first, removed ones too."""
    end = min(until, life.died)
    starts = list(_starts(plan, stream, end))
    wals = []
    for start, following in pairwise((*starts, NEVER)):
        closed = following if following != NEVER else life.died if life.died <= until else NEVER
        share = 0.9 + 0.2 * fraction(plan.seed, stream.group, start)
        written = min(1.0, (min(end, closed) - start) / stream.every)
        wals.append(
            Wal(
                name=f"{stream.group}.{start}{stream.suffix}",
                timestamp=start,
                length=int(stream.size * share * written),
                closed=closed,
                archived=_archived(plan, life, stream, start, closed, until),
            )
        )
    return wals


def _starts(plan: ClusterPlan, stream: WalStream, end: int) -> Iterator[int]:
    number, start = 0, stream.starts
    while start <= end:
        yield start
        number += 1
        jitter = fraction(plan.seed, stream.group, stream.suffix, number) - 0.5
        start = stream.starts + number * stream.every + int(jitter * stream.every / 2)


def _archived(plan: ClusterPlan, life: ServerLife, stream: WalStream, start: int, closed: int, until: int) -> int:
    if closed == NEVER:
        return NEVER
    flushed = closed + int(_FLUSHED_AFTER * (0.5 + fraction(plan.seed, "flush", stream.group, start)))
    if flushed > life.died:  # log splitting archives what the crash left below WALs/
        flushed = life.recovered
    return flushed if flushed <= until else NEVER


def shipped_until(plan: ClusterPlan, peer: PeerPlan, source: ServerName, at: int) -> int:
    """Returns the time (ms) up to which the peer has received the server's edits, as of an instant."""
    progress = min(at, peer.disabled_at) - peer.lag
    held = held_of(plan, peer, source, at)
    return progress if held is None else min(progress, held.progress)


def held_of(plan: ClusterPlan, peer: PeerPlan, source: ServerName, at: int) -> Held | None:
    """What stops that queue at an instant, or None."""
    return next(
        (
            held
            for held in plan.held
            if held.since <= at and held.peer_id == peer.peer.peer_id and held.source == source
        ),
        None,
    )


def files_at(plan: ClusterPlan, at: int) -> tuple[ArchivedFile, ...]:
    """All files below `oldWALs/` and `WALs/` at an instant, sorted by path."""
    files = [file for life in plan.lives for file in _files_of_life(plan, life, at)]
    files += _procedure_wals(plan, at)
    files += _master_wals(plan, at)
    files += [ArchivedFile(odd.path, odd.length, odd.modification_time) for odd in plan.odd_files]
    return tuple(sorted(files, key=lambda file: file.path))


def _files_of_life(plan: ClusterPlan, life: ServerLife, at: int) -> Iterator[ArchivedFile]:
    if life.started > at:
        return
    live_directory = f"WALs/{life.server}" + ("" if at < life.died else "-splitting")
    for stream in life.streams:
        for wal in wals_of(plan, life, stream, at):
            if wal.archived == NEVER:
                # HDFS shows the length of an open file short: nothing of its first block yet
                length = wal.length if wal.closed != NEVER else 0
                last_write = min(wal.closed, at)
                yield ArchivedFile(f"{live_directory}/{wal.name}", length, last_write)
            elif not _cleaned(plan, life, stream, wal, at):
                yield from _tampered(plan, life, wal)


def _tampered(plan: ClusterPlan, life: ServerLife, wal: Wal) -> Iterator[ArchivedFile]:
    length: int | None = wal.length
    for change in plan.tampering:
        if change.server == life.server and wal.timestamp <= change.at < wal.closed:
            length = change.length
    if length is not None:
        yield ArchivedFile(f"oldWALs/{wal.name}", length, wal.archived)


def _cleaned(plan: ClusterPlan, life: ServerLife, stream: WalStream, wal: Wal, at: int) -> bool:
    """Whether HBase's own cleaner has removed an archived WAL by an instant."""
    free = wal.archived + plan.retention.wal_ttl_ms
    if stream.leaked:
        free = max(free, life.recovered)
    if stream.tracked:
        free = max(free, *(_shipped(plan, peer, life, wal, at) for peer in plan.peers), 0)
    return free + CLEANER_INTERVAL_MS <= min(at, plan.cleaner_stuck_since)


def _shipped(plan: ClusterPlan, peer: PeerPlan, life: ServerLife, wal: Wal, at: int) -> int:
    shipped = wal.closed + peer.lag
    return shipped if shipped_until(plan, peer, life.server, at) >= wal.closed else NEVER


def _procedure_wals(plan: ClusterPlan, at: int) -> Iterator[ArchivedFile]:
    for number, archived in enumerate(plan.procedure_wals, start=1):
        if archived <= at < archived + plan.retention.procedure_wal_ttl_ms + CLEANER_INTERVAL_MS:
            yield ArchivedFile(f"oldWALs/masterProcedureWALs/pv2-{number:020d}.log", 3 * MIB, archived)


def _master_wals(plan: ClusterPlan, at: int) -> Iterator[ArchivedFile]:
    if not plan.master_wals_every:
        return
    group = encode_prefix(str(plan.master))
    keep = plan.retention.master_local_wal_ttl_ms + CLEANER_INTERVAL_MS
    oldest = min(at, plan.cleaner_stuck_since) - keep
    first = -(-max(oldest, plan.master.startcode) // plan.master_wals_every)
    for number in range(first, at // plan.master_wals_every + 1):
        archived = number * plan.master_wals_every
        name = f"{group}.{archived - MINUTE_MS}$masterlocalwal$"
        yield ArchivedFile(f"oldWALs/{name}", int(MIB * (1 + fraction(plan.seed, name))), archived)


def shipped_bytes(wal: Wal, progress: int, at: int) -> int:
    """Bytes of a WAL that were shipped by an instant, if its edits up to `progress` were."""
    end = at if wal.closed == NEVER else wal.closed
    written = (progress - wal.timestamp) / max(end - wal.timestamp, 1)
    return int(wal.length * min(written, 1.0))
