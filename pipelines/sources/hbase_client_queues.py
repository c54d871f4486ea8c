"""`hbase:replication` scanned by HBase's own client in Spark's JVM; the way for Kerberos clusters."""

import base64
import json
from collections.abc import Iterator

from pipelines.domain.replication_queues import Cell
from pipelines.domain.snapshot import Step
from pipelines.hadoop_jvm import JavaObject, java_errors
from pipelines.sources.hbase_client import HBaseClient

_ROWS_AT_A_TIME = 500
_CELLS_OF_A_ROW_AT_A_TIME = 1_000
# everything a Result would show as a JSON property beside `row` and `noVersionMap`
_OTHER_PROPERTIES = ("map", "exists", "stats", "cursor", "stale", "partial", "empty", "cursorResult", "metrics")


class HBaseClientQueues:
    """`QueueSource` over HBase's client.

    A call through py4j for each cell would take a second for 3,000 of them; Jackson, which Spark ships, turns a batch
    of rows into JSON with base64 inside the JVM.
    """

    def __init__(self, client: HBaseClient) -> None:
        self._client = client

    def stamp(self, _step: str) -> Step | None:
        """Read now."""
        return None

    def cells(self, _step: str) -> Iterator[Cell]:
        """See `QueueSource.cells`."""
        client = self._client
        name = client.table_name(client.queue_table)
        with java_errors(f"{client.where}, table {client.queue_table}"):
            if not client.admin.tableExists(name):
                return
            mapper = self._mapper()
            scan = client.hadoop.view.org.apache.hadoop.hbase.client.Scan()
            scan.setCaching(_ROWS_AT_A_TIME)
            scan.setBatch(_CELLS_OF_A_ROW_AT_A_TIME)
            scan.setCacheBlocks(False)
            scanner = client.connection.getTable(name).getScanner(scan)
        try:
            while True:
                with java_errors(f"{client.where}, scan of {client.queue_table}"):
                    rows = json.loads(str(mapper.writeValueAsString(scanner.next(_ROWS_AT_A_TIME))))
                if not rows:
                    return
                for row in rows:
                    yield from _cells(row)
        finally:
            with java_errors(f"{client.where}, scan of {client.queue_table}"):
                scanner.close()

    def _mapper(self) -> JavaObject:
        hadoop = self._client.hadoop
        names = hadoop.gateway.new_array(hadoop.view.java.lang.String, len(_OTHER_PROPERTIES))
        for index, name in enumerate(_OTHER_PROPERTIES):
            names[index] = name
        jackson = hadoop.view.com.fasterxml.jackson
        ignored = jackson.annotation.JsonIgnoreProperties.Value.forIgnoredProperties(names)
        mapper = jackson.databind.ObjectMapper()
        mapper.configOverride(self._client.java_class("org.apache.hadoop.hbase.client.Result")).setIgnorals(ignored)
        return mapper


def _cells(row: dict[str, object]) -> Iterator[Cell]:
    """The maps are sorted by bytes in Java, and so in scan order."""
    key, families = row["row"], row["noVersionMap"]
    if set(row) != {"row", "noVersionMap"} or not isinstance(key, str) or not isinstance(families, dict):
        raise TypeError(f"a row in a form that HBase's client does not have: {sorted(row)}")
    for family, columns in families.items():
        for qualifier, value in columns.items():
            yield Cell(*(base64.b64decode(part) for part in (key, family, qualifier, value)))
