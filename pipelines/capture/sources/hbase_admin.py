"""Reads the active master's state through HBase's `Admin` in Spark's JVM, and the settings from `hbase-site.xml`."""

import logging
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from py4j.protocol import Py4JError, Py4JJavaError

from pipelines.capture.ports import ClusterSettings, LiveSource
from pipelines.capture.sources.hbase_client import HBaseClient
from pipelines.capture.sources.hbase_neighbours import has_backup_table, read_backups, read_barriers
from pipelines.capture.sources.hbase_site import site_settings
from pipelines.capture.sources.replication_znodes import ReplicationZnodes
from pipelines.common.errors import MalformedError, UnavailableError, UsageError
from pipelines.files.hadoop_jvm import JavaObject, java_cause
from pipelines.hbase.known_servers import KnownServers
from pipelines.hbase.peer_rules import PeerRule, Tables, table_name
from pipelines.hbase.peers import Peer
from pipelines.hbase.procedures import (
    ADD_PEER,
    MIGRATION,
    Procedure,
    crashing_servers,
    is_running,
    parse_procedures,
)
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.backup import BackupSession
from pipelines.snapshot.barriers import RegionBarriers
from pipelines.snapshot.model import MasterFlags

logger = logging.getLogger(__name__)

ValueT = TypeVar("ValueT")
_LOADING = ("PleaseHoldException", "MasterNotRunningException", "ServerNotRunningYetException")
_ID = re.compile(r"[0-9A-Za-z-]{1,64}")


class HBaseAdmin(LiveSource):
    """Asks the active master; a `StateSource`.

    Args:
        client: the connection and the configuration. The configuration should be the master's own hbase-site.xml,
            because TTLs, cleaner plugins and backup are read from it.
        znodes: the replication data in ZooKeeper.
    """

    def __init__(self, client: HBaseClient, znodes: ReplicationZnodes) -> None:
        self._client = client
        self._znodes = znodes

    @cached_property
    def _options(self) -> JavaObject:
        return self._client.hadoop.view.org.apache.hadoop.hbase.ClusterMetrics.Option

    def settings(self) -> ClusterSettings:
        """Returns the cluster id and HBase version that the master reports, and the settings of hbase-site.xml.

        Raises:
            UsageError: the master is an HBase 1, whose master does not answer a client about peers.
        """
        metrics = self._metrics(self._options.CLUSTER_ID, self._options.HBASE_VERSION)
        version = self._ask("HBase version", lambda: str(metrics.getHBaseVersion()))
        if version.startswith("1."):
            raise UsageError(
                f"{self._client.where}: the master of HBase {version} does not answer a client about its peers; write "
                "capture.state: {source: zookeeper}"
            )
        cluster_id = self._ask("cluster id", lambda: str(metrics.getClusterId()))
        return replace(
            site_settings(self._client.conf, self._client.where),
            cluster_id=cluster_id if _ID.fullmatch(cluster_id) else None,
            hbase_version=version,
        )

    def active_master(self, _step: str) -> str:
        """See `StateSource.active_master`. It calls `HMaster.getNamespace`, which begins with `checkInitialized`."""
        master = self._metrics(self._options.MASTER).getMasterName()
        if master is None:
            raise UnavailableError(f"{self._client.where}: there is no active master; try again when there is one")
        # a loading master says its name too, so the proof comes second: if the name is the same at both looks, that
        # master was active all the while between them, and gave the first proof itself
        self._ask("initialized master", lambda: self._client.admin.getNamespaceDescriptor("hbase"))
        return str(ServerName.parse(str(master.toString())))

    def servers(self, _step: str) -> KnownServers:
        """See `StateSource.servers`."""
        dead = self._metrics(self._options.DEAD_SERVERS)
        online = self._metrics(self._options.SERVERS_NAME)
        return KnownServers(
            dead=self._names("dead servers", dead.getDeadServerNames),
            online=self._names("online servers", online.getServersName),
        )

    def _names(self, what: str, names: Callable[[], JavaObject]) -> frozenset[ServerName]:
        return frozenset(map(ServerName.parse, self._ask(what, lambda: [str(name.toString()) for name in names()])))

    def crashing(self, _step: str) -> frozenset[ServerName]:
        """See `StateSource.crashing`."""
        try:
            return crashing_servers(self._procedures())
        except MalformedError as error:
            raise UnavailableError(f"{self._client.where}: {error}; is this HBase newer than its client?") from error

    def peers(self) -> tuple[Peer, ...]:
        """See `StateSource.peers`."""
        found = self._ask("peers", lambda: [_peer(peer) for peer in self._client.admin.listReplicationPeers()])
        return tuple(sorted(self._znodes.synchronous(found), key=lambda peer: peer.peer_id))

    def has_backup_table(self) -> bool | None:
        """See `PeerSource.has_backup_table`."""
        return has_backup_table(self._client)

    def backups(self) -> tuple[BackupSession, ...] | None:
        """See `PeerSource.backups`."""
        return read_backups(self._client)

    def barriers(self) -> tuple[RegionBarriers, ...] | None:
        """See `PeerSource.barriers`."""
        return read_barriers(self._client)

    def flags(self, _step: str) -> MasterFlags:
        """See `StateSource.flags`."""
        procedures = self._procedures()
        return MasterFlags(
            queue_table_exists=self._ask("tables", lambda: self._client.table_exists(self._client.queue_table)),
            add_peer_running=is_running(procedures, ADD_PEER),
            migration_pending=is_running(procedures, MIGRATION),
            zk_queue_data=self._znodes.queue_data(),
        )

    def _procedures(self) -> tuple[Procedure, ...]:
        text = self._ask("procedures", lambda: str(self._client.admin.getProcedures()))
        try:
            return parse_procedures(text)
        except MalformedError as error:
            raise UnavailableError(f"{self._client.where}: {error}; is this HBase newer than its client?") from error

    def _metrics(self, *options: JavaObject) -> JavaObject:
        enum_set = self._client.hadoop.view.java.util.EnumSet
        wanted = enum_set.of(*options)
        return self._ask("cluster metrics", lambda: self._client.admin.getClusterMetrics(wanted))

    def _ask(self, what: str, question: Callable[[], ValueT]) -> ValueT:
        try:
            with self._client.errors(what):
                return question()
        except UnavailableError as error:
            cause = java_cause(_cause(error))
            if any(word in cause for word in _LOADING):
                raise UnavailableError(
                    f"{self._client.where}: there is no active master that is initialized ({cause}); a loading master "
                    "would report no procedures. Try again when it is up"
                ) from error
            raise


