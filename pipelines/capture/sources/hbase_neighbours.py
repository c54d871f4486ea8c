"""Reads `backup:system` and the barriers in `hbase:meta`, with HBase's own client in Spark's JVM."""

import logging
from collections.abc import Iterable

from pipelines.capture.sources.hbase_client import HBaseClient
from pipelines.capture.sources.hbase_client_scan import scan_cells, scan_versions
from pipelines.common.errors import MalformedError, UsageError
from pipelines.common.instants import is_instant
from pipelines.files.hadoop_jvm import JavaObject, java_errors
from pipelines.hbase.peer_rules import table_name
from pipelines.hbase.replication_queues import Cell, CellVersion
from pipelines.snapshot.backup import (
    BACKUP_TABLE,
    SESSION_FAMILY,
    SESSION_ROW,
    BackupSession,
    boundary_sessions,
    sessions_of,
)
from pipelines.snapshot.barriers import RegionBarriers, region_barriers

logger = logging.getLogger(__name__)

_META, _BARRIER_FAMILY, _BARRIER = "hbase:meta", b"rep_barrier", b"seqnumDuringOpen"
_LONG, _NEGATIVE = 8, 0x80


def backup_table(conf: JavaObject) -> str:
    """Returns the name of the table in which HBase backup keeps its sessions."""
    return str(conf.get("hbase.backup.system.table.name", BACKUP_TABLE))


def has_backup_table(client: HBaseClient) -> bool | None:
    """Returns whether the table of HBase backup exists; None if this user lacks the right to ask.

    Raises:
        UnavailableError: HBase did not answer.
    """
    name = backup_table(client.conf)
    try:
        with java_errors(f"{client.where}, table {name}"):
            return client.table_exists(name)
    except UsageError as error:
        logger.warning("Whether table %s exists is unknown: %s", name, error)
        return None


def read_backups(client: HBaseClient) -> tuple[BackupSession, ...] | None:
    """Returns the backups that define boundaries; None if they are unknown, so that every WAL is held.

    Raises:
        UnavailableError: HBase did not answer.
    """
    name = backup_table(client.conf)
    try:
        with java_errors(f"{client.where}, table {name}"):
            there = client.table_exists(name)
        # BackupLogCleaner itself creates the table: if it does not exist, backup may use a table of another name
        return counted_sessions(scan_cells(client, name, SESSION_FAMILY, SESSION_ROW), name) if there else None
    except UsageError as error:
        logger.warning("Backup boundaries stay unknown, so every WAL is held: %s", error)
        return None


def counted_sessions(cells: Iterable[Cell], name: str) -> tuple[BackupSession, ...] | None:
    """Returns the sessions that define boundaries; None if the form of any session is unknown."""
    try:
        return boundary_sessions(sessions_of(cells))
    except MalformedError as error:
        logger.warning("Backup boundaries stay unknown, so every WAL is held: %s (%s)", error, name)
        return None


def read_barriers(client: HBaseClient) -> tuple[RegionBarriers, ...] | None:
    """Returns the barriers of every region that has any; None if the user may not read them.

    Raises:
        UnavailableError: HBase did not answer.
    """
    try:
        return barriers_of(scan_versions(client, _META, _BARRIER_FAMILY, _BARRIER))
    except UsageError as error:
        logger.warning("Barriers of regions stay unknown: %s", error)
        return None


def barriers_of(versions: Iterable[CellVersion]) -> tuple[RegionBarriers, ...]:
    """Returns the barriers of each region, in the order of rows; the row keys of `hbase:meta` are names of regions.

    It skips rows without a table or a region, and values that are not a sequence id or have an implausible timestamp,
    and logs how many cells it skipped. HBase does not write any of these, and no barrier frees a file.
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
        logger.warning("%s: %d cells of %s are not barriers and were skipped", _META, over, _BARRIER_FAMILY.decode())
    return tuple(found)


def _encoded(row: bytes) -> str:
    """Returns the encoded name from `table,start key,id.<encoded>.`; a start key may contain anything."""
    return row.removesuffix(b".").rpartition(b".")[2].decode("ascii", "replace")
