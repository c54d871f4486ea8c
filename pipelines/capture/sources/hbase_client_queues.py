"""Scans `hbase:replication` with HBase's own client in Spark's JVM; this source supports Kerberos."""

from collections.abc import Iterator

from pipelines.capture.sources.hbase_client import HBaseClient
from pipelines.capture.sources.hbase_client_scan import scan_cells
from pipelines.hbase.replication_queues import Cell


class HBaseClientQueues:
    """Scans the queue table with HBase's client; a `QueueSource`."""

    def __init__(self, client: HBaseClient) -> None:
        self._client = client

    def stamp(self, _step: str) -> None:
        """See `CaptureSource.stamp`. Returns None: the source is read live."""

    def cells(self, _step: str) -> Iterator[Cell]:
        """See `QueueSource.cells`."""
        client = self._client
        with client.errors(f"table {client.queue_table}"):
            there = bool(client.admin.tableExists(client.table_name(client.queue_table)))
        if there:
            yield from scan_cells(client, client.queue_table)