def _cause(error: Exception) -> Exception:
    return error.__cause__ if isinstance(error.__cause__, Exception) else error


def _peer(description: JavaObject) -> Peer:
    config = description.getPeerConfig()
    return Peer(
        peer_id=str(description.getPeerId()),
        state="ENABLED" if description.isEnabled() else "DISABLED",
        cluster_key=config.getClusterKey(),
        endpoint=config.getReplicationEndpointImpl(),
        serial=_known(config, "isSerial"),
        replicate_all=_known(config, "replicateAllUserTables"),
        sync_replication_state=_sync_state(description),
        remote_wal_dir=_known(config, "getRemoteWALDir"),
        config={str(key): str(value) for key, value in dict(config.getConfiguration()).items()},
        rule=PeerRule(
            namespaces=frozenset(map(str, config.getNamespaces() or ())),
            tables=_tables(config.getTableCFsMap()),
            exclude_namespaces=frozenset(map(str, _known(config, "getExcludeNamespaces") or ())),
            exclude_tables=_tables(_known(config, "getExcludeTableCFsMap")),
        ),
    )


def _tables(families: JavaObject | None) -> Tables:
    """Converts HBase's map from table to families; NULL and an empty list both mean all families."""
    return {
        table_name(str(table.getNameAsString())): tuple(sorted(map(str, names or ())))
        for table, names in dict(families or {}).items()
    }


def _sync_state(description: JavaObject) -> str | None:
    state = _known(description, "getSyncReplicationState")
    return None if state is None else str(state.toString())


def _known(thing: JavaObject, method: str) -> JavaObject:
    """Returns the result of a method; None, which means unknown, if the client of HBase 2 does not have the method."""
    try:
        return getattr(thing, method)()
    except Py4JJavaError:
        raise
    except Py4JError as error:
        if "does not exist" in str(error):
            return None
        raise
