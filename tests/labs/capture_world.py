"""Provides a cluster for captures that records every question and their order."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from pipelines.capture.capture import CaptureResult, CaptureSources, CaptureTarget
from pipelines.capture.ports import ClusterSettings
from pipelines.capture.timeline import RetryPolicy
from pipelines.common.errors import UnavailableError
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.known_servers import KnownServers
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.backup import BackupSession
from pipelines.snapshot.barriers import RegionBarriers, region_barriers
from pipelines.snapshot.capture_clocks import StepStamp
from pipelines.snapshot.model import Backup, MasterFlags, Retention, Snapshot, WalDirectory

H1, H2 = ServerName("h1", 16020, 5), ServerName("h2", 16020, 6)
H3 = ServerName.parse("h3,16020,5")
AT_REST = KnownServers(online=frozenset({H1}), dead=frozenset({ServerName("h3", 16020, 1)}))
CALM = MasterFlags(queue_table_exists=True, add_peer_running=False, migration_pending=False, zk_queue_data=False)


@dataclass
class World:
    """Implements every source and the sink, and records every question and their order."""

    asked: list[str] = field(default_factory=list)
    now: int = 1_000
    failures: dict[str, int] = field(default_factory=dict)
    stamps: dict[str, StepStamp] = field(default_factory=dict)
    masters: list[str] = field(default_factory=lambda: ["m,1,1", "m,1,1"])
    rows: dict[str, list[bytes]] = field(default_factory=dict)
    directories: list[tuple[WalDirectory, ...]] = field(default_factory=list)
    later: list[KnownServers] = field(default_factory=list)
    crashing_later: list[frozenset[ServerName]] = field(default_factory=list)
    peer: Peer = field(default_factory=lambda: Peer("1", "ENABLED", config={"db.password": "hunter2"}))
    backup: Backup | None = field(default_factory=lambda: Backup(enabled=False))
    backup_table: bool | None = None
    written: dict[str, list[object]] = field(default_factory=dict)
    slept: list[int] = field(default_factory=list)
    finished: Snapshot | None = None

    def now_ms(self) -> int:
        self.now += 1
        return self.now

    def sleep_ms(self, pause: int) -> None:
        self.slept.append(pause)
        self.now += pause

    def ask(self, what: str) -> None:
        self.asked.append(what)
        if self.failures.get(what, 0) > 0:
            self.failures[what] -= 1
            raise UnavailableError(f"{what} did not answer")

    def stamp(self, step: str) -> StepStamp | None:
        return self.stamps.get(step)

    def files(self, batches: Iterable[FileBatch] | None = None) -> object:
        if batches is not None:
            return sum(map(len, batches))
        return self._listing()

    def _listing(self) -> Iterator[FileBatch]:
        self.ask("files")
        yield FileBatch(["oldWALs/a.1"], [1], [1])

    def wal_directories(self) -> tuple[WalDirectory, ...]:
        self.ask("wal_directories")
        return self.directories.pop(0) if self.directories else (WalDirectory(H1, 0, 1),)

    def cells(self, name: str, cells: Iterable[Cell] | None = None) -> object:
        if cells is not None:
            return len(list(cells))
        return self._scan(name)

    def _scan(self, step: str) -> Iterator[Cell]:
        self.ask(step)
        for row in self.rows.get(step, [b"1-h1,16020,5"]):
            yield Cell(row, b"queue", b"g", b"w:1")

    def settings(self) -> ClusterSettings:
        self.ask("settings")
        return ClusterSettings("id", "3.0.0", Retention(1, 2, 3), None, self.backup)

    def active_master(self, step: str) -> str:
        self.ask(f"master:{step}")
        return self.masters[step == "crashing-2"]

    def servers(self, step: str) -> KnownServers:
        self.ask(step)
        return self.later.pop(0) if step == "online-2" and self.later else AT_REST

    def crashing(self, step: str) -> frozenset[ServerName]:
        self.ask(f"procedures:{step}")
        return self.crashing_later.pop(0) if step == "crashing-2" and self.crashing_later else frozenset({H2})

    def peers(self) -> tuple[Peer, ...]:
        self.ask("peers")
        return (self.peer,)

    def has_backup_table(self) -> bool | None:
        self.ask("backup table")
        return self.backup_table

    def backups(self) -> tuple[BackupSession, ...] | None:
        self.ask("backups")
        root = "hdfs://user:hunter2@backup/root"
        return (BackupSession("b", root, "FULL", "COMPLETE", 7, 8, {"t": 7}, {"h1:16020": 7}),)

    def barriers(self) -> tuple[RegionBarriers, ...] | None:
        self.ask("barriers")
        return (region_barriers("f00", "t", [(2, 3)]),)

    def documents(self, name: str, documents: Iterable[object]) -> int:
        self.written[name] = list(documents)
        return len(self.written[name])

    def flags(self, step: str) -> MasterFlags:
        self.ask(f"flags:{step}")
        return replace(CALM, add_peer_running=step == "crashing-2")

    def finish(self, snapshot: Snapshot) -> str:
        self.finished = snapshot
        return "file:///s"

    def capture(self, step_attempts: int = 1, quiet_attempts: int = 1) -> CaptureResult:
        patience = RetryPolicy(step_attempts, quiet_attempts, 7, self.sleep_ms)
        sources = CaptureSources(self, self, self, self)  # type: ignore[arg-type]
        return sources.capture(CaptureTarget("c", "hdfs://n/h", "edge"), self, clock=self, patience=patience)  # type: ignore[arg-type]


THE_REST = [
    "wal_directories",
    "online",
    "master:crashing",
    "procedures:crashing",
    "peers",
    "flags:peers",
    "queues-1",
    "queues-2",
    "online-2",
    "procedures:crashing-2",
    "flags:crashing-2",
    "master:crashing-2",
]
