"""Parses a state file, format 1 (docs/split-state.md).

An unknown key of the format itself is refused, so that a typing error never hides a partition. Objects of Pegasus
itself differ between its versions, so unknown keys in them are ignored.
"""

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError, UsageError
from pipelines.common.instants import parse_instant
from pipelines.common.json_object import JsonObject, read_json
from pipelines.common.names import NAME
from pipelines.pegasus.domain.state.model import ClusterState, Disk, PartitionState, PegasusTable, ReplicaState
from pipelines.pegasus.domain.state.shell import shell_table

SPLIT_STATES = ("SPLITTING", "PAUSING", "PAUSED", "CANCELING")
_NOBODY = {"", "invalid address", "invalid host_port", "invalid_host_port"}
_REPLICA_NUMBERS = (
    "ballot",
    "partition_version",
    "partition_count",
    "init_ballot",
    "init_durable_decree",
    "last_flushed_decree",
)


def parse_state(text: str | bytes, where: str) -> ClusterState:
    """Parses a state file.

    Raises:
        UsageError: the file is invalid; the message names file and key.
    """
    try:
        return _state(JsonObject(read_json(text, where), where))
    except SnapshotError as error:
        raise UsageError(f"{error}; the format of state files is docs/split-state.md") from None


def _state(form: JsonObject) -> ClusterState:
    if form.integer("format") != 1:
        raise SnapshotError(Condition.DOCUMENT_MALFORMED, f"{form.where}: 'format' must be 1")
    cluster = form.matching("cluster", NAME)
    try:
        at = parse_instant(form.text("observed_at"))
    except ValueError as error:
        raise SnapshotError(Condition.DOCUMENT_MALFORMED, f"{form.where}: 'observed_at': {error}") from None
    tables = tuple(_table(part) for part in form.parts("apps"))
    doubled = [one.app_id for one in tables]
    if len(set(doubled)) < len(doubled):
        raise SnapshotError(
            Condition.DOCUMENT_MALFORMED, f"{form.where}: app_id {max(doubled, key=doubled.count)} is given twice"
        )
    leader = form.optional_text("meta_leader")
    disks = tuple(_disk(part) for part in form.parts("disks")) if _has(form, "disks") else None
    form.no_other_keys()
    return ClusterState(form.where, cluster, at, tables, leader, disks)


def _table(form: JsonObject) -> PegasusTable:
    """Parses a table from ZooKeeper (`app_info`, `partitions`) or from the shell (`shell`: `app <name> -d -j`)."""
    if _has(form, "shell"):
        table = shell_table(form.part("shell"), _envs(form.optional_part("envs")))
    else:
        table = _zookeeper_table(form.part("app_info"), form.named_parts("partitions"))
    states = form.optional_part("split_states")
    split_states = (
        None if states is None else {_index(name, states): states.one_of(name, SPLIT_STATES) for name in states.names()}
    )
    replicas = tuple(_replica(part) for part in form.parts("replicas")) if _has(form, "replicas") else ()
    learning = None
    if _has(form, "learning"):
        learning = frozenset(_index(name, form) for name in form.texts("learning"))
    form.no_other_keys()
    return PegasusTable(
        table.app_id, table.name, table.partition_count, table.status, table.init_partition_count,
        table.max_replica_count, table.envs, table.duplicating, table.bulk_loading, table.partitions,
        split_states, learning, replicas,
    )  # fmt: skip


def _zookeeper_table(info: JsonObject, nodes: dict[str, JsonObject]) -> PegasusTable:
    app_id, count = info.integer("app_id"), info.count("partition_count")
    if not 0 < count <= 1 << 20:
        raise SnapshotError(Condition.DOCUMENT_MALFORMED, f"{info.where}: 'partition_count' {count} is impossible")
    found = {_index(name, form): _partition(form, app_id, name) for name, form in nodes.items()}
    return PegasusTable(
        app_id=app_id,
        name=info.text("app_name"),
        partition_count=count,
        status=info.text("status").removeprefix("app_status::"),
        init_partition_count=info.integer("init_partition_count") if _has(info, "init_partition_count") else None,
        max_replica_count=info.count("max_replica_count"),
        envs=_envs(info.optional_part("envs")) or {},
        duplicating=bool(info.optional_flag("duplicating")),
        bulk_loading=bool(info.optional_flag("is_bulk_loading")),
        partitions=tuple(found.get(index) or PartitionState(index) for index in sorted({*range(count), *found})),
    )


def _partition(form: JsonObject, app_id: int, name: str) -> PartitionState:
    pid = form.text("pid")
    if pid != f"{app_id}.{name}":
        raise SnapshotError(
            Condition.DOCUMENT_MALFORMED, f"{form.where}: 'pid' {pid!r} does not belong to node {app_id}/{name}"
        )
    return PartitionState(
        index=int(name),
        ballot=form.integer("ballot"),
        there=True,
        primary=_somebody(form.any_text("primary")),
        secondaries=tuple(sorted(filter(None, map(_somebody, form.texts("secondaries"))))),
        committed=form.integer("last_committed_decree") if _has(form, "last_committed_decree") else None,
    )


def _replica(form: JsonObject) -> ReplicaState:
    numbers = {name: form.integer(name) if _has(form, name) else None for name in _REPLICA_NUMBERS}
    replica = ReplicaState(
        form.text("node"), form.count("pidx"), form.optional_text("status"), form.optional_text("disk"), **numbers
    )
    form.no_other_keys()
    return replica


def _disk(form: JsonObject) -> Disk:
    apps = form.optional_part("apps")
    disk = Disk(
        form.text("node"),
        form.text("disk"),
        form.count("capacity"),
        form.count("used"),
        {_index(name, apps): apps.count(name) for name in apps.names()} if apps else {},
    )
    form.no_other_keys()
    return disk


def _envs(form: JsonObject | None) -> dict[str, str] | None:
    return None if form is None else {name: form.any_text(name) for name in form.names()}


def _somebody(address: str) -> str | None:
    return None if address in _NOBODY else address


def _index(name: str, form: JsonObject) -> int:
    if not (name.isascii() and name.isdigit() and len(name) < 10):
        raise SnapshotError(
            Condition.DOCUMENT_MALFORMED, f"{form.where}: {name!r} is not the number of a partition or table"
        )
    return int(name)


def _has(form: JsonObject, key: str) -> bool:
    return key in tuple(form.names())
