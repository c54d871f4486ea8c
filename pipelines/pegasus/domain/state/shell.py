"""Parses a table as Pegasus's shell prints it: `app <name> -d -j`, where every value is a string."""

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError
from pipelines.common.json_object import JsonObject
from pipelines.pegasus.domain.state.model import UNREGISTERED, PartitionState, PegasusTable

_NOBODY = {"", "-", "invalid address", "invalid host_port"}


def shell_table(form: JsonObject, envs: dict[str, str] | None) -> PegasusTable:
    """Parses the output for one table. The shell prints neither envs nor the partition count at creation.

    Args:
        form: the shell's whole output; unknown keys are ignored, because the format is Pegasus's own.
        envs: the app envs from `get_app_envs`; None = unknown.

    Raises:
        SnapshotError: this is not the output of that command.
    """
    general = form.part("general")
    count = _number(general, "partition_count")
    found = {}
    for name, row in form.named_parts("replicas").items():
        index = _number(row, "pidx")
        if str(index) != name:
            raise SnapshotError(Condition.DOCUMENT_MALFORMED, f"{row.where}: 'pidx' {index} is not {name!r}")
        found[index] = _partition(row, index)
    return PegasusTable(
        app_id=_number(general, "app_id"),
        name=general.text("app_name"),
        partition_count=count,
        max_replica_count=_number(general, "max_replica_count"),
        envs=envs,
        partitions=tuple(found.get(index) or PartitionState(index) for index in sorted({*range(count), *found})),
    )


def _partition(row: JsonObject, index: int) -> PartitionState:
    ballot, primary = _number(row, "ballot"), row.any_text("primary")
    secondaries = row.any_text("secondaries").strip().removeprefix("[").removesuffix("]")
    return PartitionState(
        index=index,
        ballot=ballot,
        there=ballot != UNREGISTERED,
        primary=None if primary in _NOBODY else primary,
        secondaries=tuple(sorted(one.strip() for one in secondaries.split(",") if one.strip() not in _NOBODY)),
    )


def _number(form: JsonObject, key: str) -> int:
    text = form.text(key)
    try:
        return int(text)
    except ValueError:
        raise SnapshotError(
            Condition.DOCUMENT_MALFORMED, f"{form.where}: {key!r} must be a number in a string, found {text!r}"
        ) from None
