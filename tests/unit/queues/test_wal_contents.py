"""What a file holds and what a queue has before it: offsets, peers' rules, sums."""

import io
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.common.errors import SnapshotError
from pipelines.common.forms import value_of
from pipelines.decide.rule.cluster_view import MergedQueueRow
from pipelines.hbase.peer_rules import PeerRule, replicates_family, rule_document
from pipelines.hbase.peers import INTER_CLUSTER_ENDPOINT
from pipelines.hbase.replication_queues import GroupOffset, QueueId
from pipelines.hbase.wal_format.reader import WalEnd, WalReader
from pipelines.queues.needed_wals import smallest_needed_timestamps
from pipelines.queues.wals.findings import wal_findings
from pipelines.queues.wals.offsets import OffsetStatus, offset_status
from pipelines.queues.wals.pending import by_group, cuts_of, queue_edits
from pipelines.queues.wals.rows import (
    file_row,
    table_rows,
)
from pipelines.snapshot.peer_forms import RULE
from tests.labs.tallied_wals import (
    ALL,
    BOUNDARIES,
    CELL_LENGTH,
    CLOSED,
    DATA,
    EDITS,
    GOLDEN,
    GROUP,
    KEY_LENGTH,
    ONLY_U,
    OPEN,
    OTHER,
    SERVER,
    STARTS,
    inspected,
    queue,
    read,
)
from tests.labs.wal_files import CODEC, TRAILER, Cell, Edit, bulk_load, damaged, ends, header, wal


def said_by_hbase() -> list[tuple[str, int, list[int] | None]]:
    """File, position and the sequence ids that HBase's reader gives from there; None where it throws."""
    rows = re.findall(r"^(plain|comp) from (\d+)\t(.*)$", (GOLDEN / "wal-truncation.tsv").read_text(), re.MULTILINE)
    return [
        (f"{kind}.1", int(position), json.loads(answer) if answer.startswith("[") else None)
        for kind, position, answer in rows
    ]


@pytest.mark.parametrize(("name", "position", "ids"), said_by_hbase())
def test_an_offset_is_where_hbase_can_go_on(name: str, position: int, ids: list[int] | None) -> None:
    contents = read((GOLDEN / "wals" / name).read_bytes(), position)
    pending = sum(share.entries for share in contents.shares if share.cut >= position)
    if position == 0:  # HBase's replication reads from behind the header then, and does not seek as was recorded
        assert (offset_status(0, contents), pending) == (OffsetStatus.OK, 5)
    elif ids is None:
        assert offset_status(position, contents) is OffsetStatus.MID_ENTRY
    else:
        assert offset_status(position, contents) is (OffsetStatus.OK if ids else OffsetStatus.AT_END)
        assert pending == len(ids)


def test_the_recorded_positions_are_all_there() -> None:
    assert len(said_by_hbase()) == 11


def test_the_status_of_every_offset_of_a_closed_file() -> None:
    data = wal(*EDITS)
    expected = dict.fromkeys(range(len(data) + 3), OffsetStatus.MID_ENTRY)
    expected |= dict.fromkeys((0, *BOUNDARIES), OffsetStatus.OK)
    expected |= dict.fromkeys((BOUNDARIES[-1], len(data)), OffsetStatus.AT_END)
    expected |= dict.fromkeys((len(data) + 1, len(data) + 2), OffsetStatus.BEYOND_EOF)
    assert {offset: offset_status(offset, read(data, offset)) for offset in expected} == expected


@pytest.mark.parametrize(
    ("data", "offset", "status"),
    [
        (b"", 0, OffsetStatus.NO_HEADER),
        (b"", 7, OffsetStatus.BEYOND_EOF),
        (header()[:-1], 0, OffsetStatus.NO_HEADER),
        (header(), 0, OffsetStatus.OK),
        (header(), len(header()), OffsetStatus.OK),
        (wal(*EDITS), -1, OffsetStatus.FINISHED),
        (wal(*EDITS)[:-12], BOUNDARIES[2], OffsetStatus.AT_END),
        (wal(*EDITS)[:-12], BOUNDARIES[2] + 1, OffsetStatus.MID_ENTRY),
        (header((2, b"key"), codec=CODEC.replace("WALCell", "SecureWALCell")) + b"?", 300, OffsetStatus.UNREADABLE),
        (header(codec="org.example.Codec") + b"?" * 400, 300, OffsetStatus.UNREADABLE),
        (wal(EDITS[0], trailer=b"\x07garbage" * 9), BOUNDARIES[1], OffsetStatus.OK),
        (wal(EDITS[0], trailer=b"\x07garbage" * 9), BOUNDARIES[1] + 4, OffsetStatus.UNREADABLE),
    ],
)
def test_offsets_in_odd_files(data: bytes, offset: int, status: OffsetStatus) -> None:
    found = offset_status(offset, read(data, offset))
    if status is OffsetStatus.UNREADABLE and offset > len(data):
        assert found in {OffsetStatus.UNREADABLE, OffsetStatus.BEYOND_EOF}
    else:
        assert found is status


