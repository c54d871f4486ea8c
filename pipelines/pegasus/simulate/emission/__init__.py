"""Writes the traces of a whole table's split in the formats of the jobs: rows, states, logs, a journal, facts.

Each partition of the table is one group of the model with its own history; the histories run in parallel.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from pipelines.pegasus.simulate.emission.journal import journal, version_of
from pipelines.pegasus.simulate.emission.logs import facts_of, log_files
from pipelines.pegasus.simulate.emission.states import aligned, states
from pipelines.pegasus.simulate.emission.table import EmittedRow, Spread, rows_after, rows_before
from pipelines.pegasus.simulate.emission.trace import trace_of
from pipelines.pegasus.simulate.walk import WalkHistory
from pipelines.pegasus.simulate.world import leader

__all__ = ["Emitted", "EmittedRow", "emit"]


@dataclass(frozen=True, slots=True)
class Emitted:
    """The traces of a table's split, in the formats of the jobs.

    Attributes:
        before: the rows before the split, and every write acknowledged since.
        after: the rows that the primaries of parents and children have.
        states: the states of the cluster, one JSON object for each change (docs/split-state.md).
        journal: the requests and answers, one JSON object each (docs/split-route.md).
        logs: the private logs by their path, `<node>/…/<app>.<partition>.pegasus/plog/log.<index>.<offset>`.
        facts: the facts that logs do not contain (docs/split-audit-log.md).
        counts: the number of partitions before and after.
        validates: whether the table's env `replica.split.validate_partition_hash` is true.
        versions: the `partition_version` of the partitions where it is not the count - 1.
    """

    before: tuple[EmittedRow, ...]
    after: tuple[EmittedRow, ...]
    states: tuple[Mapping[str, object], ...]
    journal: tuple[Mapping[str, object], ...]
    logs: Mapping[str, bytes]
    facts: Mapping[str, object]
    counts: tuple[int, int]
    validates: bool
    versions: Mapping[int, int]


def emit(histories: Sequence[WalkHistory], confirmed: int | None = None, every: int = 1) -> Emitted:
    """Returns the traces of the split of a table with one partition for each history.

    Args:
        histories: one history for each partition.
        confirmed: the decree up to which another cluster has confirmed the table's duplication; None = there is no
            duplication.
        every: write a state only for every n-th step, see `states.states`.
    """
    groups = len(histories)
    found = [(Spread(group, groups), history) for group, history in enumerate(aligned(histories))]
    traces = [trace_of(history) for _, history in found]
    asked = [
        request
        for (spread, history), trace in zip(found, traces, strict=True)
        for request in journal(spread, history, trace)
    ]
    last = [history.worlds[-1] for _, history in found]
    times = max(world.meta.times for world in last)
    versions = {
        group: version_of(Spread(group, groups), primary.version)
        for group, primary in enumerate(map(leader, last))
        if primary is not None
    }
    return Emitted(
        before=tuple(row for spread, history in found for row in rows_before(spread, history)),
        after=tuple(row for spread, history in found for row in rows_after(spread, history)),
        states=tuple(states([history for _, history in found], every)),
        journal=tuple(sorted(asked, key=itemgetter("ts"))),
        logs={
            path: data
            for (spread, history), trace in zip(found, traces, strict=True)
            for path, data in log_files(spread, history, trace)
        },
        facts=facts_of(traces, confirmed),
        counts=(groups, times * groups),
        validates=times == 1 or all(world.meta.validates for world in last),
        versions={group: version for group, version in versions.items() if version != times * groups - 1},
    )
