"""Queue rows of the layout that only a configuration names, with `-` between peer and server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.common.errors import MalformedError
from pipelines.hbase.replication_queues import QueueId, RowLayout, parse_queue_id
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
