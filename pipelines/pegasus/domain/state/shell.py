"""A table as Pegasus's shell prints it: `app <name> -d -j`, where every value is a string."""

from typing import Annotated

from pydantic import Field

from pipelines.common.forms import OpenForm, Text, parsed
from pipelines.pegasus.domain.partitions import MOST_PARTITIONS
from pipelines.pegasus.domain.state.model import PartitionState, PegasusTable, every_partition

NOBODY = frozenset({"", "-", "invalid address", "invalid host_port", "invalid_host_port"})
"""What Pegasus writes instead of an address."""


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"must be a number in a string, found {text[:120]!r}") from None


ShellNumber = Annotated[int, parsed(_number)]
"""A number as the shell prints it: in a string."""
COUNT_BOUNDS = Field(ge=1, le=MOST_PARTITIONS)
"""How many partitions a table may have."""


class _General(OpenForm):
    app_id: ShellNumber
    app_name: Text
    partition_count: Annotated[ShellNumber, COUNT_BOUNDS]
    max_replica_count: ShellNumber


class _Row(OpenForm):
    pidx: Annotated[ShellNumber, Field(ge=0, lt=MOST_PARTITIONS)]
    ballot: ShellNumber
    primary: str
    secondaries: str


class ShellForm(OpenForm):
    """The shell's whole output."""

    general: _General
    replicas: dict[str, _Row]


def shell_table(form: ShellForm, envs: dict[str, str] | None) -> PegasusTable:
    """Returns the table. The shell prints neither envs nor the partition count at creation nor what uses the table.

    Args:
        form: the shell's output.
        envs: from `get_app_envs`; None = unknown.

    Raises:
        ValueError: a row is not that of its partition.
    """
    found = {}
    for name, row in form.replicas.items():
        if str(row.pidx) != name:
            raise ValueError(f"'pidx' {row.pidx} is not {name!r}")
        found[row.pidx] = _partition(row)
    general = form.general
    return PegasusTable(
        app_id=general.app_id,
        name=general.app_name,
        partition_count=general.partition_count,
        max_replica_count=general.max_replica_count,
        envs=envs,
        duplicating=None,
        bulk_loading=None,
        partitions=every_partition(general.partition_count, found),
    )


def _partition(row: _Row) -> PartitionState:
    secondaries = row.secondaries.strip().removeprefix("[").removesuffix("]")
    return PartitionState(
        index=row.pidx,
        ballot=row.ballot,
        primary=None if row.primary in NOBODY else row.primary,
        secondaries=tuple(sorted(one.strip() for one in secondaries.split(",") if one.strip() not in NOBODY)),
    )
