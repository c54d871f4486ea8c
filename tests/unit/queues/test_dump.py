"""dump-queues without Spark: what a queue holds, and the words of HBase's tool."""

from collections.abc import Sequence
from dataclasses import fields, replace

import pytest
from pyspark.sql.types import StructType

from jobs.demo.excerpts import queue_lines
from pipelines.common.errors import MalformedError
from pipelines.decide.rule.cluster_view import merge_passes
from pipelines.hbase.peer_rules import PeerRule
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell, parse_queue_cells
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import parse_wal_name
from pipelines.hbase.zookeeper.tree import Znode, parse_tree
from pipelines.lake.twins import twins_of
from pipelines.queues.dump.rows import (
    DumpedQueue,
    DumpedWal,
    QueueDump,
    hfile_ref_rows,
    peer_rows,
    queue_rows,
    wal_rows,
)
from pipelines.queues.dump.table_queues import table_dump
from pipelines.queues.dump.text import distributed_text, human_size, peers_text, table_text, znodes_text
from pipelines.queues.dump.zookeeper_queues import zookeeper_dump
from pipelines.queues.wals.rows import InspectedFile
from pipelines.snapshot.model import complete_before
from pipelines.snapshot.other_families import hfile_refs_of
from schemas.dumped_hfile_refs import DUMPED_HFILE_REFS
from schemas.dumped_peers import DUMPED_PEERS
from schemas.dumped_queues import DUMPED_QUEUES
from schemas.dumped_wals import DUMPED_WALS
from schemas.registry import DUMP_TABLES
from schemas.table import Table, identity
from tests.labs.small_cluster import D1, H1, H2, NOW, group, row, small

ROOT = "hdfs://ns1/hbase"
ONE = Peer("1", "ENABLED", "zk1:2181:/hbase", rule=PeerRule())
NOT_STARTED = "0 (not started or nothing to replicate)"
RS1 = ServerName("rs1", 12345, 123)
BASE = "/hbase/replication"
RS = f"{BASE}/rs"


def file(path: str, length: int = 1) -> InspectedFile:
    name = parse_wal_name(path.rpartition("/")[2])
    assert name is not None
    return InspectedFile(path, name, length)


def of_table(
    cells: Sequence[Cell],
    files: Sequence[InspectedFile] = (),
    peers: Sequence[Peer] = (ONE,),
    online: frozenset[ServerName] | None = frozenset({H1, RS1}),
) -> QueueDump:
    queued = parse_queue_cells(cells)
    return table_dump(queued, merge_passes([queued]), hfile_refs_of(cells), files, peers, online, complete_before(NOW))


def of_tree(znodes: Sequence[Znode], listed: dict[str, tuple[str, int]], *peers: Peer) -> QueueDump:
    return zookeeper_dump(parse_tree(znodes), listed, peers, frozenset({H1}), complete_before(NOW))


def positions(queue: DumpedQueue) -> list[tuple[str, int]]:
    return [(wal.path or wal.wal, wal.position) for wal in queue.pending]


# what a queue holds


def test_the_case_of_hbases_own_test_with_names_as_hbase_writes_them() -> None:
    """TestDumpReplicationQueues (facts 12.5) stores a full path as the WAL's name, which no cluster does."""
    wals = [f"{group(RS1)}.{number}" for number in (10, 11, 12, 15)]
    dump = of_table([row(f"1-{RS1}", group(RS1), wals[0], 123)], [file(f"WALs/{RS1}/{wal}") for wal in wals])
    text = distributed_text(dump, ROOT, sizes=False)
    assert "    Queue id: 1-rs1,12345,123\n" in text
    assert "    Number of WALs in replication queue: 4\n" in text
    lines = [line.rpartition("/")[2] for line in text.splitlines() if line.startswith(" Replication position")]
    assert lines == [f"{wals[0]}: 123", *(f"{wal}: {NOT_STARTED}" for wal in wals[1:])]