@pytest.mark.parametrize(
    ("data", "ending"),
    [
        (damaged(CLOSED, KEY_LENGTH, 0x7F), WalEnd.CORRUPT),
        (damaged(OPEN, KEY_LENGTH, 0x7F), WalEnd.CORRUPT),
        (damaged(CLOSED, CELL_LENGTH, 0x7F), WalEnd.CORRUPT),
        (damaged(OPEN, CELL_LENGTH, 0x7F), WalEnd.TORN),
        (damaged(CLOSED, STARTS[500], 0xFF, 0x7F), WalEnd.CORRUPT),
    ],
    ids=["key", "key of an open file", "cell", "cell of an open file", "length of a key"],
)
def test_damage_in_the_middle_is_no_torn_end(data: bytes, ending: WalEnd) -> None:
    contents = read(data, STARTS[700])
    assert (contents.ending, contents.entries, contents.good_end) == (ending, 500, STARTS[500])
    if ending is WalEnd.CORRUPT:
        assert contents.problem is not None
        assert f"entry at {STARTS[500]}" in contents.problem
        assert offset_status(STARTS[700], contents) is OffsetStatus.UNREADABLE, "perhaps an entry begins there"


# rules of peers


@pytest.mark.parametrize(
    ("replicate_all", "rule", "wanted"),
    [
        (True, PeerRule(), {"t:f", "t:g", "ns:u:f", "hbase:acl:f"}),
        (True, PeerRule(exclude_namespaces=frozenset({"ns"})), {"t:f", "t:g", "hbase:acl:f"}),
        (True, PeerRule(exclude_namespaces=frozenset({"default"})), {"ns:u:f", "hbase:acl:f"}),
        (True, PeerRule(exclude_tables={"t": ()}), {"ns:u:f", "hbase:acl:f"}),
        (True, PeerRule(exclude_tables={"t": ("g",)}), {"t:f", "ns:u:f", "hbase:acl:f"}),
        (True, PeerRule(namespaces=frozenset({"ns"})), {"t:f", "t:g", "ns:u:f", "hbase:acl:f"}),
        (False, PeerRule(), set()),
        (False, PeerRule(namespaces=frozenset({"ns"})), {"ns:u:f"}),
        (False, PeerRule(tables={"t": ()}), {"t:f", "t:g"}),
        (False, PeerRule(tables={"t": ("g",)}), {"t:g"}),
        (False, PeerRule(namespaces=frozenset({"default"}), tables={"t": ("g",)}), {"t:f", "t:g"}),
        (None, PeerRule(), {"t:f", "t:g", "ns:u:f", "hbase:acl:f"}),
        (False, None, {"t:f", "t:g", "ns:u:f", "hbase:acl:f"}),
    ],
)
def test_what_a_peer_wants(replicate_all: bool | None, rule: PeerRule | None, wanted: set[str]) -> None:
    asked = [("t", "f"), ("t", "g"), ("ns:u", "f"), ("hbase:acl", "f"), ("hbase:meta", "info"), ("hbase:quota", "q")]
    assert {
        f"{table}:{family}" for table, family in asked if replicates_family(replicate_all, rule, table, family)
    } == wanted


def test_a_rule_is_written_and_read() -> None:
    rule = PeerRule(frozenset({"a", "b"}), {"t": ("f", "g")}, frozenset({"c"}), {"ns:u": ()})
    assert value_of(RULE, rule_document(rule), "peer") == rule
    assert value_of(RULE, {"tables": {"default:t": []}}, "peer") == PeerRule(tables={"t": ()})


@pytest.mark.parametrize(
    "document", [{"namespace": []}, {"tables": ["t"]}, {"tables": {"t": "f"}}, {"namespaces": [1]}]
)
def test_a_rule_of_another_form_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(SnapshotError):
        value_of(RULE, document, "peer")


# sums


TABLES = st.sampled_from(["t", "ns:u", "hbase:meta"])
FAMILIES = st.sampled_from(["f", "g", "METAFAMILY"])
SOME_EDITS = st.lists(
    st.builds(
        Edit,
        TABLES,
        st.lists(st.builds(Cell, FAMILIES, st.binary(max_size=9)), max_size=4),
        st.dictionaries(st.sampled_from(["f", "g"]), st.sampled_from([0, 1, 2]), max_size=2),
        st.integers(0, 2),
    ),
    max_size=6,
)


