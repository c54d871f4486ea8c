"""snapshot.json, format 1: its form, checked key by key, and its document."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, Strict, TypeAdapter, model_validator

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError
from pipelines.common.forms import (
    VERSION,
    Count,
    Form,
    Instant,
    Int64,
    Many,
    Name,
    Sha256,
    Text,
    WrittenAs,
    one_of,
    parsed,
    value_of,
)
from pipelines.common.instants import format_instant
from pipelines.common.strict_json import JsonValue
from pipelines.hbase.peer_rules import RULE_KEY, rule_text
from pipelines.hbase.peers import Peer
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.backup import smallest_by_key
from pipelines.snapshot.model import (
    QUEUE_STORAGE_TABLE,
    QUEUE_STORAGE_ZOOKEEPER,
    Backup,
    CaptureStep,
    MasterFlags,
    Membership,
    Retention,
    Snapshot,
    SnapshotFile,
    WalDirectory,
)
from pipelines.snapshot.peer_forms import SnapshotPeer

SNAPSHOT_JSON = "snapshot.json"
FORMAT = 1
_FOR_A_TABLE = ("membership", "membership_2", "flags", "flags_2")
_Server = Annotated[ServerName, parsed(ServerName.parse)]
_Servers = Annotated[frozenset[_Server], Strict(strict=False)]


class _Step(Form):
    step: Text
    started_at: Instant
    finished_at: Instant


class _File(Form):
    rows: Count
    sha256: Sha256


class _WalDirectory(Form):
    server: _Server
    entries: Count
    modification_time: Instant


class _Membership2(Form):
    active_master: Text | None = None
    online: _Servers
    crashing: _Servers


class _Membership(_Membership2):
    wal_directories: Many[Annotated[WalDirectory, WrittenAs(_WalDirectory)]]


class FlagsForm(Form):
    """States of the master; null or absent = unknown."""

    queue_table_exists: bool | None = None
    add_peer_running: bool | None = None
    migration_pending: bool | None = None
    zk_queue_data: bool | None = None


class RetentionForm(Form):
    """Time to live in oldWALs, ms."""

    wal_ttl_ms: Count
    procedure_wal_ttl_ms: Count
    master_local_wal_ttl_ms: Count


class _Backup(Form):
    enabled: bool
    boundaries: dict[str, Int64] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _boundaries_where_enabled(self) -> "_Backup":
        if self.enabled is not ("boundaries" in self.model_fields_set):
            raise ValueError("'boundaries' must be there if 'enabled' is true, and else not")
        return self


def _backup(form: _Backup) -> Backup:
    return Backup(form.enabled, smallest_by_key((key.lower(), value) for key, value in form.boundaries.items()))


def _wal_root(text: str) -> str:
    if text.endswith("/") or "://" not in text or any(ord(char) < 32 or ord(char) == 127 for char in text):
        raise ValueError(f"must be a full URI without a slash at its end: {text!r}")
    return text


def _each_once(peers: tuple[Peer, ...]) -> tuple[Peer, ...]:
    if len({peer.peer_id for peer in peers}) < len(peers):
        raise ValueError("a peer is listed twice")
    return peers


_Flags = Annotated[MasterFlags, WrittenAs(FlagsForm)]


class _Snapshot(Form):
    format: int
    cluster: Name
    cluster_id: Text | None = None
    hbase_version: Text | None = None
    queue_storage: Annotated[str, one_of((QUEUE_STORAGE_TABLE, QUEUE_STORAGE_ZOOKEEPER))]
    wal_root: Annotated[Text, AfterValidator(_wal_root)]
    clock_host: Text
    steps: Many[Annotated[CaptureStep, WrittenAs(_Step)]]
    contents: dict[str, Annotated[SnapshotFile, WrittenAs(_File)]]
    peers: Annotated[Many[SnapshotPeer], AfterValidator(_each_once)]
    membership: Annotated[Membership, WrittenAs(_Membership)] | None = None
    membership_2: Annotated[Membership, WrittenAs(_Membership2)] | None = None
    flags: _Flags | None = None
    flags_2: _Flags | None = None
    retention: Annotated[Retention, WrittenAs(RetentionForm)]
    log_cleaner_plugins: Many[str] | None = None
    backup: Annotated[Backup, WrittenAs(_Backup, _backup)] | None = None
    extras: Annotated[Many[str], BeforeValidator(lambda value: [] if value is None else value)] = ()

    @model_validator(mode="after")
    def _complete(self) -> "_Snapshot":
        for key in _FOR_A_TABLE if self.queue_storage == QUEUE_STORAGE_TABLE else ():
            if getattr(self, key) is None:
                raise ValueError(f"key {key!r} is missing")
        return self


_SNAPSHOT: TypeAdapter[Snapshot] = TypeAdapter(Annotated[Snapshot, WrittenAs(_Snapshot, without="format")])


def parse_snapshot(document: JsonValue) -> Snapshot:
    """Checks the JSON document of snapshot.json and returns it as a frozen value.

    Raises:
        SnapshotError: unknown version, unknown or missing key, or wrong type; the message names the key.
    """
    version = value_of(VERSION, document, SNAPSHOT_JSON)
    if version != FORMAT:
        raise SnapshotError(
            Condition.FORMAT_UNKNOWN,
            f"{SNAPSHOT_JSON}: format {version} is not known (this walsafe reads format {FORMAT})",
        )
    return value_of(_SNAPSHOT, document, SNAPSHOT_JSON)


def snapshot_document(snapshot: Snapshot) -> dict[str, Any]:
    """Returns the JSON document of a snapshot, the inverse of `parse_snapshot`; unknown values are written as null."""
    return {
        "format": FORMAT,
        "cluster": snapshot.cluster,
        "cluster_id": snapshot.cluster_id,
        "hbase_version": snapshot.hbase_version,
        "queue_storage": snapshot.queue_storage,
        "wal_root": snapshot.wal_root,
        "clock_host": snapshot.clock_host,
        "steps": [
            {
                "step": step.step,
                "started_at": format_instant(step.started_at),
                "finished_at": format_instant(step.finished_at),
            }
            for step in snapshot.steps
        ],
        "contents": {
            name: {"rows": content.rows, "sha256": content.sha256}
            for name, content in sorted(snapshot.contents.items())
        },
        "peers": [_peer_document(peer) for peer in snapshot.peers],
        "membership": _membership_document(snapshot.membership, directories=True),
        "membership_2": _membership_document(snapshot.membership_2, directories=False),
        "flags": _fields(snapshot.flags),
        "flags_2": _fields(snapshot.flags_2),
        "retention": _fields(snapshot.retention),
        "log_cleaner_plugins": None if snapshot.log_cleaner_plugins is None else list(snapshot.log_cleaner_plugins),
        "backup": _backup_document(snapshot.backup),
        "extras": list(snapshot.extras) or None,
    }


def _fields(value: MasterFlags | Retention | Peer | None) -> dict[str, Any] | None:
    return None if value is None else {name: getattr(value, name) for name in type(value).__slots__}


def _peer_document(peer: Peer) -> dict[str, Any]:
    fields = _fields(peer) or {}
    del fields["rule"]
    rule = {} if peer.rule is None else {RULE_KEY: rule_text(peer.rule)}
    fields["config"] = None if peer.config is None and not rule else {**(peer.config or {}), **rule}
    return fields


def _membership_document(membership: Membership | None, *, directories: bool) -> dict[str, Any] | None:
    if membership is None:
        return None
    document: dict[str, Any] = {
        "active_master": membership.active_master,
        "online": [str(server) for server in sorted(membership.online)],
        "crashing": [str(server) for server in sorted(membership.crashing)],
    }
    if directories:
        document["wal_directories"] = [
            {
                "server": str(directory.server),
                "entries": directory.entries,
                "modification_time": format_instant(directory.modification_time),
            }
            for directory in membership.wal_directories
        ]
    return document


def _backup_document(backup: Backup | None) -> dict[str, Any] | None:
    if backup is None:
        return None
    return {"enabled": True, "boundaries": dict(backup.boundaries)} if backup.enabled else {"enabled": False}
