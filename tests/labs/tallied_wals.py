"""WALs and queues of one server, as `inspect-wals` tallies them."""

import io
from dataclasses import replace

from pipelines.decide.rule.cluster_view import MergedQueueRow
from pipelines.hbase.peer_rules import PeerRule
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import GroupOffset, QueueId
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import encode_prefix, parse_wal_name
from pipelines.queues.wals.rows import GONE, InspectedFile
from pipelines.queues.wals.tally import WalContents, tally_wal
from tests.labs.places import TESTS
from tests.labs.wal_files import Cell, Edit, cell, ends, wal

GOLDEN = TESTS / "golden" / "hbase"
SERVER = ServerName("h1.example.org", 16020, 1_789_000_000_000)
OTHER = ServerName("h2.example.org", 16020, 1_789_000_000_000)
GROUP = encode_prefix(str(SERVER))
EDITS = (Edit("t"), Edit("t", [Cell("f"), Cell("g")], {"f": 1}), Edit("ns:u", [Cell("f")], {}))
BOUNDARIES = ends(*EDITS)
ALL = Peer("1", "ENABLED", replicate_all=True, rule=PeerRule())
ONLY_U = Peer("2", "DISABLED", replicate_all=False, rule=PeerRule(tables={"ns:u": ()}))
DATA = wal(*EDITS)
MANY = [Edit("t")] * 1_000
STARTS = ends(*MANY)
KEY_LENGTH = STARTS[500] + 2
"""Where the region's length is in the key of entry 500."""
CELL_LENGTH = STARTS[501] - len(cell(Cell("f")))
OPEN, CLOSED = wal(*MANY, trailer=b""), wal(*MANY)


def read(data: bytes, *cuts: int) -> WalContents:
    return tally_wal(io.BytesIO(data).read, cuts)


def inspected(
    number: int, data: bytes | None, *cuts: int, folder: str = "oldWALs", group: str = GROUP
) -> InspectedFile:
    name = parse_wal_name(f"{group}.{number}")
    assert name is not None
    file = InspectedFile(f"{folder}/{name.name}", name, len(data or b""))
    return replace(file, fault=GONE) if data is None else replace(file, contents=read(data, *cuts))


def queue(offset: GroupOffset | None, peer: str = "1", owner: ServerName = SERVER) -> MergedQueueRow:
    return MergedQueueRow(QueueId(peer, owner), {GROUP: offset} if offset else {})
