"""One line of a reading of the queues: a cell of `hbase:replication`, or a znode."""

from typing import Annotated

from pydantic import TypeAdapter

from pipelines.common.forms import Base64, Form, Int64, Text, WrittenAs
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.zookeeper.tree import Znode


class _Cell(Form):
    row: Base64
    family: Base64
    qualifier: Base64
    value: Base64


class _Znode(Form):
    path: Text
    data: Base64
    cversion: Int64


CELL: TypeAdapter[Cell] = TypeAdapter(Annotated[Cell, WrittenAs(_Cell)])
"""The inverse of `pipelines.snapshot.writer.cell_document`."""
ZNODE: TypeAdapter[Znode] = TypeAdapter(Annotated[Znode, WrittenAs(_Znode)])
"""The inverse of `pipelines.snapshot.writer.znode_document`."""
