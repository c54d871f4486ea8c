"""Parses a state file, format 1 (docs/split-state.md).

An unknown key of the format itself is refused, so that a typing error never hides a partition. Objects of Pegasus
itself differ between its versions, so unknown keys in them are ignored.
"""

from dataclasses import replace
from typing import Annotated

from pydantic import Discriminator, Tag, TypeAdapter

from pipelines.common.errors import SnapshotError, UsageError
from pipelines.common.forms import (
    Count,
    Form,
    Instant,
    Int64,
    Many,
    MayBeAbsent,
    Name,
    OpenForm,
    Text,
    WrittenAs,
    exactly,
    one_of,
    parsed,
    read_value,
)
from pipelines.pegasus.domain.state.model import (
    SPLIT_STATES,
    ClusterState,
    Disk,
    PartitionState,
    PegasusTable,
    ReplicaState,
    every_partition,
)
from pipelines.pegasus.domain.state.shell import COUNT_BOUNDS, NOBODY, ShellForm, shell_table


def _index(name: str) -> int:
    if not (name.isascii() and name.isdigit() and len(name) < 10):
        raise ValueError(f"{name[:120]!r} is no number of a partition or table")
    return int(name)


_Index = Annotated[int, parsed(_index)]


class _AppInfo(OpenForm):
    app_id: Int64
    app_name: Text
    status: Text
    partition_count: Annotated[int, COUNT_BOUNDS]
    init_partition_count: MayBeAbsent[Int64] = None
    max_replica_count: Count
    envs: dict[str, str] | None = None
    duplicating: bool | None = None
    is_bulk_loading: bool | None = None


class _Partition(OpenForm):
    pid: Text
    ballot: Int64
    primary: str
    secondaries: Many[str]


class _Replica(Form):
    node: Text
    pidx: Count
    status: Text | None = None
    disk: Text | None = None
    ballot: MayBeAbsent[Int64] = None
    partition_version: MayBeAbsent[Int64] = None
    partition_count: MayBeAbsent[Int64] = None
    init_ballot: MayBeAbsent[Int64] = None
    init_durable_decree: MayBeAbsent[Int64] = None
    last_flushed_decree: MayBeAbsent[Int64] = None


class _Disk(Form):
    node: Text
    disk: Text
    capacity: Count
    used: Count
    apps: dict[_Index, Count] | None = None


def _replica(form: _Replica) -> ReplicaState:
    return ReplicaState(index=form.pidx, **form.model_dump(exclude={"pidx", "disk", "ballot"}))


def _disk(form: _Disk) -> Disk:
    return Disk(form.node, form.disk, form.capacity, form.used, form.apps)


class _Table(Form):
    split_states: dict[_Index, Annotated[str, one_of(SPLIT_STATES)]] | None = None
    learning: MayBeAbsent[Many[_Index]] = None
    replicas: Many[Annotated[ReplicaState, WrittenAs(_Replica, _replica)]] = ()


class _ShellTable(_Table):
    shell: ShellForm
    envs: dict[str, str] | None = None


class _ZooKeeperTable(_Table):
    app_info: _AppInfo
    partitions: dict[_Index, _Partition]


def _of_shell(form: _ShellTable) -> PegasusTable:
    return _whole(shell_table(form.shell, form.envs), form)


def _of_zookeeper(form: _ZooKeeperTable) -> PegasusTable:
    info = form.app_info
    found = {index: _partition(one, info.app_id, index) for index, one in form.partitions.items()}
    table = PegasusTable(
        app_id=info.app_id,
        name=info.app_name,
        partition_count=info.partition_count,
        status=info.status.removeprefix("app_status::"),
        init_partition_count=info.init_partition_count,
        max_replica_count=info.max_replica_count,
        envs=info.envs,
        duplicating=info.duplicating,
        bulk_loading=info.is_bulk_loading,
        partitions=every_partition(info.partition_count, found),
    )
    return _whole(table, form)


def _whole(table: PegasusTable, form: _Table) -> PegasusTable:
    learning = None if form.learning is None else frozenset(form.learning)
    return replace(table, split_states=form.split_states, learning=learning, replicas=form.replicas)


def _partition(form: _Partition, app_id: int, index: int) -> PartitionState:
    if form.pid != f"{app_id}.{index}":
        raise ValueError(f"'pid' {form.pid!r} is not that of node {app_id}/{index}")
    return PartitionState(
        index=index,
        ballot=form.ballot,
        primary=_somebody(form.primary),
        secondaries=tuple(sorted(filter(None, map(_somebody, form.secondaries)))),
    )


def _somebody(address: str) -> str | None:
    return None if address in NOBODY else address


def _source(table: object) -> str:
    return "shell" if isinstance(table, dict) and "shell" in table else "zookeeper"


_AnyTable = Annotated[
    Annotated[PegasusTable, WrittenAs(_ShellTable, _of_shell), Tag("shell")]
    | Annotated[PegasusTable, WrittenAs(_ZooKeeperTable, _of_zookeeper), Tag("zookeeper")],
    Discriminator(_source),
]
"""From the shell (`shell`: `app <name> -d -j`), or from ZooKeeper (`app_info`, `partitions`)."""


class _State(Form):
    format: Annotated[int, exactly(1)]
    cluster: Name
    observed_at: Instant
    apps: Many[_AnyTable]
    meta_leader: Text | None = None
    disks: MayBeAbsent[Many[Annotated[Disk, WrittenAs(_Disk, _disk)]]] = None


_STATE = TypeAdapter(_State)


def parse_state(text: str | bytes, where: str) -> ClusterState:
    """Parses a state file.

    Raises:
        UsageError: the file is invalid; the message names file and key.
    """
    try:
        form = read_value(_STATE, text, where)
    except SnapshotError as error:
        raise UsageError(f"{error}; the format of state files is docs/split-state.md") from None
    doubled = [one.app_id for one in form.apps]
    if len(set(doubled)) < len(doubled):
        raise UsageError(
            f"{where}: app_id {max(doubled, key=doubled.count)} is given twice; the format of state files is "
            "docs/split-state.md"
        )
    return ClusterState(where, form.cluster, form.observed_at, form.apps, form.meta_leader, form.disks)
