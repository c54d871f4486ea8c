"""`backup:system` and the barriers in `hbase:meta`, through HBase's own client in Spark's JVM."""

import logging
from collections.abc import Iterable

from pipelines.capture.sources.hbase_client import HBaseClient
from pipelines.capture.sources.hbase_client_scan import scan_cells, scan_versions
from pipelines.common.errors import MalformedError, UsageError
from pipelines.common.instants import is_instant
from pipelines.files.hadoop_jvm import JavaObject, java_errors
from pipelines.hbase.peer_rules import table_name
from pipelines.hbase.replication_queues import Cell, Version
from pipelines.snapshot.backup import (
    BACKUP_TABLE,
    SESSION_FAMILY,
    SESSION_ROW,
    BackupSession,
    counting,
    sessions_of,
)
from pipelines.snapshot.barriers import RegionBarriers, region_barriers
from pipelines.snapshot.model import Backup

logger = logging.getLogger(__name__)

_BACKUP_ENABLE = "hbase.backup.enable"
_META, _BARRIER_FAMILY, _BARRIER = "hbase:meta", b"rep_barrier", b"seqnumDuringOpen"
_LONG, _NEGATIVE = 8, 0x80


def stated_backup(conf: JavaObject) -> Backup | None:
    """What `hbase.backup.enable` says; None where it is not set, which is "off" in the master's own file alone."""
    return None if conf.get(_BACKUP_ENABLE) is None else Backup(enabled=bool(conf.getBoolean(_BACKUP_ENABLE, False)))


def backup_table(conf: JavaObject) -> str:
    """Name of the table that HBase backup keeps its sessions in."""
    return str(conf.get("hbase.backup.system.table.name", BACKUP_TABLE))


def has_backup_table(client: HBaseClient) -> bool | None:
    """Whether the table of HBase backup exists; None where this user may not ask.

    Raises:
        UnavailableError: HBase did not answer.
    """
    name = backup_table(client.conf)
    try:
        with java_errors(f"{client.where}, table {name}"):
            return bool(client.admin.tableExists(client.table_name(name)))
    except UsageError as error:
        logger.warning("Whether table %s exists is unknown: %s", name, error)
        return None


def read_backups(client: HBaseClient) -> tuple[BackupSession, ...] | None:
    """The backups that boundaries are made of; None where they stay unknown, and so every WAL is held.

    Raises:
        UnavailableError: HBase did not answer.
    """
    name = backup_table(client.conf)
    try:
        with java_errors(f"{client.where}, table {name}"):
            there = bool(client.admin.tableExists(client.table_name(name)))
        # BackupLogCleaner itself makes the table: where there is none, backup may have another one than we think
        return counted(scan_cells(client, name, SESSION_FAMILY, SESSION_ROW), name) if there else None
    except UsageError as error:
        logger.warning("Backup boundaries stay unknown, so every WAL is held: %s", error)
        return None


def counted(cells: Iterable[Cell], name: str) -> tuple[BackupSession, ...] | None:
    """The sessions that count; None where one of all is none of those that are known."""
    try:
        return counting(sessions_of(cells))
    except MalformedError as error:
        logger.warning("Backup boundaries stay unknown, so every WAL is held: %s (%s)", error, name)
        return None


def read_barriers(client: HBaseClient) -> tuple[RegionBarriers, ...] | None:
    """Every region that has barriers; None where they may not be read.

    Raises:
        UnavailableError: HBase did not answer.
    """
    try:
        return barriers_of(scan_versions(client, _META, _BARRIER_FAMILY, _BARRIER))
    except UsageError as error:
        logger.warning("Barriers of regions stay unknown: %s", error)
        return None


def barriers_of(versions: Iterable[Version]) -> tuple[RegionBarriers, ...]:
    """By region, in the order of rows; the rows of `hbase:meta` are names of regions.

    A row without a table or a region, and a value that is no sequence id or of no time of these centuries, are passed
    over and counted in a line of the log: HBase writes none such, and no file is freed by a barrier.
    """
    opened: dict[bytes, list[tuple[int, int]]] = {}
    over = 0
    for version in versions:
        barriers = opened.setdefault(version.row, [])
        if len(version.value) == _LONG and version.value[0] < _NEGATIVE and is_instant(version.timestamp):
            barriers.append((int.from_bytes(version.value, "big"), version.timestamp))
        else:
            over += 1
    found = []
    for row, barriers in opened.items():
        region, table = _encoded(row), row.partition(b",")[0].decode("utf-8", "replace")
        if region and table:
            found.append(region_barriers(region, table_name(table), barriers))
        else:
            over += len(barriers)
    if over:
        logger.warning("%s: %d cells of %s are no barriers and were passed over", _META, over, _BARRIER_FAMILY.decode())
    return tuple(found)


def _encoded(row: bytes) -> str:
    """`table,start key,id.<encoded>.`; a start key may hold anything."""
    return row.removesuffix(b".").rpartition(b".")[2].decode("ascii", "replace")