def test_each_file_is_held_to_the_offset_of_its_own_group() -> None:
    """HBase 3 holds every file to every group's offset, and so lists it once for each."""
    a, b = (f"{group(H1)}.{group(H1)}.regiongroup-{number}" for number in (0, 1))
    files = [file(f"oldWALs/{one}.{number}") for one in (a, b) for number in (10, 20, 30)]
    dump = of_table([row(f"1-{H1}", a, f"{a}.10", 7), row(f"1-{H1}", b, f"{b}.20", -1)], files)
    (queue,) = dump.queues
    assert positions(queue) == [
        (f"oldWALs/{a}.10", 7),
        (f"oldWALs/{a}.20", 0),
        (f"oldWALs/{a}.30", 0),
        (f"oldWALs/{b}.30", 0),
    ]
    assert [wal.wal for wal in queue.wals if not wal.pending] == [f"{b}.20"], "finished, and shown in the tables"


def test_a_group_without_an_offset_is_all_before_the_queue() -> None:
    files = [file(f"oldWALs/{group(H1)}.{number}") for number in (10, 20)]
    placeholder = of_table([row(f"1-{H1}", str(H1), "", 0)], files)
    assert positions(placeholder.queues[0]) == [(one.path, 0) for one in files]
    assert f"rs/{H1}/1/: 0\n" in table_text(placeholder)


def test_wals_that_replication_never_reads_are_not_counted() -> None:
    """HBase 3 counts those of hbase:meta and of hbase:replication itself."""
    names = (f"{group(H1)}.meta.20.meta", f"{group(H1)}.rep.20", f"{group(H1)}.20")
    dump = of_table([row(f"1-{H1}", group(H1), f"{group(H1)}.10", -1)], [file(f"WALs/{H1}/{one}") for one in names])
    assert positions(dump.queues[0]) == [(f"WALs/{H1}/{names[2]}", 0)]


def test_a_wal_that_is_nowhere_is_said() -> None:
    dump = of_table([row(f"1-{H1}", group(H1), f"{group(H1)}.10", 5)])
    text = distributed_text(dump, ROOT, sizes=True)
    assert f" Replication position for {group(H1)}/{group(H1)}.10: 5\n" in text
    assert "    ERROR: There are 1 WALs not found!!!\n" in text
    assert "ERROR" not in distributed_text(dump, ROOT, sizes=False)


@pytest.mark.parametrize(("later", "missing"), [(-1, 1), (0, 0)])
def test_a_wal_that_may_be_younger_than_the_listing_is_not_missing(later: int, missing: int) -> None:
    young = f"{group(H1)}.{complete_before(NOW) + later}"
    znodes = [Znode(f"{RS}{path}", b"", 1) for path in ("", f"/{H1}", f"/{H1}/1", f"/{H1}/1/{young}")]
    for dump in (of_table([row(f"1-{H1}", group(H1), young, 5)]), of_tree(znodes, {}, ONE)):
        (queue,) = dump.queues
        assert (queue.missing, [wal.wal for wal in queue.pending]) == (missing, [young])
        assert ("WALs not found" in distributed_text(dump, ROOT, sizes=True)) == bool(missing)


def test_claimed_queues_removed_peers_and_dead_servers() -> None:
    wal = f"oldWALs/{group(D1)}.10"
    cells = [row(f"1-{H1}/{D1}", group(D1), f"{group(D1)}.10", 3), row(f"9-{H2}", group(H2), f"{group(H2)}.5", -1)]
    dump = of_table(cells, [file(wal, 1536)])
    claimed, deleted = dump.queues
    assert (claimed.recovered, claimed.source, claimed.dead_servers) == (True, str(D1), (str(D1),))
    assert (deleted.peer_exists, deleted.peer_state, deleted.owner_online) == (False, None, False)
    assert distributed_text(dump, ROOT, sizes=True) == (
        f"Dumping replication queue info for RegionServer: [{H1}]\n"
        f"    Queue id: 1-{H1}/{D1}\n"
        "    PeerID: 1\n"
        "    Recovered: true\n"
        f"    Dead RegionServer: {D1}\n"
        "    Was deleted: false\n"
        "    Number of WALs in replication queue: 1\n"
        f" Replication position for {group(D1)}/{ROOT}/{wal}: 3\n"
        "    Total size of WALs on HDFS for this queue: 1.5 K\n"
        f"Dumping replication queue info for RegionServer: [{H2}]\n"
        f"    Queue id: 9-{H2}\n"
        "    PeerID: 9\n"
        "    Recovered: false\n"
        "    No dead RegionServer found in this queue.\n"
        "    Was deleted: true\n"
        "    Number of WALs in replication queue: 0\n"
        "    Total size of WALs on HDFS for this queue: 0\n"
        "\n"
        "Found 1 deleted queues, run hbck -fixReplication in order to remove the deleted replication queues\n"
        f"    {H2}/9-{H2}\n"
        "Found 1 dead regionservers, restart one regionserver to transfer the queues of dead regionservers\n"
        f"    {H2}\n"
        "Dumping all peers's number of WALs in replication queue\n"
        "    PeerId: 1 , sizeOfLogQueue: 1\n"
        "    PeerId: 9 , sizeOfLogQueue: 0\n"
        "    Total size of WALs on HDFS: 1.5 K\n"
    )


