"""Writes the replicas' private logs, byte by byte like Pegasus, and the facts file for split-audit-log."""

from collections.abc import Iterator, Mapping, Sequence

from pipelines.pegasus.domain.private_log.blocks import Checksum
from pipelines.pegasus.domain.private_log.mutations import FileHeader, Mutation
from pipelines.pegasus.domain.private_log.names import Gpid, LogName
from pipelines.pegasus.domain.private_log.writer import EMPTY, LogWriter, encode_put
from pipelines.pegasus.simulate.emission.table import (
    APP_ID,
    CLUSTER,
    Spread,
    at_us,
    key_of,
    user_data,
)
from pipelines.pegasus.simulate.emission.trace import CHECKPOINT, OLDEST, Logged, Trace
from pipelines.pegasus.simulate.walk import WalkHistory

_FIRST_START = 4096
"""Global offset of the parents' oldest log; earlier logs are deleted."""
_BLOCK_MUTATIONS = 4


def log_files(spread: Spread, history: WalkHistory, trace: Trace, checksum: Checksum) -> Iterator[tuple[str, bytes]]:
    """Yields every log of a parent and its child: the path below the directory of logs, and the bytes.

    A parent has two logs: one up to the checkpoint, which is durable, and one with the rest. A child has one.
    """
    for node, entries in sorted(trace.parents.items()):
        old = [one for one in entries if one.decree <= CHECKPOINT]
        files = [old, entries[len(old) :]]
        yield from _replica(spread.group, node, (files, OLDEST - 1, _FIRST_START), (spread, history, checksum))
    for node, entries in sorted(trace.children.items()):
        yield from _replica(spread.child, node, ([entries], 0, 0), (spread, history, checksum))


def _replica(
    partition: int,
    node: int,
    logs: tuple[Sequence[Sequence[Logged]], int, int],
    of: tuple[Spread, WalkHistory, Checksum],
) -> Iterator[tuple[str, bytes]]:
    (files, before, start), (spread, history, checksum) = logs, of
    gpid = Gpid(APP_ID, partition)
    for index, entries in enumerate(files, 1):
        writer = LogWriter(FileHeader(start, {gpid: before}, {gpid: 0}), checksum)
        for first in range(0, len(entries), _BLOCK_MUTATIONS):
            block = entries[first : first + _BLOCK_MUTATIONS]
            writer.append(*(_mutation(one, gpid, spread, history) for one in block))
        yield f"{node_of(node)}/{gpid}.pegasus/plog/{LogName(index, start)}", bytes(writer.data)
        start, before = writer.end, max([before, *(one.decree for one in entries)])


def _mutation(one: Logged, gpid: Gpid, spread: Spread, history: WalkHistory) -> Mutation:
    update = EMPTY if one.number is None else encode_put(key_of(spread, history, one.number), user_data(one.number))
    time = at_us(one.step) - (BEFORE_US if one.step == 0 else 0)
    return Mutation(gpid, one.ballot, one.decree, 0, one.committed, time, (update,))


BEFORE_US = 3_600_000_000
"""Rows from before the split were written this many μs (one hour) earlier."""


def node_of(node: int) -> str:
    """Returns the name of a node's directory."""
    return f"n{node + 1}/replica/reps"


def facts_of(traces: Sequence[Trace], confirmed: int | None) -> Mapping[str, object]:
    """Returns the facts that logs do not contain (docs/split-audit-log.md).

    Args:
        traces: the traces of all groups, in the order of the groups.
        confirmed: the decree up to which another cluster has confirmed the duplication; None = the table is not
            duplicated.
    """
    groups, replicas, partitions = [], [], []
    for group, trace in enumerate(traces):
        known = {"child_ballot": trace.child_ballot, "sync_point": trace.sync_point, "committed": trace.committed}
        if trace.child_ballot is not None:
            groups.append({"parent": group, **{name: value for name, value in known.items() if value is not None}})
        replicas += [_durable(node, group, CHECKPOINT) for node in sorted(trace.parents)]
        child = group + len(traces)
        replicas += [_durable(node, child, trace.learned.get(node, 0)) for node in sorted(trace.children)]
        partitions += [group, *([child] if trace.children else [])]
    facts: dict[str, object] = {
        "format": 1,
        "cluster": CLUSTER,
        "app_id": APP_ID,
        "old_count": len(traces),
        "groups": groups,
        "replicas": replicas,
        "duplicating": confirmed is not None,
    }
    if confirmed is not None:
        facts["duplication"] = [{"pidx": pidx, "confirmed_decree": confirmed} for pidx in sorted(partitions)]
    return facts


def _durable(node: int, partition: int, decree: int) -> Mapping[str, object]:
    return {"node": node_of(node), "pidx": partition, "last_durable_decree": decree}