@given(SOME_EDITS, st.data())
def test_every_byte_and_entry_is_counted_once(edits: list[Edit], data: st.DataObject) -> None:
    content = wal(*edits)
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=3))
    contents = read(content, *cuts)
    assert (contents.ending, contents.length, contents.entries) == (WalEnd.CLOSED, len(content), len(edits))
    assert contents.cells == sum(len(edit.cells) for edit in edits)
    assert sum(share.bytes for share in contents.shares) == contents.good_end - contents.header_end
    for cut in {0, *cuts}:
        begun = [begin for begin, _ in zip(ends(*edits), edits, strict=False) if begin >= cut]
        assert sum(share.entries for share in contents.shares if share.cut >= cut) == len(begun)


def shares_of(edit: Edit) -> tuple[tuple[str, ...], bool]:
    (share,) = read(wal(edit)).shares
    return share.families, share.marker


def test_what_decides_about_an_entry() -> None:
    two = [Cell("f"), Cell("g")]
    assert shares_of(Edit("t", two, {"f": 1, "g": 1})) == (("f", "g"), False)
    assert shares_of(Edit("t", two, {"f": 1, "g": 0})) == (("f",), False)
    assert shares_of(Edit("t", two, {"f": 2})) == ((), False), "HBase ships scope 1 alone"
    assert shares_of(Edit("t", [Cell("METAFAMILY", qualifier=b"HBASE::FLUSH")], {"f": 1})) == ((), False)
    assert shares_of(bulk_load("t", "f", "g", scopes={"g": 1})) == (("g",), False)
    assert shares_of(bulk_load("t", scopes={"g": 1})) == ((), False)
    broken = Edit("t", [Cell("METAFAMILY", b"\xff", b"r", b"HBASE::BULK_LOAD")], {"g": 1})
    assert shares_of(broken) == (("g",), False), "nobody knows what it is, so the peer may want it"
    assert shares_of(Edit("t", [Cell("METAFAMILY", qualifier=b"HBASE::REPLICATION_MARKER")], {})) == ((), True)


# queues

REGION_REPLICAS = "org.apache.hadoop.hbase.replication.regionserver.RegionReplicaReplicationEndpoint"


def test_what_is_pending_and_what_of_it_is_wanted() -> None:
    offset = GroupOffset(f"{GROUP}.20", BOUNDARIES[1])
    files = [inspected(10, DATA), inspected(20, DATA, BOUNDARIES[1]), inspected(30, DATA)]
    rows = [queue(offset), queue(offset, "2"), queue(offset, "3"), queue(None, "1", OTHER)]
    one, two, removed = queue_edits(rows, [ALL, ONLY_U], by_group(files))
    behind = BOUNDARIES[3] - BOUNDARIES[1] + BOUNDARIES[3] - BOUNDARIES[0]
    for row in (one, two, removed):
        assert (row.offset_status, row.pending_files, row.pending_entries, row.pending_bytes) == ("OK", 2, 5, behind)
        assert (row.head, row.head_ending) == (f"oldWALs/{GROUP}.20", "CLOSED")
    assert (one.wanted_entries, one.rule_known) == (3, True)
    assert one.wanted_bytes == behind - 2 * (BOUNDARIES[3] - BOUNDARIES[2])
    assert two.wanted_entries == 0, "its table's family has no scope in these entries"
    assert (removed.wanted_entries, removed.peer_exists, removed.peer_state) == (0, False, None)


@pytest.mark.parametrize(
    ("endpoint", "wanted", "rule_known"),
    [(None, 2, True), ("", 2, True), (INTER_CLUSTER_ENDPOINT, 2, True), (REGION_REPLICAS, 3, False)],
)
def test_an_endpoint_of_its_own_may_want_everything(endpoint: str | None, wanted: int, rule_known: bool) -> None:
    peer = replace(ALL, endpoint=endpoint)
    (row,) = queue_edits([queue(None)], [peer], by_group([inspected(10, DATA)]))
    assert (row.pending_entries, row.wanted_entries, row.rule_known) == (3, wanted, rule_known)