def test_hfile_refs_are_those_of_their_own_row() -> None:
    """HBase 3 begins a scan at row `1` and so shows those of peer 10 under peer 1 as well."""
    cells = [Cell(peer, b"hfileref", name, b"") for peer, name in ((b"1", b"a"), (b"1", b"b"), (b"10", b"c"))]
    dump = of_table(cells)
    assert table_text(dump).endswith("hfile-refs: \nhfile-refs/1/a,b\nhfile-refs/10/c\n")
    assert [(one["peer_id"], one["peer_exists"]) for one in hfile_ref_rows(dump)] == [
        ("1", True), ("1", True), ("10", False)
    ]  # fmt: skip
    with pytest.raises(MalformedError, match="hfileref"):
        of_table([Cell(b"1", b"hfileref", b"\xff", b"")])


def test_records_of_the_table() -> None:
    cells = [
        row(f"1-{H1}", group(H1), f"{group(H1)}.10", 123),
        row(f"1-{H1}/{D1}", group(D1), f"{group(D1)}.10", -1),
    ]
    assert table_text(of_table(cells)) == (
        "Dumping replication info via replication table.\n"
        "peers: \n"
        "peers/1: zk1:2181:/hbase\n"
        "peers/1/peer-state: ENABLED\n"
        "rs: \n"
        f"rs/{group(H1)}/1/{group(H1)}.10: 123\n"
        f"rs/{group(D1)}/1-{H1}/{D1}/{group(D1)}.10: -1\n"
        "hfile-refs: \n"
    )


# ZooKeeper


def queue_znodes(*paths: tuple[str, bytes]) -> list[Znode]:
    root = Znode(RS, b"", 1)
    return [root, *(Znode(f"{RS}/{path}", data, 1) for path, data in paths), root]


def test_records_of_zookeeper_in_the_order_of_a_stack() -> None:
    znodes = queue_znodes(
        (str(H1), b""),
        (f"{H1}/1", b""),
        (f"{H1}/1/w.1", bytes.fromhex("5042554608bb03")),
        (f"{H1}/1/w.2", b""),
        (f"{H1}/1-{D1}", b""),
        (f"{H1}/1-{D1}/w.3", b"bad"),
        (str(H2), b""),
    )
    refs = [Znode(f"{BASE}/hfile-refs/1/{name}", b"", 0) for name in ("a", "b")]
    dump = of_tree([*znodes, *refs], {}, ONE)
    assert znodes_text(dump, [*znodes, *refs]) == (
        "Dumping replication znodes via ZooKeeper:\n"
        f"{BASE}: \n"
        f"{BASE}/hfile-refs: \n"
        f"{BASE}/hfile-refs/1: a, b\n"
        f"{BASE}/peers: \n"
        f"{BASE}/peers/1: zk1:2181:/hbase\n"
        f"{BASE}/peers/1/peer-state: ENABLED\n"
        f"{RS}: \n"
        f"{RS}/{H2}: \n"
        f"{RS}/{H1}: \n"
        f"{RS}/{H1}/1-{D1}: \n"
        f"{RS}/{H1}/1-{D1}/w.3: \n"
        f"{RS}/{H1}/1: \n"
        f"{RS}/{H1}/1/w.2: \n"
        f"{RS}/{H1}/1/w.1: 443\n"
    )
    assert dump.dead_replicators == (str(H2),), "a server without a queue counts too"


