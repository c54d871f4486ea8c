"""Drives a real HBase on the HDFS of `tests.labs.cluster.hdfs` from Python: its servers and masters."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from tests.labs.cluster.classpath import (
    HBASE,
    HBASE_2,
    JAVA_HBASE_1,
    JAVA_HBASE_2,
    JAVA_HBASE_3,
    compiled,
    hbase_1,
    resolve,
)
from tests.labs.cluster.conf import merged, write_site
from tests.labs.cluster.hbase_data import FAMILY, Cell, HBaseData, WalFile
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.jvm import STARTED, Jvm
from tests.labs.debian import java_8
from tests.labs.waiting import wait_until

__all__ = [
    "MULTIWAL",
    "ROOT_IN_HDFS",
    "SENDS_BULK_LOADS",
    "SEPARATE_OLD_WALS",
    "TAKES_BULK_LOADS",
    "Cell",
    "CrashStage",
    "HBaseCluster",
    "LoadStage",
    "WalFile",
    "start_hbase_1_jvm",
    "start_hbase_2_jvm",
    "start_hbase_jvm",
    "wait_until",
]

CrashStage = Literal["start", "missing-queues", "claim"]
LoadStage = Literal["procedures", "initialized"]

MULTIWAL = MappingProxyType({"hbase.wal.provider": "multiwal", "hbase.wal.regiongrouping.numgroups": "2"})
# otherwise tables are in a directory on this machine, and WALs alone in HDFS
ROOT_IN_HDFS = MappingProxyType({"walsafe.root.in.hdfs": "true"})
SENDS_BULK_LOADS = MappingProxyType(
    {"hbase.replication.bulkload.enabled": "true", "hbase.replication.cluster.id": "source"}
)
TAKES_BULK_LOADS = MappingProxyType({"hbase.replication.source.fs.conf.provider": "walsafe.cluster.BulkLoad$SameFiles"})
SEPARATE_OLD_WALS = MappingProxyType({"hbase.separate.oldlogdir.by.regionserver": "true"})

_DEFAULTS = MappingProxyType(
    {
        "hbase.unsafe.stream.capability.enforce": "false",
        # the master must not delete what the tests look at
        "hbase.master.logcleaner.ttl": "86400000",
        "hbase.master.cleaner.interval": "86400000",
        # half a minute by default; how long what has ended is listed stays as it is: 15 minutes, and a crash not at all
        "hbase.procedure.cleaner.interval": "1000",
        # production waits half a minute before a claim
        "replication.sleep.before.failover": "500",
        "replication.source.sleepforretries": "200",
        "hbase.replication.source.maxretriesmultiplier": "5",
        # a procedure held back by a test goes on soon after its release
        "hbase.procedure.retry.sleep.interval.ms": "200",
        "hbase.procedure.retry.max.sleep.time.ms": "500",
        "hbase.regionserver.handler.count": "10",
        # a killed server that is not through with its end after that, by default 20 minutes, halts the JVM of them all
        "hbase.regionserver.abort.timeout": "86400000",
        "hbase.master.start.timeout.localHBaseCluster": "900000",
        "zookeeper.session.timeout": "30000",
        # the default asks the masters of the start, of which none may be left after a failover
        "hbase.client.registry.impl": "org.apache.hadoop.hbase.client.ZKConnectionRegistry",
    }
)


def start_hbase_jvm(work: Path, *, heap: str = "2g", options: Sequence[str] = ()) -> Jvm:
    """Starts a JVM that can hold several HBase clusters."""
    jars = resolve(HBASE)
    return Jvm("hbase", [compiled(jars, JAVA_HBASE_3), *jars], work, heap=heap, options=options)


def start_hbase_2_jvm(work: Path, *, heap: str = "1g", options: Sequence[str] = ()) -> Jvm:
    """Starts a JVM for an HBase 2, whose queues are in ZooKeeper.

    `HBaseCluster` drives it as far as its harness allows.
    """
    jars = resolve(HBASE_2)
    return Jvm("hbase2", [compiled(jars, JAVA_HBASE_2), *jars], work, heap=heap, options=options)


def start_hbase_1_jvm(work: Path, version: str, *, on_java_8: bool = False) -> Jvm:
    """Starts a JVM for an HBase 1, whose queues are in ZooKeeper.

    `HBaseCluster` drives it as far as its harness allows.
    """
    jars = resolve(hbase_1(version))
    classpath = [compiled(jars, JAVA_HBASE_1, release=8), *jars]
    folders = sorted({work, *(path.parent for path in classpath)})
    return Jvm("hbase1", classpath, work, heap="1g", java_8=java_8(work, folders) if on_java_8 else ())


class HBaseCluster(HBaseData):
    """One HBase cluster inside an HBase JVM.

    Args:
        jvm: From `start_hbase_jvm`; may hold other clusters.
        hdfs: Where its WALs and tables live.
        name: The directory in HDFS and the parent node in ZooKeeper, both ``/<name>``.
        servers: Number of region servers.
        zookeeper_of: A cluster whose ZooKeeper is shared; otherwise one of its own is started.
        properties: Further properties, such as `MULTIWAL`, `SEPARATE_OLD_WALS` or `ROOT_IN_HDFS`.
    """

    def __init__(
        self,
        jvm: Jvm,
        hdfs: HdfsCluster,
        name: str = "hbase",
        servers: int = 2,
        *,
        zookeeper_of: "HBaseCluster | None" = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.jvm = jvm
        self._hdfs = hdfs
        root = f"{hdfs.uri}/{name}"
        self.wal_root = root
        self._own = merged(
            hdfs.client_properties,
            _DEFAULTS,
            {"hbase.rootdir": root, "hbase.wal.dir": root, "zookeeper.znode.parent": f"/{name}"},
            properties or {},
        )
        other = zookeeper_of.harness if zookeeper_of else None
        super().__init__(name, jvm.view.walsafe.cluster.Harness(self._own, other))
        self.harness.start(servers)
        STARTED[f"HBase {self.version()[0]}"] += 1

    def version(self) -> str:
        """Returns the version of HBase, such as ``2.6.4``."""
        return str(self.jvm.view.org.apache.hadoop.hbase.util.VersionInfo.getVersion())

    # clients

    def write_conf(self, directory: Path, extra: Mapping[str, str] | None = None) -> Path:
        """Writes ``hbase-site.xml`` and ``core-site.xml`` for clients."""
        zookeeper = {
            name: self.harness.property(name)
            for name in ("hbase.zookeeper.quorum", "hbase.zookeeper.property.clientPort")
        }
        properties = merged(self._own, zookeeper, extra or {})
        write_site(directory / "hbase-site.xml", properties)
        hadoop = {n: v for n, v in properties.items() if n.startswith(("fs.", "dfs.", "hadoop."))}
        write_site(directory / "core-site.xml", hadoop)
        return directory

    @property
    def cluster_key(self) -> str:
        """Returns the cluster key by which ``add_peer`` names this cluster."""
        return str(self.harness.clusterKey())

    @property
    def zookeeper_quorum(self) -> str:
        """Returns the address of its ZooKeeper, ``host:port``."""
        return f"127.0.0.1:{self.harness.property('hbase.zookeeper.property.clientPort')}"

    @property
    def cluster_id(self) -> str:
        """Returns the content of ``hbase.id``."""
        return str(self.harness.clusterId())

    # servers

    def live_servers(self) -> list[str]:
        """Returns the names of the running region servers."""
        return list(self.harness.liveServers())

    def dead_servers(self) -> list[str]:
        """Returns the master's list of dead servers, as a client reads it."""
        return list(self.harness.deadServers())

    def crashing(self) -> list[str]:
        """Returns the servers whose crash procedure is unfinished, as HBase's cleaner sees them."""
        return list(self.harness.crashing())

    def start_server(self) -> str:
        """Starts another region server and returns its name."""
        return str(self.harness.startServer())

    def evacuate(self, server: str, *, system_only: bool = True) -> None:
        """Moves regions from a server to the first other one, so that a held crash does not take hbase:meta with it."""
        target = next(other for other in self.online_servers() if other != server)
        self.harness.evacuate(server, target, system_only)

    def move_region(self, table: str, server: str, index: int = 0) -> None:
        """Moves a region of a table to a server, because a server that never had a region has no WAL."""
        self.harness.moveRegion(table, index, server)

    def kill_server(self, server: str, *, wait: bool = True) -> None:
        """Kills a region server.

        Args:
            server: its name.
            wait: whether to wait until its crash procedure has finished; otherwise only until it exists.
        """
        self.harness.killServer(server)
        wait_until(lambda: server not in self.online_servers(), f"{server} is offline")
        if wait:
            # the procedure is submitted after the server has left the list, and ends after it has removed its directory
            wait_until(lambda: not self._has_wal_directory(server), f"the WALs of {server} are archived")
            wait_until(lambda: server not in self.crashing(), f"the crash of {server} is processed")
        else:
            wait_until(lambda: server in self.crashing(), f"the crash of {server} is noticed")

    def _has_wal_directory(self, server: str) -> bool:
        """Returns whether `WALs/` has the directory of a server, perhaps half split."""
        places = (f"/{self.name}/WALs/{server}", f"/{self.name}/WALs/{server}-splitting")
        return any(self._hdfs.file_system().exists(self._hdfs.path(place)) for place in places)

    def kill_and_hold(self, server: str, stage: CrashStage = "start") -> None:
        """Kills a region server and keeps its crash procedure unfinished until `release`.

        Args:
            server: its name; regions of system tables are moved away first.
            stage: ``start``: the procedure does nothing at all, ``WALs/<server>`` stays. ``missing-queues``: WALs are
                split and archived, the missing queues of peers are not written yet. ``claim``: they are written, and
                not claimed yet. A master that takes over knows nothing of the hold and continues.
        """
        self.evacuate(server)
        self.harness.holdCrash(server, stage)
        self.kill_server(server, wait=False)
        if stage != "start":
            wait_until(lambda: bool(self.harness.crashMetStorage(server)), f"the crash of {server} reaches {stage}")

    def release(self, server: str) -> None:
        """Lets a held crash procedure continue, and waits for its end."""
        self.harness.releaseCrash(server)
        wait_until(lambda: server not in self.crashing(), f"the crash of {server} is processed")

    def schedule_recovery(self, server: str) -> int:
        """Sends the master the request of HBCK2's ``scheduleRecoveries``, and waits for the end of the procedure.

        Returns:
            The id of the procedure; -1 if the master did nothing, as for a server that it lists as dead.
        """
        found = int(self.harness.scheduleRecovery(server))
        if found >= 0:
            wait_until(lambda: server not in self.crashing(), f"the recovery of {server} is processed")
        return found

    def clear_dead_server(self, server: str) -> bool:
        """Removes a server from the master's list of dead servers, as ``clear_deadservers`` does.

        Returns whether it was there.
        """
        return bool(self.harness.clearDeadServer(server))

    # masters

    def active_master(self) -> str:
        """Returns the master that ZooKeeper names, initialized or not; an empty text while there is none."""
        return str(self.harness.activeMaster())

    def procedures(self) -> list[dict[str, object]]:
        """Returns all procedures, as a client's ``list_procedures`` shows them."""
        found: list[dict[str, object]] = json.loads(str(self.harness.procedures()) or "[]")
        return found

    def initialized(self) -> bool:
        """Returns whether the active master is initialized."""
        return bool(self.harness.masterInitialized())

    def start_master(self) -> str:
        """Starts another master, which waits as a stand-by, and returns its name."""
        return str(self.harness.startMaster())

    def fail_over_master(self, hold: LoadStage | None = None) -> str:
        """Kills the active master and waits until a new one takes over.

        Args:
            hold: where the new master's initialization stops until `release_master`. ``procedures``: its procedures are
                not loaded, so it seems to have none. ``initialized``: everything is loaded, but it is not initialized
                yet.

        Returns:
            The name of the new active master.
        """
        gate = self.jvm.view.walsafe.cluster.GatedMaster
        before = self.active_master()
        self.start_master()
        if hold is not None:
            gate.close(hold)
        self.harness.killActiveMaster()
        if hold is None:
            wait_until(lambda: self.active_master() not in {"", before} and self.initialized(), "a master took over")
        elif not gate.awaitReached(900_000):
            raise TimeoutError(f"no master reached the stage {hold}")
        return self.active_master()

    def release_master(self) -> None:
        """Lets a held master continue, and waits until it is initialized."""
        self.jvm.view.walsafe.cluster.GatedMaster.open()
        wait_until(self.initialized, "the master is initialized")

    # the whole cluster

    def bulk_load(self, table: str, first: str, last: str, rows: int) -> None:
        """Loads one HFile with this number of rows from the first key to the last."""
        self.jvm.view.walsafe.cluster.BulkLoad.load(self.harness, table, FAMILY, first, last, rows)

    def crash(self) -> None:
        """Ends all servers at once: nothing is flushed, no WAL is archived. HDFS and ZooKeeper go on."""
        self.harness.crash()

    def restart(self, servers: int) -> None:
        """Starts a crashed cluster again with this number of servers."""
        self.harness.restart(servers)

    def sync_up(self, *arguments: str) -> list[str]:
        """Runs HBase's own ReplicationSyncUp while the cluster is down.

        Returns:
            The log lines about the WALs that it read: ``Enqueueing log …``, ``Creating new reader …``.
        """
        return list(self.jvm.view.walsafe.cluster.SyncUp.run(self.harness, list(arguments)))

    def offline_queues(self) -> list[str]:
        """Returns the queues as HBase's own OfflineTableReplicationQueueStorage reads them.

        Each line has row, WAL group and offset, separated by TAB.
        """
        return list(self.jvm.view.walsafe.cluster.SyncUp.queues(self.harness))

    def close(self) -> None:
        """Shuts the cluster down in good order (closing the JVM alone is quicker)."""
        self.harness.close()