def test_a_named_file_is_the_head_only_if_the_offset_is_in_it() -> None:
    for offset in (GroupOffset(f"{GROUP}.20", 0), GroupOffset(f"{GROUP}.20", -1), None):
        files = [inspected(40, b"")]
        (row,) = queue_edits([queue(offset)], [ALL], by_group(files), is_whole=False)
        assert (row.pending_files, row.head, row.head_ending) == (1, None, None)
        assert wal_findings([row], files, is_whole=False) == ()
    files = [inspected(20, b""), inspected(40, b"")]
    (row,) = queue_edits([queue(GroupOffset(f"{GROUP}.20", 0))], [ALL], by_group(files), is_whole=False)
    assert row.head == f"oldWALs/{GROUP}.20"
    assert [one.code for one in wal_findings([row], files, is_whole=False)] == ["HEADERLESS_WAL"]


def test_the_head_in_zookeeper_may_be_missing() -> None:
    first, second = f"{GROUP}.20", f"{GROUP}.30"
    row = MergedQueueRow(QueueId("1", SERVER), {GROUP: GroupOffset(first, 0)}, {first: 0, second: 0})
    (found,) = queue_edits([row], [ALL], by_group([inspected(30, b"")]))
    assert (found.pending_files, found.head) == (1, None), "replication waits for the first"


def test_a_queue_without_an_offset_has_everything_before_it() -> None:
    files = [inspected(10, DATA), inspected(20, DATA), inspected(5, DATA, group=f"{GROUP}.meta")]
    (row,) = queue_edits([queue(None)], [ALL], by_group(files[:2]))
    assert (row.offset_status, row.pending_files, row.pending_entries) == ("NONE", 2, 6)
    assert queue_edits([queue(None)], [ALL], by_group([inspected(7, DATA, group=f"{GROUP}.rep")])) == []


def test_finished_gone_and_files_that_were_not_read() -> None:
    files = [inspected(10, DATA), inspected(20, None)]
    finished, gone, other = (
        queue_edits([queue(GroupOffset(f"{GROUP}.{number}", offset))], [ALL], by_group(files))[0]
        for number, offset in ((10, -1), (20, 5), (30, 5))
    )
    assert (finished.offset_status, finished.pending_files, finished.unread_files) == ("FINISHED", 1, 0)
    assert (gone.offset_status, gone.head_ending, gone.pending_entries) == ("GONE", "GONE", 0)
    assert (other.offset_status, other.pending_files) == ("NOT_READ", 0)


def test_bytes_that_nobody_can_read_are_told() -> None:
    torn, corrupt = DATA[:-20], DATA[: BOUNDARIES[1]] + b"\xff" * 40
    files = [inspected(1, torn), inspected(2, corrupt), inspected(3, header(codec="a.B") + b"12345")]
    (row,) = queue_edits([queue(None)], [ALL], by_group(files))
    assert row.unread_files == 2, "a torn entry is lost to everybody; the rest of the file was read"
    unread = 40 + len(b"12345")
    assert row.unread_bytes == unread


def test_needs_and_cuts() -> None:
    rows = [queue(GroupOffset(f"{GROUP}.20", 7)), queue(GroupOffset(f"{GROUP}.10", -1), "2")]
    assert smallest_needed_timestamps(rows) == {GROUP: 11}
    assert smallest_needed_timestamps([*rows, queue(None, "3")]) == {GROUP: -1}
    assert cuts_of(rows) == {f"{GROUP}.20": frozenset({7})}


# rows


def test_rows_of_a_file() -> None:
    file = inspected(20, DATA)
    row = file_row(file)
    assert (row.entries, row.cells, row.ending, row.read_length) == (3, 4, "CLOSED", len(DATA))
    assert (row.first_sequence_id, row.last_sequence_id) == (0, 2)
    assert row.entry_bytes == len(DATA) - len(header()) - len(TRAILER)
    assert [(one.table, one.entries, one.global_entries) for one in table_rows(file)] == [("ns:u", 1, 0), ("t", 2, 2)]
    odd = file_row(inspected(20, wal(Edit("t", sequence_id=-1, write_time=-1), Edit("t", write_time=1 << 62))))
    assert (odd.first_sequence_id, odd.first_write_time, odd.last_write_time) == (-1, None, None)
    assert (odd.entries, odd.ending) == (2, "CLOSED")
    gone = file_row(inspected(20, None))
    assert (gone.ending, gone.entries, gone.good_end, gone.writer) == ("GONE", 0, None, None)


def test_an_encrypted_wal_is_called_so() -> None:
    whole = header((2, b"key"), codec=CODEC.replace("WALCell", "SecureWALCell")) + b"?" * 100
    reader = WalReader(io.BytesIO(whole).read)
    assert list(reader.entries(lambda *_: None)) == []
    assert (reader.ending, reader.problem) == (
        WalEnd.ENCRYPTED,
        "its cells are encrypted (org.apache.hadoop.hbase.regionserver.wal.SecureWALCellCodec)",
    )
