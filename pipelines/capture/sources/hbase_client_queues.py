"""Scans `hbase:replication` with HBase's own client in Spark's JVM; this source supports Kerberos."""

from collections.abc import Iterator

from pipelines.capture.sources.hbase_client import GRANT, HBaseClient, read_right
from pipelines.capture.sources.hbase_client_scan import scan_cells
from pipelines.common.errors import UnavailableError, UsageError
from pipelines.hbase.replication_queues import Cell

_NO_RIGHTS = "AccessController is not loaded"
"""HBase's words if it checks no rights."""


class HBaseClientQueues:
    """Scans the queue table with HBase's client; a `QueueSource`."""

    def __init__(self, client: HBaseClient) -> None:
        self._client = client

    def stamp(self, _step: str) -> None:
        """See `CaptureSource.stamp`. Returns None: the source is read live."""

    def cells(self, _step: str) -> Iterator[Cell]:
        """See `QueueSource.cells`."""
        client, table = self._client, self._client.queue_table
        with client.errors(f"table {table}"):
            name = client.table_name(table)
            there, of_hbase = bool(client.admin.tableExists(name)), bool(name.isSystemTable())
        if not there:
            return
        # of a table outside the namespace hbase, HBase leaves out what the user may not read, and does not say so
        if not of_hbase and not self._may_read(table):
            raise UsageError(
                f"{client.where}: this user may not read the whole table {table}, and HBase would leave out the rest "
                f"without a word. Give the user the right, {GRANT.format(read_right(table))}"
            )
        yield from scan_cells(client, table)

    def _may_read(self, table: str) -> bool:
        """Returns whether the user has the right READ on a whole table; true where HBase checks no rights."""
        client = self._client
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
