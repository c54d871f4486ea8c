"""Scans tables with HBase's own client in Spark's JVM, in batches; `hbase:replication` as a source of queues."""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.capture.ports import LiveSource
from pipelines.capture.sources.hbase_client import GRANT, HBaseClient, read_right
from pipelines.common.errors import UnavailableError, UsageError
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject
from pipelines.hbase.replication_queues import Cell, CellVersion

_NO_RIGHTS = "AccessController is not loaded"
"""HBase's words if it checks no rights."""
_ROWS_AT_A_TIME = 500
_CELLS_OF_A_ROW_AT_A_TIME = 1_000
_PLAIN, _VERSIONS = "noVersionMap", "map"
# every JSON property of a Result except `row` and its cells
_OTHER_PROPERTIES = ("exists", "stats", "cursor", "stale", "partial", "empty", "cursorResult", "metrics")


class HBaseClientQueues(LiveSource):
    """Scans the queue table with HBase's client, which supports Kerberos; a `QueueSource`."""

    def __init__(self, client: HBaseClient) -> None:
        self._client = client

    def cells(self, _step: str) -> Iterator[Cell]:
        """See `QueueSource.cells`."""
        client = self._client
        with client.errors(f"table {client.queue_table}"):
            there = client.table_exists(client.queue_table)
        if there:
            yield from scan_cells(client, client.queue_table)


def scan_cells(client: HBaseClient, table: str, family: bytes | None = None, prefix: bytes = b"") -> Iterator[Cell]:
    """Yields the newest version of each cell, in scan order.

    Args:
        client: the client of the cluster.
        table: the name of the table, which must exist.
        family: the only family to scan; None = all families.
        prefix: the prefix of the row keys.

    Raises:
        UsageError: the user may not read the whole table.
        UnavailableError: HBase did not answer.
    """
    for row in _rows(client, table, family, prefix, versions=False):
        yield from cells_of_row(row)


def scan_versions(client: HBaseClient, table: str, family: bytes, qualifier: bytes) -> Iterator[CellVersion]:
    """Yields all versions of one column.

    Raises:
        UsageError, UnavailableError: for the reasons of `scan_cells`.
    """
    wanted = [base64.b64encode(name).decode("ascii") for name in (family, qualifier)]
    for document in _rows(client, table, family, b"", versions=True):
        row, families = _row(document, _VERSIONS)
        versions = families.get(wanted[0], {}).get(wanted[1], {})
        for timestamp, value in versions.items():
            yield CellVersion(row, int(timestamp), base64.b64decode(value))


def result_mapper(hadoop: HadoopJvm, result: JavaObject, *, versions: bool = False) -> JavaObject:
    """Returns Jackson's `ObjectMapper` that writes a `Result` in the form that `cells_of_row` reads.

    One py4j call per cell would take a second for 3,000 cells. Jackson, which Spark ships, turns a batch of rows into
    JSON with base64 inside the JVM. Java sorts the maps of a `Result` by bytes, so they are in scan order.

    Args:
        hadoop: the interface to Spark's JVM.
        result: the class `Result`, from any class loader.
        versions: whether to write all versions of each cell with their timestamps, instead of only the newest.
    """
    properties = (_PLAIN if versions else _VERSIONS, *_OTHER_PROPERTIES)
    names = hadoop.gateway.new_array(hadoop.view.java.lang.String, len(properties))
    for index, name in enumerate(properties):
        names[index] = name
    jackson = hadoop.view.com.fasterxml.jackson
    ignored = jackson.annotation.JsonIgnoreProperties.Value.forIgnoredProperties(names)
    mapper = jackson.databind.ObjectMapper()
    mapper.configOverride(result).setIgnorals(ignored)
    return mapper


def cells_of_row(document: Mapping[str, Any]) -> Iterator[Cell]:
    """Yields the cells of one row as `result_mapper` writes it, in scan order.

    Raises:
        TypeError: the row has a form that only another HBase client writes.
    """
    row, families = _row(document, _PLAIN)
    for name, columns in families.items():
        for qualifier, value in columns.items():
            yield Cell(row, base64.b64decode(name), base64.b64decode(qualifier), base64.b64decode(value))


def _row(document: Mapping[str, Any], cells: str) -> tuple[bytes, dict[str, Any]]:
    key, families = document.get("row"), document.get(cells)
    if set(document) != {"row", cells} or not isinstance(key, str) or not isinstance(families, dict):
        raise TypeError(f"a row in a form that HBase's client does not have: {sorted(document)}")
    return base64.b64decode(key), families


def _rows(
    client: HBaseClient, table: str, family: bytes | None, prefix: bytes, *, versions: bool
) -> Iterator[dict[str, Any]]:
    """Yields rows in the form that `result_mapper` writes."""
    what, right = f"scan of {table}", read_right(table)
    _refuse_a_part(client, table)
    with client.errors(what, right):
        result = client.java_class("org.apache.hadoop.hbase.client.Result")
        mapper = result_mapper(client.hadoop, result, versions=versions)
        scanner = client.connection.getTable(client.table_name(table)).getScanner(
            _scan(client, family, prefix, versions=versions)
        )
    try:
        while True:
            with client.errors(what, right):
                rows = json.loads(str(mapper.writeValueAsString(scanner.next(_ROWS_AT_A_TIME))))
            if not rows:
                return
            yield from rows
    finally:
        with client.errors(what, right):
            scanner.close()


def _refuse_a_part(client: HBaseClient, table: str) -> None:
    """Makes sure that the user may read a whole table.

    Of a table outside the namespace `hbase`, HBase leaves out what the user may not read, and does not say so.

    Raises:
        UsageError: the user may not.
    """
    with client.errors(f"table {table}"):
        of_hbase = bool(client.table_name(table).isSystemTable())
    if not of_hbase and not _may_read(client, table):
        raise UsageError(
            f"{client.where}: this user may not read the whole table {table}, and HBase would leave out the rest "
            f"without a word. Give the user the right, {GRANT.format(read_right(table))}"
        )


def _may_read(client: HBaseClient, table: str) -> bool:
    """Returns whether the user has the right READ on a whole table; true where HBase checks no rights."""
    view = client.hadoop.view
    try:
        with client.errors(f"rights on table {table}"):
            permission = view.org.apache.hadoop.hbase.security.access.Permission
            actions = client.hadoop.gateway.new_array(permission.Action, 1)
            actions[0] = permission.Action.READ
            wanted = permission.newBuilder(client.table_name(table)).withActions(actions).build()
            return bool(client.admin.hasUserPermissions(view.java.util.Collections.singletonList(wanted)).get(0))
    except UnavailableError as error:
        if _NO_RIGHTS not in str(error):
            raise
        return True


def _scan(client: HBaseClient, family: bytes | None, prefix: bytes, *, versions: bool) -> JavaObject:
    scan = client.hadoop.view.org.apache.hadoop.hbase.client.Scan()
    scan.setCaching(_ROWS_AT_A_TIME)
    scan.setCacheBlocks(False)
    if versions:
        scan.readAllVersions()
    else:
        scan.setBatch(_CELLS_OF_A_ROW_AT_A_TIME)
    if family is not None:
        scan.addFamily(family)
    if prefix:
        scan.setStartStopRowForPrefixScan(prefix)
    return scan
