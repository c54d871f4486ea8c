"""Parses the master's procedures: the JSON of `Admin.getProcedures` and of `list_procedures` in the hbase shell.

The JSON is the result of HBase's `ProtobufUtil.toProcedure`, written by `JsonFormat`. `stateMessage` is the list of
messages in which a procedure class stores its state.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.common.errors import MalformedError
from pipelines.hbase.server_names import ServerName

ADD_PEER = "AddPeerProcedure"
MIGRATION = "MigrateReplicationQueueFromZkToTableProcedure"
# HBCK2's scheduleRecoveries submits HBCKServerCrashProcedure, a subclass, so code compares the end of the class name
CRASH = "ServerCrashProcedure"
# HBase 2's client cannot read a procedure whose state has a type that only HBase 3 has, and returns an exception's text
# in its place. The types below are known to be neither a crash nor AddPeer; each is the state of exactly one class.
_UNREADABLE = re.compile(r".*Cannot find type for url: type\.googleapis\.com/hbase\.pb\.(\w+)")
_MIGRATION_STATE = "MigrateReplicationQueueFromZkToTableStateData"
_OTHER_STATES = frozenset(
    {
        "AssignReplicationQueuesStateData",  # a child of every crash while there are peers; only its parent counts
        "RecoverStandbyStateData",
        "SyncReplicationReplayWALRemoteStateData",
        "SyncReplicationReplayWALStateData",
        "TransitPeerSyncReplicationStateStateData",
    }
)
UNKNOWN = "UNKNOWN"
_DONE = "SUCCESS"
_UNDONE = "ROLLEDBACK"


@dataclass(frozen=True, slots=True)
class Procedure:
    """One procedure.

    Attributes:
        kind: the class name without its package.
        state: a `ProcedureState`: INITIALIZING, RUNNABLE, WAITING … SUCCESS, FAILED, ROLLEDBACK; or UNKNOWN.
        messages: the state that the class itself stores.
    """

    kind: str
    state: str
    messages: tuple[Mapping[str, Any], ...]


def parse_procedures(text: str) -> tuple[Procedure, ...]:
    """Parses the JSON array of procedures.

    Raises:
        MalformedError: the text has another form, or a procedure cannot be read and so could be a crash.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"the list of procedures is not JSON: {error}") from None
    if not isinstance(document, list):
        raise MalformedError(f"the list of procedures is a JSON {type(document).__name__}, not a list")
    return tuple(_procedure(entry) for entry in document)


def _procedure(entry: object) -> Procedure:
    if isinstance(entry, str):
        return _unreadable(entry)
    if not isinstance(entry, dict):
        raise MalformedError(f"a procedure that is not a JSON object: {str(entry)[:120]!r}")
    name, state, messages = entry.get("className"), entry.get("state"), entry.get("stateMessage", [])
    if not isinstance(name, str) or not isinstance(state, str) or not isinstance(messages, list):
        raise MalformedError(f"a procedure without className and state: {str(entry)[:120]!r}")
    kind = name.rpartition(".")[2]
    return Procedure(kind, state, tuple(message for message in messages if isinstance(message, dict)))


def _unreadable(text: str) -> Procedure:
    found = _UNREADABLE.fullmatch(text)
    state = found.group(1) if found else None
    if state == _MIGRATION_STATE:
        return Procedure(MIGRATION, UNKNOWN, ())
    if state in _OTHER_STATES:
        return Procedure(str(state), UNKNOWN, ())
    raise MalformedError(f"a procedure that this client cannot read: {text[:300]!r}")


def crashing_servers(procedures: Iterable[Procedure]) -> frozenset[ServerName]:
    """Returns the servers of all crash procedures whose state is not SUCCESS. A FAILED procedure is unfinished too.

    Raises:
        MalformedError: a crash procedure in any state does not name its server.
    """
    found = [(one.state == _DONE, _server(one)) for one in procedures if one.kind.endswith(CRASH)]
    return frozenset(server for done, server in found if not done)


def is_running(procedures: Iterable[Procedure], kind: str) -> bool:
    """Returns whether a procedure of that class is in a state other than SUCCESS and ROLLEDBACK."""
    return any(one.kind == kind and one.state not in {_DONE, _UNDONE} for one in procedures)


def _server(procedure: Procedure) -> ServerName:
    found = [message["serverName"] for message in procedure.messages if "serverName" in message]
    if len(found) != 1 or not isinstance(found[0], dict) or not isinstance(found[0].get("hostName"), str):
        raise MalformedError(f"a {procedure.kind} does not name its server")
    name = found[0]
    # protobuf omits a port or start code that was never set; JSON writes 64-bit numbers as strings
    return ServerName.parse(f"{name['hostName']},{name.get('port', 0)},{name.get('startCode', -1)}")
