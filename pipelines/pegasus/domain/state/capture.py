"""Parses a capture: a directory with what Pegasus's own tools print about a cluster, as they print it.

`conf/export/pegasus-state.sh` writes such directories. Every value of the shell's JSON is a string
(`src/utils/output_utils.cpp`, `json_encode`); the keys are from these functions:

- `cluster_info -j`: `meta_service::on_query_cluster_info` (`src/meta/meta_service.cpp`),
- `ls -d -j`: `replication_ddl_client::list_apps` (`src/client/replication_ddl_client.cpp`),
- `nodes -d -j`: `ls_nodes` (`src/shell/commands/node_management.cpp`),
- `app NAME -d -j`: `add_app_info` (`src/common/replication_common.cpp`),
- `get_app_envs -j`: `get_app_envs` (`src/shell/commands/table_management.cpp`),
- `partition-split query`: `QuerySplitStatus` (`admin-cli/executor/partition_split.go`), which prints text only.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, TypeVar

from pydantic import Field, TypeAdapter

from pipelines.common.errors import SnapshotError, UsageError
from pipelines.common.forms import Form, Instant, Name, OpenForm, Text, exactly, read_value
from pipelines.pegasus.domain.state.model import AVAILABLE, SPLIT_STATES, ClusterState, PegasusTable
from pipelines.pegasus.domain.state.shell import ShellForm, ShellNumber, shell_table

CAPTURED = "captured.json"
"""The file that makes a directory a capture: the script writes it last."""
_CLUSTER, _TABLES, _NODES = "cluster_info.json", "ls.json", "nodes.json"
_PAGE = "a capture is described in docs/split-state.md"
_HEAD, _SUMMARY = "[AllPartitionStatus]", "[Summary]"
_STATUS = re.compile(r"\|\s*(\d{1,9})\s*\|\s*([A-Z_]+)\s*\|")
_COUNTS = re.compile(r"\|\s*(\d{1,9})\s*\|\s*(\d{1,9})\s*\|")
_COMPLETED = "COMPLETED"
_NOT_SPLITTING = "ERR_INVALID_STATE"
ValueT = TypeVar("ValueT")


class _Captured(Form):
    format: Annotated[int, exactly(1)]
    started: Instant
    finished: Instant


class _ClusterInfo(OpenForm):
    cluster_name: Name
    primary_meta_server: Text


class _ClusterOutput(OpenForm):
    cluster_info: _ClusterInfo


class _App(OpenForm):
    app_id: ShellNumber
    app_name: Text
    status: Text


class _TablesOutput(OpenForm):
    general_info: dict[str, _App]


class _Node(OpenForm):
    address: Text
    status: Text


class _NodesOutput(OpenForm):
    details: dict[str, _Node]


class _EnvsOutput(Form):
    app_envs: dict[str, str] = Field(default_factory=dict)  # the shell prints {} for a table without envs


def parse_capture(files: Mapping[str, bytes], where: str) -> ClusterState:
    """Parses the files of one capture.

    Args:
        files: the content of each file by its name; files that Pegasus's tools do not write are ignored.
        where: the directory, for messages.

    Raises:
        UsageError: a file is missing, or is not what the tool prints; the message names the file.
    """
    capture = _Capture(files, where)
    moment = capture.read(CAPTURED, TypeAdapter(_Captured))
    info = capture.read(_CLUSTER, TypeAdapter(_ClusterOutput)).cluster_info
    apps = capture.read(_TABLES, TypeAdapter(_TablesOutput)).general_info.values()
    tables = tuple(
        capture.table(app) for app in apps if app.status == AVAILABLE.removeprefix("AS_") or _app_file(app) in files
    )
    unalive = frozenset[str]()
    if _NODES in files:
        nodes = capture.read(_NODES, TypeAdapter(_NodesOutput)).details.values()
        members = frozenset(node for table in tables for one in table.partitions for node in one.members)
        unalive = members - {node.address for node in nodes if node.status == "ALIVE"}
    leader = info.primary_meta_server
    return ClusterState(where, info.cluster_name, moment.started, tables, leader, unalive_nodes=unalive)


def _app_file(app: _App) -> str:
    """Returns the name of the file with the partitions of a table."""
    return f"app.{app.app_id}.json"


class _Capture:
    def __init__(self, files: Mapping[str, bytes], where: str) -> None:
        self._files, self._where = files, where

    def read(self, name: str, form: TypeAdapter[ValueT]) -> ValueT:
        if name not in self._files:
            raise UsageError(f"{self._where}: the file {name} is missing; {_PAGE}")
        try:
            return read_value(form, self._files[name], f"{self._where}/{name}")
        except SnapshotError as error:
            raise UsageError(f"{error}; {_PAGE}") from None

    def table(self, app: _App) -> PegasusTable:
        name = _app_file(app)
        printed = self.read(name, TypeAdapter(ShellForm))
        envs_name = f"app_envs.{app.app_id}.json"
        envs = self.read(envs_name, TypeAdapter(_EnvsOutput)).app_envs if envs_name in self._files else None
        try:
            table = shell_table(printed, envs)
        except ValueError as error:
            raise UsageError(f"{self._where}/{name}: {error}; {_PAGE}") from None
        if (table.app_id, table.name) != (app.app_id, app.app_name):
            raise UsageError(
                f"{self._where}/{name}: table {table.app_id} ({table.name}), but {_TABLES} has {app.app_id} "
                f"({app.app_name}); capture again"
            )
        return replace(table, status=f"AS_{app.status}", split_states=self._split_states(f"split.{app.app_id}.txt"))

    def _split_states(self, name: str) -> dict[int, str] | None:
        if name not in self._files:
            return None
        try:
            return parse_split_query(self._files[name].decode("utf-8", errors="replace"))
        except ValueError as error:
            raise UsageError(f"{self._where}/{name}: {error}; {_PAGE}") from None


def parse_split_query(text: str) -> dict[int, str]:
    """Parses the output of admin-cli's `partition-split query`.

    Returns:
        meta's state by parent partition; a parent whose child is registered is not in it. It is empty if the table is
        not being split: then meta answers ERR_INVALID_STATE (`meta_split_service::query_partition_split`).

    Raises:
        ValueError: it is not the complete output.
    """
    if _HEAD not in text:
        if _NOT_SPLITTING in text:
            return {}
        raise ValueError(f"{text.strip()[:120]!r} is not the output of partition-split query")
    rows, _, summary = text.partition(_HEAD)[2].partition(_SUMMARY)
    found = {int(index): status for index, status in _STATUS.findall(rows)}
    counts = _COUNTS.findall(summary)
    if len(counts) != 1 or len(found) != sum(map(int, counts[0])):
        raise ValueError("the output of partition-split query is cut off")
    unknown = sorted(set(found.values()) - {*SPLIT_STATES, _COMPLETED})
    if unknown:
        raise ValueError(f"{unknown[0]} must be one of {', '.join((*SPLIT_STATES, _COMPLETED))}")
    return {index: status for index, status in found.items() if status != _COMPLETED}
