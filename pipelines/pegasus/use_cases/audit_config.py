"""split-audit-config: checks a series of cluster states against the rules of a split."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.common.human import human_count, human_instant
from pipelines.common.job_result import JobResult
from pipelines.lake.job_run import JobLake, JobRun
from pipelines.pegasus.domain.audit_config import TimeLimits, audit_config
from pipelines.pegasus.domain.partitions import UNREGISTERED
from pipelines.pegasus.domain.state.model import ClusterState
from pipelines.pegasus.use_cases.frame import deliver
from schemas.split_partitions import SPLIT_PARTITIONS


@dataclass(frozen=True, slots=True)
class SplitPartitionRow:
    """A row of `split_partitions`."""

    observed_at: int
    app_id: int
    table: str
    partition: int
    partition_count: int
    ballot: int
    registered: bool
    primary: str | None
    secondaries: list[str]
    split_state: str | None


def run_audit_config(run: JobRun, states: Sequence[ClusterState], timing: TimeLimits, lake: JobLake) -> JobResult:
    """Checks the series; see `deliver` for the exit code."""
    rows = [row for state in states for row in partition_rows(state)]
    last = states[-1]
    waiting = {one.app_id: len(one.unregistered) for one in last.tables}
    result = {
        "states": len(states),
        "tables": [
            {"app_id": one.app_id, "table": one.name, "partitions": one.partition_count, "waiting": waiting[one.app_id]}
            for one in last.tables
        ],
    }
    times = f"{human_instant(states[0].observed_at)} to {human_instant(last.observed_at)}"
    lines = [
        f"cluster {last.cluster}: {human_count(len(states), 'state')}, {times}",
        *(
            f"  table {one.name}: {human_count(one.partition_count, 'partition')}, "
            f"{len(one.unregistered)} at ballot {UNREGISTERED}"
            for one in last.tables
        ),
    ]
    return deliver(run, lake, [(SPLIT_PARTITIONS, rows)], audit_config(states, timing), result, lines)


def partition_rows(state: ClusterState) -> Iterator[SplitPartitionRow]:
    """Yields every partition of a state."""
    for table in state.tables:
        half = table.partition_count // 2
        for one in table.partitions:
            yield SplitPartitionRow(
                state.observed_at, table.app_id, table.name, one.index, table.partition_count, one.ballot,
                one.is_registered, one.primary, list(one.secondaries),
                (table.split_states or {}).get(one.index % max(half, 1)),
            )  # fmt: skip
