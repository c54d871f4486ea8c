"""The contents of snapshot.json, format 1, as frozen values.

`parse_snapshot` checks the form; `pipelines.decide.rule.trust` decides whether the capture can be trusted. All instants
are integers, ms since the epoch, UTC.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.common.conditions import Condition
from pipelines.common.errors import MalformedError, SnapshotError
from pipelines.common.instants import format_instant, parse_instant
from pipelines.common.json_object import JsonObject
from pipelines.common.names import NAME
from pipelines.hbase.peer_rules import RULE_KEY, rule_of_text, rule_text
from pipelines.hbase.peers import PEER_STATES, SYNC_REPLICATION_STATES, Peer
from pipelines.hbase.server_names import ServerName

FORMAT = 1
QUEUE_STORAGE_TABLE = "table"
QUEUE_STORAGE_ZOOKEEPER = "zookeeper"
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class CaptureStep:
    """One step of the capture, by the clock of `clock_host`."""

    step: str
    started_at: int
    finished_at: int


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """The entry of snapshot.json for one other file of the snapshot."""

    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class WalDirectory:
    """One directory below `WALs/`; the suffix `-splitting` is removed from its name."""

    server: ServerName
    entries: int
    modification_time: int


@dataclass(frozen=True, slots=True)
class Membership:
    """One reading of the servers that are alive; `wal_directories` is empty in the second reading."""

    active_master: str | None
    online: frozenset[ServerName]
    crashing: frozenset[ServerName]
    wal_directories: tuple[WalDirectory, ...] = ()


@dataclass(frozen=True, slots=True)
class MasterFlags:
    """States of the master that affect the whole decision; None = unknown, which counts as the unsafe value."""

    queue_table_exists: bool | None
    add_peer_running: bool | None
    migration_pending: bool | None
    zk_queue_data: bool | None


@dataclass(frozen=True, slots=True)
class Retention:
    """Time to live in oldWALs by kind of file, ms."""

    wal_ttl_ms: int
    procedure_wal_ttl_ms: int
    master_local_wal_ttl_ms: int


@dataclass(frozen=True, slots=True)
class Backup:
    """The WALs that HBase backup still needs.

    Attributes:
        enabled: `hbase.backup.enable`.
        boundaries: by `host:port` (host in lower case), the newest WAL timestamp that is already backed up, ms.
        others: the boundary of every other server; None = their WALs are held. Not in snapshot.json; it comes from
            `extras/backup.jsonl` (`pipelines.snapshot.backup`).
    """

    enabled: bool
    boundaries: Mapping[str, int] = field(default_factory=dict)
    others: int | None = None

    def boundary(self, address: str) -> int | None:
        """Returns the newest WAL timestamp of a server that no backup needs any more, ms; None = it may need all."""
        return self.boundaries.get(address, self.others)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The contents of snapshot.json after the check of their form."""

    cluster: str
    cluster_id: str | None
    hbase_version: str | None
    queue_storage: str
    wal_root: str
    clock_host: str
    steps: tuple[CaptureStep, ...]
    contents: Mapping[str, SnapshotFile]
    peers: tuple[Peer, ...]
    membership: Membership | None
    membership_2: Membership | None
    flags: MasterFlags | None
    flags_2: MasterFlags | None
    retention: Retention
    log_cleaner_plugins: tuple[str, ...] | None
    backup: Backup | None
    extras: tuple[str, ...]

    @property
    def listed(self) -> int:
        """Number of files in the listing."""
        return sum(content.rows for name, content in self.contents.items() if name.startswith("files/"))

    def step(self, name: str) -> CaptureStep | None:
        """Returns the step with this name, or None."""
        return next((step for step in self.steps if step.step == name), None)

    @property
    def files_step(self) -> CaptureStep:
        """The step `files`, from whose start every age counts.

        Raises:
            SnapshotError: the snapshot has no such step.
        """
        step = self.step("files")
        if step is None:
            raise SnapshotError(Condition.SNAPSHOT_INCOMPLETE, "snapshot.json has no step 'files'; capture again")
        return step


def parse_snapshot(document: object) -> Snapshot:
    """Checks the JSON document of snapshot.json and returns it as a frozen value.

    Raises:
        SnapshotError: unknown version, unknown or missing key, or wrong type; the message names the key.
    """
    form = JsonObject(document, "snapshot.json")
    version = form.integer("format")
    if version != FORMAT:
        raise SnapshotError(
            Condition.FORMAT_UNKNOWN,
            f"snapshot.json: format {version} is not known (this walsafe reads format {FORMAT})",
        )
    try:
        return _snapshot(form)
    except MalformedError as error:
        raise SnapshotError(Condition.DOCUMENT_MALFORMED, f"snapshot.json: {error}") from None


