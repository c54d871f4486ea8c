"""Queue rows in both layouts, that of every release and that with `-` throughout; their cells and offsets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.common.errors import MalformedError
from pipelines.hbase.replication_queues import (
    NEEDS_ALL,
    Cell,
    GroupOffset,
    QueueId,
    RowLayout,
    parse_offset,
    parse_queue_cell,
    parse_queue_cells,
    parse_queue_id,
    parse_row,
    read_passes,
    readable_queues,
)
from pipelines.hbase.server_names import ServerName

HOSTS = st.from_regex(r"[a-z][a-z0-9.\-]{0,12}[a-z0-9]", fullmatch=True)
SERVERS = st.builds(
    lambda host, port, code: ServerName.parse(f"{host},{port},{code}"),
    HOSTS,
    st.integers(1, 65_535),
    st.integers(1).filter(lambda code: code < 1 << 62),
)
IDS = st.builds(QueueId, st.sampled_from(["1", "peer_2", "a.b"]), SERVERS, st.none() | SERVERS)


@given(IDS)
def test_each_layout_is_read_back_and_a_claim_of_one_is_no_row_of_the_other(queue: QueueId) -> None:
    shipped, seeds = str(queue), str(queue).replace("/", "-")
    assert parse_queue_id(shipped) == parse_queue_id(seeds, RowLayout.SEED_003) == queue
    if queue.source is not None:
        for text, layout in ((seeds, RowLayout.SHIPPED), (shipped, RowLayout.SEED_003)):
            with pytest.raises(MalformedError):
                parse_queue_id(text, layout)


@pytest.mark.parametrize("text", ["1", "1-", "1-h1", "1-h1,16020,5-", "1-h1,16020,5-h2", "1-h1,16020,5\t", "1-h1,x,5"])
def test_what_is_no_row_of_the_seeds_layout(text: str) -> None:
    with pytest.raises(MalformedError):
        parse_queue_id(text, RowLayout.SEED_003)


# rows and cells as a scan gives them


def bytes_of(*rows: str) -> list[bytes]:
    return [row.encode() for row in rows]


OWNER, SOURCE = ServerName("h1", 1, 2), ServerName("h2", 3, 4)
SHIPPED, SEEDS = ["2-h1,1,2/h2,3,4", "1-h1,1,2"], ["2-h1,1,2-h2,3,4", "1-h1,1,2"]
QUEUES = frozenset({QueueId("1", OWNER), QueueId("2", OWNER, SOURCE)})


@pytest.mark.parametrize("rows", [SHIPPED, SEEDS])
def test_each_scan_is_read_in_the_one_layout_that_reads_them_all(rows: list[str]) -> None:
    assert read_passes([bytes_of(*rows), bytes_of(rows[1]), []]) == (QUEUES, {QueueId("1", OWNER)}, frozenset())
    assert all(isinstance(one, frozenset) for one in read_passes([bytes_of(*rows)]))


@pytest.mark.promise("parses-as-hbase-does")
@pytest.mark.parametrize("later", ["2-h1,1,2/h2,3,4", "2-h1,1,2-h2,3,4"])
def test_the_first_row_that_hbase_cannot_read_is_named(later: str) -> None:
    """In the order of the table, whatever the order of the rows."""
    with pytest.raises(MalformedError, match="queue row without '-' after the peer: '1h'"):
        read_passes([bytes_of("1-h1,1,2"), bytes_of(later, "3x", "1h")])
    with pytest.raises(MalformedError, match="malformed queue row '2-h1,1,2-h2,3,4'"):
        read_passes([bytes_of("2-h1,1,2-h2,3,4", "3-h1,1,2/h2,3,4")])


def test_the_rows_that_can_be_read_are_read_without_the_others() -> None:
    rows = [*bytes_of(*SHIPPED, "3-h1,1,2-h2,3,4", "x", "4-h"), b"\xff-h1,1,2"]
    assert readable_queues(rows) == QUEUES | {QueueId("3", OWNER, SOURCE)}


def test_a_row_that_is_no_text_is_refused() -> None:
    with pytest.raises(MalformedError, match=r"queue row is not UTF-8: b'\\xff'"):
        parse_row(b"\xff", RowLayout.SHIPPED)


@pytest.mark.parametrize("text", ["", "1", "x.5", "h.5"])
def test_an_offset_without_a_colon_is_refused(text: str) -> None:
    with pytest.raises(MalformedError, match="offset without ':'"):
        parse_offset(text)


def test_an_offset_in_a_wal_whose_time_does_not_fit_is_refused() -> None:
    with pytest.raises(MalformedError, match="malformed offset"):
        parse_offset("h.9223372036854775808:0")


@pytest.mark.parametrize("offset", [-1, 0, 5])
def test_an_offset_without_a_time_needs_every_file(offset: int) -> None:
    assert NEEDS_ALL < 0
    assert GroupOffset("", offset).need == NEEDS_ALL
    assert [GroupOffset("h.5", one).need for one in (-1, 0, 7)] == [6, 5, 5]


def test_only_cells_of_the_queues_are_read_and_in_the_shipped_layout() -> None:
    row = b"2-h1,1,2/h2,3,4"
    cell = Cell(row, b"queue", b"group", b"h.5:7")
    found = parse_queue_cells([Cell(row, b"sid", b"1", b"\xff"), cell])
    assert [(one.queue, one.group, one.offset) for one in found] == [
        (QueueId("2", OWNER, SOURCE), "group", GroupOffset("h.5", 7))
    ]
    assert parse_queue_cell(cell) == found[0]
    with pytest.raises(MalformedError, match="row '2-h1,1,2/h2,3,4', qualifier 'group'"):
        parse_queue_cell(cell, RowLayout.SEED_003)
