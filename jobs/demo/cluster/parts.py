"""What the plans of generated clusters are put together from."""

from dataclasses import replace

from jobs.demo.cluster.model import MIB, NEVER, Claim, ServerLife, WalStream
from pipelines.common.instants import DAY_MS, HOUR_MS, MINUTE_MS
from pipelines.hbase.peers import Peer
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import encode_prefix

DISABLED_PEER = "dr_west"
STALLED_PEER = "search"
SYNC_PEER = "sync_dr"
REMOVED_PEER = "old_dc"
POISON_NAME = "10.20.20.171%3A60020.1277499063250"
"""HBase 0.90 wrote such names: a WAL, but HBase finds no server in it, and its cleaner throws."""
_PORT = 16020
WAL_SIZE = 118 * MIB
_ROLLED_EVERY = 26 * MINUTE_MS


def peer_lags() -> dict[str, int]:
    """How far behind now each peer's queues are, ms."""
    return {
        "analytics": 2 * MINUTE_MS,
        DISABLED_PEER: 3 * MINUTE_MS,
        STALLED_PEER: 9 * MINUTE_MS,
        SYNC_PEER: 4 * MINUTE_MS,
    }


def new_peer(name: str) -> Peer:
    """One peer as `list_peers` shows it."""
    host = name.replace("_", "-")
    sync = name == SYNC_PEER
    return Peer(
        peer_id=name,
        state="DISABLED" if name == DISABLED_PEER else "ENABLED",
        cluster_key=f"zk1.{host}.example.org,zk2.{host}.example.org:2181:/hbase",
        endpoint="org.apache.hadoop.hbase.replication.regionserver.HBaseInterClusterReplicationEndpoint",
        serial=name == "analytics",
        replicate_all=not sync,
        sync_replication_state="ACTIVE" if sync else "NONE",
        remote_wal_dir="hdfs://sync-dr/hbase/remoteWALs" if sync else None,
        config={},
    )


def region_server(host: int, started: int) -> ServerName:
    """One life of a region server; `started` is its start code, ms."""
    return ServerName(f"rs{host:02d}.example.org", _PORT, started)


def active_master(past: int) -> ServerName:
    """The master; it is older than every WAL."""
    return ServerName("m1.example.org", 16000, past - 30 * DAY_MS)


def encoded_name(server: ServerName) -> str:
    """A server as it stands at the start of a WAL name."""
    return encode_prefix(str(server))


def wal_groups(server: ServerName, regiongroups: int = 1) -> tuple[str, ...]:
    """WAL groups as in the queue table: the server alone, or its `hbase.wal.regiongrouping.numgroups` (multiwal)."""
    encoded = encoded_name(server)
    if regiongroups == 1:
        return (encoded,)
    return tuple(f"{encoded}.{encoded}.regiongroup-{number}" for number in range(regiongroups))


def new_life(
    host: int,
    started: int,
    first_wal: int,
    died: int = NEVER,
    recovered: int = NEVER,
    claims: tuple[Claim, ...] = (),
    leftover_directory: bool = False,
    regiongroups: int = 1,
) -> ServerLife:
    """One life of a region server with its user WALs: one group, or one for each of `regiongroups` (multiwal)."""
    server = region_server(host, started)
    groups = wal_groups(server, regiongroups)
    # no two servers roll at the same instant
    streams = tuple(
        WalStream(group, "", first_wal + host * 1_013 + number * 7, _ROLLED_EVERY * regiongroups, WAL_SIZE)
        for number, group in enumerate(groups)
    )
    return ServerLife(server, started, streams, died, recovered, claims, leftover_directory)


def meta_stream(server: ServerName, past: int) -> WalStream:
    """The WALs of hbase:meta."""
    return WalStream(f"{encoded_name(server)}.meta", ".meta", past, HOUR_MS, 30 * MIB, tracked=False)


def with_streams(life: ServerLife, *streams: WalStream) -> ServerLife:
    """The same life with further WAL groups."""
    return replace(life, streams=life.streams + streams)