def _snapshot(form: JsonObject) -> Snapshot:
    storage = form.one_of("queue_storage", (QUEUE_STORAGE_TABLE, QUEUE_STORAGE_ZOOKEEPER))
    table = storage == QUEUE_STORAGE_TABLE
    snapshot = Snapshot(
        cluster=form.matching("cluster", NAME),
        cluster_id=form.optional_text("cluster_id"),
        hbase_version=form.optional_text("hbase_version"),
        queue_storage=storage,
        wal_root=_wal_root(form.text("wal_root")),
        clock_host=form.text("clock_host"),
        steps=tuple(_step(step) for step in form.parts("steps")),
        contents={name: _content(content) for name, content in form.named_parts("contents").items()},
        peers=tuple(_peer(peer) for peer in form.parts("peers")),
        membership=_membership(form, "membership", directories=True, required=table),
        membership_2=_membership(form, "membership_2", directories=False, required=table),
        flags=_flags(form, "flags", required=table),
        flags_2=_flags(form, "flags_2", required=table),
        retention=_retention(form.part("retention")),
        log_cleaner_plugins=form.optional_texts("log_cleaner_plugins"),
        backup=_backup(form.optional_part("backup")),
        extras=form.optional_texts("extras") or (),
    )
    form.no_other_keys()
    ids = [peer.peer_id for peer in snapshot.peers]
    if len(set(ids)) < len(ids):
        raise MalformedError("a peer is listed twice in 'peers'")
    return snapshot


def _wal_root(text: str) -> str:
    if text.endswith("/") or "://" not in text or any(ord(char) < 32 or ord(char) == 127 for char in text):
        raise MalformedError(f"'wal_root' must be a full URI without a slash at its end: {text!r}")
    return text


def _step(form: JsonObject) -> CaptureStep:
    step = CaptureStep(
        form.text("step"), parse_instant(form.text("started_at")), parse_instant(form.text("finished_at"))
    )
    form.no_other_keys()
    return step


def _content(form: JsonObject) -> SnapshotFile:
    content = SnapshotFile(form.count("rows"), form.matching("sha256", _SHA256))
    form.no_other_keys()
    return content


def _peer(form: JsonObject) -> Peer:
    config = form.optional_part("config")
    texts = None if config is None else {key: config.any_text(key) for key in config.names()}
    rule = None if texts is None else texts.pop(RULE_KEY, None)
    peer = Peer(
        peer_id=form.text("peer_id"),
        state=form.one_of("state", PEER_STATES),
        cluster_key=form.optional_text("cluster_key"),
        endpoint=form.optional_text("endpoint"),
        serial=form.optional_flag("serial"),
        replicate_all=form.optional_flag("replicate_all"),
        sync_replication_state=form.optional_one_of("sync_replication_state", SYNC_REPLICATION_STATES),
        remote_wal_dir=form.optional_text("remote_wal_dir"),
        config=texts,
        rule=None if rule is None else rule_of_text(rule, f"{form.where}: {RULE_KEY}"),
    )
    form.no_other_keys()
    return peer


def _membership(form: JsonObject, key: str, *, directories: bool, required: bool) -> Membership | None:
    part = form.part(key) if required else form.optional_part(key)
    if part is None:
        return None
    membership = Membership(
        active_master=part.optional_text("active_master"),
        online=frozenset(ServerName.parse(server) for server in part.texts("online")),
        crashing=frozenset(ServerName.parse(server) for server in part.texts("crashing")),
        wal_directories=tuple(_wal_directory(entry) for entry in part.parts("wal_directories")) if directories else (),
    )
    part.no_other_keys()
    return membership


def _wal_directory(form: JsonObject) -> WalDirectory:
    directory = WalDirectory(
        ServerName.parse(form.text("server")), form.count("entries"), parse_instant(form.text("modification_time"))
    )
    form.no_other_keys()
    return directory


def _flags(form: JsonObject, key: str, *, required: bool) -> MasterFlags | None:
    part = form.part(key) if required else form.optional_part(key)
    if part is None:
        return None
    flags = MasterFlags(
        queue_table_exists=part.optional_flag("queue_table_exists"),
        add_peer_running=part.optional_flag("add_peer_running"),
        migration_pending=part.optional_flag("migration_pending"),
        zk_queue_data=part.optional_flag("zk_queue_data"),
    )
    part.no_other_keys()
    return flags


def _retention(form: JsonObject) -> Retention:
    retention = Retention(
        form.count("wal_ttl_ms"), form.count("procedure_wal_ttl_ms"), form.count("master_local_wal_ttl_ms")
    )
    form.no_other_keys()
    return retention


def _backup(form: JsonObject | None) -> Backup | None:
    if form is None:
        return None
    if not form.flag("enabled"):
        form.no_other_keys()
        return Backup(enabled=False)
    part = form.part("boundaries")
    boundaries: dict[str, int] = {}
    for key in part.names():  # if one address has two spellings, use the smaller boundary, which holds more WALs
        address = key.lower()
        boundaries[address] = min(boundaries.get(address, part.integer(key)), part.integer(key))
    backup = Backup(enabled=True, boundaries=boundaries)
    form.no_other_keys()
    return backup


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