def test_a_claimed_queue_in_zookeeper_keeps_its_positions() -> None:
    """HBase 2 asks for them below the peer's id, where there are none."""
    znodes = queue_znodes((f"{H1}/1-{D1}-{H2}/w.2", b""), (f"{H1}/1-{D1}-{H2}/w.1", bytes.fromhex("5042554608bb03")))
    text = distributed_text(of_tree(znodes, {"w.1": ("oldWALs/w.1", 2048)}, ONE), ROOT, sizes=True)
    assert f"    Queue znode: 1-{D1}-{H2}\n" in text
    assert f"    Dead RegionServers: [{D1}, {H2}]\n" in text
    assert f"    Replication position for w.1: 443\n    Replication position for w.2: {NOT_STARTED}\n" in text
    assert "    Total size of WALs on HDFS for this queue: 2.0 K\n" in text
    assert "    ERROR: There are 1 WALs not found!!!\n" in text


# words


def test_peers_as_hbase_prints_its_maps() -> None:
    rule = PeerRule(frozenset({"n2", "n1"}), {"t2": ("f", "g"), "t1": ()})
    two = Peer("2", "DISABLED", None, "a.Endpoint", config={"b": "1", "a": "2"}, rule=rule)
    one_entry = Peer("3", "ENABLED", config={"a": "2"})
    dump = of_table([], peers=(one_entry, two, ONE))
    assert peers_text(dump.peers) == (
        "Dumping replication peers and configurations:\n"
        "Peer: 1\n    State: ENABLED\n    Cluster Name: zk1:2181:/hbase\n    Replication Endpoint: null\n"
        "    Peer Table CFs: null\n    Peer Namespaces: null\n"
        "Peer: 2\n    State: DISABLED\n    Cluster Name: null\n    Replication Endpoint: a.Endpoint\n"
        "    Peer Configuration: {a=2, b=1}\n    Peer Table CFs: {t1=null, t2=[f, g]}\n    Peer Namespaces: [n1, n2]\n"
        "Peer: 3\n    State: ENABLED\n    Cluster Name: null\n    Replication Endpoint: null\n"
        "    Peer Table CFs: (not in the snapshot)\n    Peer Namespaces: (not in the snapshot)\n"
    )


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0"),
        (1023, "1023"),
        (1024, "1.0 K"),
        (1280, "1.3 K"),  # 1.25: Java rounds half up
        (1310720, "1.3 M"),
        ((1 << 30) - 1, "1024.0 M"),
        (5 << 40, "5.0 T"),
    ],
)
def test_sizes_as_hbase_prints_them(size: int, text: str) -> None:
    assert human_size(size) == text


# tables


def without_twins(table: Table) -> list[str]:
    """The columns that a row brings itself."""
    return [name for name in table.schema.names if name not in twins_of(table)]


def test_rows_are_those_of_the_tables() -> None:
    wal = DumpedWal(group(H1), f"{group(H1)}.10", None, None, True, None)
    dump = of_table([row(f"1-{H1}", group(H1), wal.wal, 5), Cell(b"1", b"hfileref", b"a", b"")])
    made = [
        (DUMPED_PEERS, peer_rows(dump)),
        (DUMPED_QUEUES, queue_rows(dump)),
        (DUMPED_WALS, wal_rows(dump)),
        (DUMPED_HFILE_REFS, hfile_ref_rows(dump)),
    ]
    assert [table for table, _ in made] == list(DUMP_TABLES)
    own = StructType(identity()).names
    for table, (found,) in made:
        assert [*own, *found] == without_twins(table)
    assert [field.name for field in fields(DumpedWal)] == without_twins(DUMPED_WALS)[len(own) + 4 :]
    assert replace(wal, offset=-1).position == 0


def test_the_demo_shows_a_claimed_queue_without_its_wals() -> None:
    lines = queue_lines(small("small"), "1")
    assert lines[:2] == [f"Dumping replication queue info for RegionServer: [{H1}]", f"    Queue id: 1-{H1}/{D1}"]
    assert lines[-2:] == [
        "    Number of WALs in replication queue: 2",
        "    Total size of WALs on HDFS for this queue: 384",
    ]
    assert queue_lines(small("small"), "2")[3] == "    Recovered: false"
