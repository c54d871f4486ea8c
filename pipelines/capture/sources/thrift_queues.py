"""Scans `hbase:replication` through HBase's Thrift gateway (protocol 1), with happybase."""

from collections.abc import Iterator
from typing import Any

import happybase

from pipelines.capture.ports import LiveSource
from pipelines.common.errors import UnavailableError
from pipelines.hbase.replication_queues import Cell

_ROWS_AT_A_TIME = 500
_CELLS_OF_A_ROW_AT_A_TIME = 1_000


class ThriftQueues(LiveSource):
    """Scans the queue table through the Thrift gateway; a `QueueSource`.

    It supports neither Kerberos nor TLS; use `hbase` for such clusters.

    Args:
        host: the host of the gateway.
        port: the port of the gateway, 9090 by default in HBase.
        transport: the transport with which the gateway was started: `buffered` or `framed`.
        protocol: the protocol with which the gateway was started: `binary` or `compact`.
        timeout_ms: the limit of each call.
        table: the name of the table with the replication queues.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        transport: str = "buffered",
        protocol: str = "binary",
        timeout_ms: int = 60_000,
        table: str = "hbase:replication",
    ) -> None:
        self._options: dict[str, Any] = {
            "host": host,
            "port": port,
            "transport": transport,
            "protocol": protocol,
            "timeout": timeout_ms,
        }
        self._table = table
        self._where = f"Thrift gateway {host}:{port}"

    def cells(self, _step: str) -> Iterator[Cell]:
        """See `QueueSource.cells`. Each pass opens its own connection, because gateways close idle ones."""
        connection = None
        try:
            connection = happybase.Connection(**self._options)
            rows = connection.table(self._table).scan(
                batch_size=_ROWS_AT_A_TIME, scan_batching=_CELLS_OF_A_ROW_AT_A_TIME
            )
            for row, columns in rows:
                cells = [(*column.partition(b":")[::2], value) for column, value in columns.items()]
                for family, qualifier, value in sorted(cells):  # Thrift returns a map, whose order is not guaranteed
                    yield Cell(row, family, qualifier, value)
        except Exception as error:  # what answers in another protocol ends in errors of any class
            if "TableNotFoundException" in _message(error):
                return
            raise UnavailableError(
                f"{self._where}, table {self._table}: {_message(error)}; check host, port, transport and protocol, "
                "then try again"
            ) from error
        finally:
            if connection is not None:
                connection.close()


def _message(error: Exception) -> str:
    """Returns the first line of an error; Thrift's own errors keep Java's text in `message`, as bytes or as text."""
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)[:300]
