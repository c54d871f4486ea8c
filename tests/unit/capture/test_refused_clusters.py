"""What is no snapshot of one cluster under one master is refused while it is captured."""

from dataclasses import replace

import pytest

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError
from pipelines.hbase.peers import Peer
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.model import WalDirectory
from tests.labs.capture_world import AT_REST, World


@pytest.mark.promise("another-master-is-refused")
def test_another_master_is_refused() -> None:
    world = World(masters=["m,1,1", "m,1,2"])
    with pytest.raises(RefusedError, match="active master changed from m,1,1 to m,1,2") as refused:
        world.capture(quiet_attempts=2)
    assert refused.value.condition is Condition.MASTER_CHANGED
    assert world.asked.count("queues-1") == 2
    assert world.finished is None


@pytest.mark.promise("peer-id-with-a-hyphen-is-refused")
def test_a_peer_whose_queues_would_be_read_as_another_s_is_refused() -> None:
    world = World(peer=Peer("1-x", "ENABLED"))
    with pytest.raises(RefusedError, match="peer id '1-x' has a '-', which HBase forbids") as refused:
        world.capture()
    assert refused.value.condition is Condition.PEER_ID_AMBIGUOUS
    assert world.finished is None
    assert "queues-1" not in world.asked


@pytest.mark.promise("one-cluster-only")
def test_the_parts_of_two_clusters_make_no_snapshot() -> None:
    """Files of one cluster judged by another's queues would all look deletable."""
    rows = [b"1-h7,16020,5", b"1-h8,16020,5/h7,16020,1"]
    for foreign in (rows, [b"1-h8,16020,5-h7,16020,1"], [b"junk", rows[1]]):  # in either layout, and beside others
        foreign_queues = World(rows={"queues-1": foreign, "queues-2": foreign})
        with pytest.raises(RefusedError, match="queues are read from another cluster than HBase's answers"):
            foreign_queues.capture()
        assert foreign_queues.finished is None

    # a row that one of the passes alone has counts too, and an owner that came, or began to crash, meanwhile is known
    first, second = ({"queues-1": [rows[0]], "queues-2": []}, {"queues-1": [], "queues-2": [rows[0]]})
    for once in (first, second):
        with pytest.raises(RefusedError, match="queues are read from another cluster"):
            World(rows=once).capture()
    owner = ServerName("h7", 16020, 5)
    World(rows=first, later=[replace(AT_REST, online=AT_REST.online | {owner})]).capture()
    World(rows=first, crashing_later=[frozenset({owner})]).capture()

    class ForeignRoot(World):
        def wal_directories(self) -> tuple[WalDirectory, ...]:
            return (WalDirectory(ServerName("h7", 16020, 5), 1, 1),)

    foreign_root = ForeignRoot()
    with pytest.raises(RefusedError, match="wal_root belongs to another cluster than HBase's answers"):
        foreign_root.capture()
    assert foreign_root.finished is None

    class RetiredRoot(World):
        def wal_directories(self) -> tuple[WalDirectory, ...]:
            return ()

    retired_root = RetiredRoot()
    with pytest.raises(RefusedError, match="no server has a directory below WALs/, although h1,"):
        retired_root.capture()
    assert retired_root.finished is None
