"""What a generated cluster is made of. All instants and durations are in ms, all sizes in bytes."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

from jobs.demo.cluster.snapshots import RETENTION
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.model import Retention, Snapshot

NEVER = 1 << 62
"""An instant that does not come."""
REGION = "d41d8cd98f00b204e9800998ecf8427e"
"""The region of the serial peers."""
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class WalStream:
    """One WAL group of one server: a WAL begins every `every`, give or take a quarter.

    Attributes:
        group: WAL group, URL-encoded.
        suffix: of the file names: "", ".meta" or ".syncrep".
        starts: timestamp of the first WAL.
        size: bytes of a full WAL, give or take a tenth.
        tracked: replication keeps offsets for it (neither meta nor `hbase:replication` itself).
        leaked: HBase's cleaner keeps it while the server lives (`.rep`).
    """

    group: str
    suffix: str
    starts: int
    every: int
    size: int
    tracked: bool = True
    leaked: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """From `at` on, `owner` has the recovered queues."""

    at: int
    owner: ServerName


@dataclass(frozen=True, slots=True)
class ServerLife:
    """One life of one region server.

    Attributes:
        died: the crash; `NEVER` while it lives.
        recovered: the end of its crash procedure: WALs archived, missing queues written, queues claimed.
        claims: owners of its queues after that, oldest first.
        leftover_directory: `WALs/<server>-splitting` was never removed (docs/safety.md).
    """

    server: ServerName
    started: int
    streams: tuple[WalStream, ...]
    died: int = NEVER
    recovered: int = NEVER
    claims: tuple[Claim, ...] = ()
    leftover_directory: bool = False


@dataclass(frozen=True, slots=True)
class PeerPlan:
    """One replication peer.

    Attributes:
        lag: how far behind now its queues are while it is enabled.
        disabled_at: from then on its queues stand still.
    """

    peer: Peer
    lag: int
    disabled_at: int = NEVER


@dataclass(frozen=True, slots=True)
class Held:
    """From `since` on, one peer's queue of one server stands at `progress` (stalled, or rewound)."""

    peer_id: str
    source: ServerName
    since: int
    progress: int


@dataclass(frozen=True, slots=True)
class OddFile:
    """A file that no server of the cluster would write, or that a person changed; it stays until someone acts."""

    path: str
    length: int
    modification_time: int


@dataclass(frozen=True, slots=True)
class OddRow:
    """A queue row that no peer's life explains: an orphan, or the second one of a claim that went wrong."""

    row: str
    group: str
    wal: str
    offset: int


@dataclass(frozen=True, slots=True)
class Tampering:
    """Something done by hand to the WAL of `server` that was being written at `at`: removed, or cut to `length`."""

    server: ServerName
    at: int
    length: int | None


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """The whole life of a generated cluster.

    Attributes:
        cleaner_stuck_since: HBase's own cleaner deletes nothing in `oldWALs` from then on (sub-folders go on).
        master: active master, `host,port,startcode`.
        procedure_wals: instants at which a pv2 procedure WAL was archived.
        master_wals_every: interval of the master's local-store WALs; 0 = none reach oldWALs.
    """

    cluster: str
    seed: int
    wal_root: str
    master: ServerName
    lives: tuple[ServerLife, ...]
    peers: tuple[PeerPlan, ...]
    cleaner_stuck_since: int = NEVER
    held: tuple[Held, ...] = ()
    odd_files: tuple[OddFile, ...] = ()
    odd_rows: tuple[OddRow, ...] = ()
    tampering: tuple[Tampering, ...] = ()
    procedure_wals: tuple[int, ...] = ()
    master_wals_every: int = 0
    retention: Retention = RETENTION


@dataclass(frozen=True, slots=True)
class Wal:
    """One WAL file.

    Attributes:
        closed: when the next one began, or the server died; `NEVER` = open.
        archived: when it moved to oldWALs; `NEVER` = still below `WALs/`.
    """

    name: str
    timestamp: int
    length: int
    closed: int
    archived: int


@dataclass(frozen=True, slots=True)
class GeneratedCapture:
    """What a capture would have found; `snapshot.contents` is left to the writer of the snapshot directory.

    Attributes:
        files: all files of step `files`, sorted by path.
        pass_1: cells of queues-1, in scan order.
        pass_2: cells of queues-2.
    """

    snapshot: Snapshot
    files: tuple[ArchivedFile, ...]
    pass_1: tuple[Cell, ...]
    pass_2: tuple[Cell, ...]


Rows = Mapping[str, Mapping[str, str]]
"""Queue rows: row key, then WAL group, then `<wal>:<offset>`."""


def fraction(*key: object) -> float:
    """A number in [0, 1) that depends on nothing but its key: the same on every machine and in every version."""
    digest = blake2b("/".join(map(str, key)).encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / (1 << 48)
