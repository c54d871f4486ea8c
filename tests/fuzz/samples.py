"""What several parsers of the fuzzing tests read."""

import base64
import json
from typing import Any

from pipelines.hbase.peer_rules import RULE_KEY
from pipelines.hbase.procedures import ADD_PEER
from pipelines.hbase.replication_queues import Cell
from pipelines.snapshot.model import Membership, WalDirectory
from pipelines.snapshot.snapshot_json import snapshot_document
from tests.models.oddities import MALFORMED_CELLS, OTHER_FAMILIES, TRAP_SERVERS
from tests.strategies.clusters import MASTER, NOW, snapshot_of

ROOT = "hdfs://ns1/hbase"
SERVER = str(TRAP_SERVERS[0])


def cell_line(cell: Cell) -> str:
    parts = (("row", cell.row), ("family", cell.family), ("qualifier", cell.qualifier), ("value", cell.value))
    return json.dumps({name: base64.b64encode(part).decode() for name, part in parts})


def _snapshot() -> dict[str, Any]:
    server = TRAP_SERVERS[0]
    first = Membership(MASTER, frozenset({server}), frozenset({TRAP_SERVERS[1]}), (WalDirectory(server, 2, NOW - 5),))
    document = snapshot_document(snapshot_of(("1", "2"), first, Membership(MASTER, frozenset({server}), frozenset())))
    document["contents"] = {"files/part-00000.parquet": {"rows": 3, "sha256": "0" * 64}}
    rule = {"namespaces": ["n"], "tables": {"t": ["f"]}, "exclude_tables": {"ns:u": []}}
    document["peers"][0]["config"] = {"a": "b", RULE_KEY: json.dumps(rule)}
    document["backup"] = {"enabled": True, "boundaries": {"h1.example.org:16020": NOW}}
    return document


SNAPSHOT: dict[str, Any] = _snapshot()
CELLS = (*MALFORMED_CELLS, *OTHER_FAMILIES, Cell(f"1-{SERVER}".encode(), b"queue", b"g", b"g.1:0"))
LS_LINES = (
    f"drwxr-xr-x   - hbase hbase          0 2026-11-21 02:00 {ROOT}/WALs/{SERVER}",
    f"-rw-r--r--   3 hbase hbase         83 2026-11-21 02:00 {ROOT}/WALs/{SERVER}/h1%2C16020%2C5.17",
    "-rw-r--r--+  3 hbase big data users 7 2026-10-25 02:30 /hbase/oldWALs/h1%2C16020%2C5.16",
)
PROCEDURES = [
    {"className": "org.apache.hadoop.hbase.master.procedure.ServerCrashProcedure", "state": "RUNNABLE",
     "stateMessage": [{"serverName": {"hostName": "h1", "port": 16020, "startCode": "5"}}]},
    {"className": f"org.apache.hadoop.hbase.master.replication.{ADD_PEER}", "state": "SUCCESS"},
]  # fmt: skip
