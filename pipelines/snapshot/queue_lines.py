"""One line of a reading of the queues: a cell of `hbase:replication`, or a znode."""

import base64
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
"""The inverse of `cell_document`."""
ZNODE: TypeAdapter[Znode] = TypeAdapter(Annotated[Znode, WrittenAs(_Znode)])
"""The inverse of `znode_document`."""


def cell_document(cell: Cell) -> dict[str, str]:
    """Returns one line of `queues-*.jsonl` for queues in `hbase:replication`."""
    names = ("row", "family", "qualifier", "value")
    return {name: base64.b64encode(getattr(cell, name)).decode("ascii") for name in names}


def znode_document(znode: Znode) -> dict[str, str | int]:
    """Returns one line of `queues-*.jsonl` for queues in ZooKeeper."""
    data = base64.b64encode(znode.data).decode("ascii")
    return {"path": znode.path, "data": data, "cversion": znode.cversion}
