"""The contents of snapshot.json, format 1, as frozen values.

`pipelines.snapshot.snapshot_json` checks the form; `pipelines.decide.rule.trust` decides whether the capture can be
trusted. All instants are integers, ms since the epoch, UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError
from pipelines.hbase.peers import Peer
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import parse_wal_name

QUEUE_STORAGE_TABLE = "table"
QUEUE_STORAGE_ZOOKEEPER = "zookeeper"
_CREATION_MARGIN_MS = 600_000


def complete_before(files_started: int) -> int:
    """Returns the timestamp (ms) up to which a listing shows every WAL that exists.

    A WAL with this timestamp in its name, or a later one, may have been created after the listing began, by a server
    whose clock is slow.

    Args:
        files_started: when the listing began, ms.
    """
    return files_started - _CREATION_MARGIN_MS


def too_new(wal: str, complete: int) -> bool:
    """Tell whether a WAL may have been created after the listing began, so that the listing may lack it.

    Args:
        wal: file name.
        complete: see `complete_before`.
    """
    name = parse_wal_name(wal)
    return name is not None and name.timestamp is not None and name.timestamp >= complete


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
