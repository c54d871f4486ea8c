"""What maintain reports of a table if one of its steps fails."""

from collections.abc import Mapping, Set
from datetime import date
from typing import Any, cast

import pytest

from pipelines.common.errors import UnavailableError
from pipelines.common.instants import DAY_MS, utc_day
from pipelines.lake.maintenance import LakeMaintenance
from pipelines.lake.retention import FileTotals, NeededRuns, NightPartition, RetentionPolicy
from pipelines.maintain.kept_runs import KeptRuns
from pipelines.maintain.maintain import MaintainPorts, MaintainRequest, maintain
from schemas.runs import RUNS
from schemas.table import Table
from tests.labs.small_cluster import NOW, At

SMALL = FileTotals(9, 900)
NIGHTS = tuple(NightPartition(utc_day(NOW - ago * DAY_MS), SMALL, 9, SMALL) for ago in (20, 2))
POLICY = RetentionPolicy({RUNS.name: 10 * DAY_MS}, DAY_MS, DAY_MS, DAY_MS, 4, 14 * DAY_MS, 1)
STEPS = {"drop": "dropped", "compact": "compacted", "set_grace": "new_grace_ms", "vacuum": "removed"}
"""What each step adds to the answer, in the order of the steps."""


class Keeper:
    """One table of two nights, one of them to drop and one to compact; one step fails."""

    def __init__(self, fails: str) -> None:
        self._fails = fails

    def exists(self, _table: Table) -> bool:
        return True

    def partitions(self, _table: Table) -> tuple[NightPartition, ...]:
        return NIGHTS

    def last_written(self, _table: Table, _dates: Set[date]) -> Mapping[date, int]:
        return {}

    def grace_ms(self, _table: Table) -> int:
        return 7 * DAY_MS

    def removable(self, _table: Table, _named: int) -> FileTotals:
        return FileTotals(1, 10)

    def drop(self, _table: Table, _dates: object) -> None:
        self._step("drop")

    def compact(self, _table: Table, _dates: object) -> None:
        self._step("compact")

    def set_grace(self, _table: Table, _grace_ms: int) -> None:
        self._step("set_grace")

    def vacuum(self, _table: Table) -> None:
        self._step("vacuum")

    def _step(self, name: str) -> None:
        if name == self._fails:
            raise UnavailableError(f"{name} failed")


class Reader:
    def needed(self, _nights: int) -> NeededRuns:
        return NeededRuns()


def told(fails: str, *, execute: bool) -> Any:  # noqa: ANN401 - JSON
    keeper, reader = cast("LakeMaintenance", Keeper(fails)), cast("KeptRuns", Reader())
    return maintain(MaintainRequest([RUNS], POLICY, execute), MaintainPorts(At(NOW), reader, keeper)).result


@pytest.mark.parametrize("fails", STEPS)
def test_a_step_that_failed_is_not_reported_as_done(fails: str) -> None:
    result = told(fails, execute=True)
    (table,) = result["tables"]
    steps = list(STEPS)
    done = [STEPS[step] for step in steps[: steps.index(fails)]]
    assert [name for name in STEPS.values() if name in table] == done
    assert [error["message"] for error in result["errors"]] == [f"{fails} failed"]


def test_a_rehearsal_reports_each_step_that_it_can_foresee() -> None:
    (table,) = told("drop", execute=False)["tables"]
    assert [name for name in STEPS.values() if name in table] == ["dropped", "compacted", "new_grace_ms"]
