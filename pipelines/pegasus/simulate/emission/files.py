"""Writes the files of a simulated table split, which the other split jobs read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.common.errors import UsageError
from pipelines.pegasus.simulate.emission.journal import journal, version_of
from pipelines.pegasus.simulate.emission.logs import facts_of, log_files
from pipelines.pegasus.simulate.emission.states import aligned, states
from pipelines.pegasus.simulate.emission.table import EmittedRow, Spread, rows_after, rows_before
from pipelines.pegasus.simulate.emission.trace import trace_of
from pipelines.pegasus.simulate.faults import FAULTS
from pipelines.pegasus.simulate.scope import Design
from pipelines.pegasus.simulate.walk import WalkHistory, scope_of, walk
from pipelines.pegasus.simulate.world import leader
from pipelines.pegasus.transforms.row_tally import ROW_SCHEMA

_UNFINISHED = frozenset({"pause", "cancel", "restart_split"})
_MOST_TRIES = 1000
_MANY = 8
"""From this number of partitions on, only some steps of the histories produce a state file."""


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


def write_table(directory: str, histories: Sequence[WalkHistory], confirmed: int | None = None) -> Emitted:
    """Write all files of a simulated table split.

    Raises:
        UsageError: the directory is not empty.
    """
    emitted = emit(histories, confirmed, max(1, len(histories) // _MANY))
    write_emitted(emitted, directory)
    return emitted


def whole_histories(groups: int, first_seed: int, design: Design) -> list[WalkHistory]:
    """Returns histories of the first seeds whose split ends, or breaks, without a pause."""
    may = tuple(name for name in FAULTS if name not in _UNFINISHED)
    found: list[WalkHistory] = []
    for seed in range(first_seed, first_seed + _MOST_TRIES):
        if len(found) == groups:
            return found
        history = walk(seed, design, scope_of(seed, may))
        if history.broken or history.is_settled:
            found.append(history)
    raise UsageError(
        f"{groups} histories that end or break are needed, but the {_MOST_TRIES} histories from seed {first_seed} on "
        f"have only {len(found)}; give another --seed"
    )


def write_emitted(emitted: Emitted, directory: str) -> None:
    """Write all files.

    Raises:
        UsageError: the directory is not empty.
    """
    root = Path(directory)
    if root.exists() and any(root.iterdir()):
        raise UsageError(f"{directory}: not empty; give a new directory")
    write_rows(emitted.before, root / "before")
    write_rows(emitted.after, root / "after")
    (root / "states").mkdir()
    for number, state in enumerate(emitted.states):
        (root / "states" / f"state-{number:04}.json").write_text(json.dumps(state) + "\n", encoding="utf-8")
    lines = "".join(json.dumps(request) + "\n" for request in emitted.journal)
    (root / "requests.jsonl").write_text(lines, encoding="utf-8")
    (root / "facts.json").write_text(json.dumps(emitted.facts) + "\n", encoding="utf-8")
    for path, data in emitted.logs.items():
        log = root / "logs" / path
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(data)


def write_rows(rows: Sequence[EmittedRow], directory: Path) -> None:
    """Writes rows as Parquet (docs/split-rows.md)."""
    directory.mkdir(parents=True)
    columns = [[row[place] for row in rows] for place in range(3)]
    pq.write_table(pa.table(columns, ROW_SCHEMA), directory / "part-00000.parquet")
