"""Checks a series of cluster states: configuration rules C2 to C8 and replica rules R1 to R6 (docs/split-rules.md)."""

from collections.abc import Iterator, Sequence

from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.audit_config.configurations import of_one_state, of_two_states
from pipelines.pegasus.domain.audit_config.lasting_violations import TimeLimits, freshly_registered, lasting_violations
from pipelines.pegasus.domain.audit_config.replicas import check_replicas
from pipelines.pegasus.domain.state.model import ClusterState

__all__ = ["TimeLimits", "audit_config"]


def audit_config(series: Sequence[ClusterState], timing: TimeLimits) -> Iterator[FindingRow]:
    """Yields every violation in a series.

    Args:
        series: the states of one cluster, in time order.
        timing: the time limits of the rules.
    """
    for place, state in enumerate(series):
        for table in state.tables:
            yield from of_one_state(table)
            before = next((one for one in reversed(series[:place]) if one.table(table.app_id)), None)
            yield from check_replicas(table, freshly_registered(series[: place + 1], table.app_id, timing))
            if before is not None:
                yield from of_two_states(before, state, table.app_id)
    yield from lasting_violations(series, timing)
