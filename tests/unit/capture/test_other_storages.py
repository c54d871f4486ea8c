"""Captures of queues in ZooKeeper and of a cluster that is down: what is not readable proves nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pipelines.capture.capture import CaptureResult, CaptureTarget
from pipelines.capture.capture_offline import OfflineSources
from pipelines.capture.capture_zookeeper import ZooKeeperSources
from pipelines.capture.ports import ClusterSettings
from pipelines.capture.timeline import RetryPolicy
from pipelines.common.errors import RefusedError
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.tree import Znode
from pipelines.snapshot.model import Backup, Retention, Snapshot, WalDirectory

H1 = ServerName("h1", 16020, 5)
RS = "/hbase/replication/rs"
QUIET = (Znode(RS, b"", 1), Znode(f"{RS}/{H1}", b"", 1), Znode(f"{RS}/{H1}", b"", 1), Znode(RS, b"", 1))


@dataclass
class World:
    """Every source and the sink in one."""

    readings: Mapping[str, Sequence[Znode]] = field(default_factory=dict)
    rows: Sequence[bytes] = ()
    now: int = 1_000
    quiet_for: int = 9
    asked: list[str] = field(default_factory=list)

    def now_ms(self) -> int:
        self.now += 1
        return self.now

    def stamp(self, _step: str) -> None:
        """Read now."""

    def clock_host(self) -> None:
        """Read now."""

    def files(self, batches: Iterable[FileBatch] | None = None) -> Any:  # noqa: ANN401 - source and sink in one
        return iter([FileBatch(["oldWALs/a.1"], [1], [1])]) if batches is None else sum(map(len, batches))

    def wal_directories(self) -> tuple[WalDirectory, ...]:
        return (WalDirectory(H1, 0, 1),)

    def settings(self) -> ClusterSettings:
        return ClusterSettings("id", None, Retention(1, 2, 3), (), Backup(enabled=False))

    def cluster_id(self) -> str:
        return "id"

    def online(self, _step: str) -> frozenset[ServerName]:
        return frozenset({H1})

    def peers(self) -> tuple[Peer, ...]:
        return (Peer("1", "ENABLED"),)

    def znodes(self, step: str, written: Iterable[Znode] | None = None) -> Any:  # noqa: ANN401 - as `files`
        if written is None:
            self.asked.append(step)
            return self.readings.get(step, QUIET)
        return len(list(written))

    def cells(self, _step: str, written: Iterable[Cell] | None = None) -> Any:  # noqa: ANN401 - as `files`
        return self._scan() if written is None else len(list(written))

    def _scan(self) -> Iterator[Cell]:
        for row in self.rows:
            yield Cell(row, b"queue", b"g", b"w:1")

    def documents(self, name: str, documents: Iterable[object]) -> int:
        self.asked.append(name)
        return len(list(documents))

    def running(self) -> str | None:
        """Says who is at work, as soon as the queues have been read so often."""
        return "a master is up" if len(self.asked) >= self.quiet_for else None

    def zk_queue_data(self) -> bool:
        return False

    def root(self) -> str:
        return "hdfs://n/h"

    def directories(self) -> tuple[str, ...]:
        return (str(H1),)

    def flags(self) -> tuple[()]:
        return ()

    def finish(self, _snapshot: Snapshot) -> str:
        return "file:///s"

    def capture(self, sources: ZooKeeperSources | OfflineSources) -> CaptureResult:
        patience = RetryPolicy(1, 2, 0, lambda _ms: None)
        return sources.capture(CaptureTarget("c", "hdfs://n/h", "edge"), self, clock=self, patience=patience)  # type: ignore[arg-type]


def of_zookeeper(world: World) -> CaptureResult:
    return world.capture(ZooKeeperSources(world, world, world, world))  # type: ignore[arg-type]


def of_a_cluster_that_is_down(*rows: bytes) -> CaptureResult:
    world = World(rows=rows)
    return world.capture(OfflineSources(world, world, world, None, world))  # type: ignore[arg-type]


@pytest.mark.promise("unreadable-row-is-not-quiet")
@pytest.mark.parametrize("steps", [("queues-1",), ("queues-2",), ("queues-1", "queues-2")])
def test_znodes_that_nobody_can_read_are_not_quiet(steps: tuple[str, ...]) -> None:
    """Two readings with the same junk may hide a queue that moved: reconcile names the znode and refuses."""
    assert of_zookeeper(World()).restless is None
    junk = (*QUIET[:2], Znode(f"{RS}/junk", b"", 1), *QUIET[2:])
    world = World(dict.fromkeys(steps, junk))
    restless = of_zookeeper(world).restless
    assert restless is not None
    assert "rs/junk" in restless
    assert world.asked == ["queues-1", "queues-2"] * 2


def test_znodes_of_a_cluster_that_is_down_come_with_what_the_tool_needs() -> None:
    world = World()
    taken = world.capture(ZooKeeperSources(world, world, world, world, None, world))  # type: ignore[arg-type]
    assert taken.snapshot.extras == ("syncup",)
    assert world.asked == ["queues-1", "queues-2", "extras/syncup.jsonl"]


@pytest.mark.parametrize("quiet_for", [0, 2])
def test_a_cluster_that_should_be_down_and_runs_is_refused(quiet_for: int) -> None:
    """Before anything is read, or afterwards."""
    world = World(quiet_for=quiet_for)
    with pytest.raises(RefusedError, match="a master is up: HBase is running"):
        world.capture(ZooKeeperSources(world, world, world, world, None, world))  # type: ignore[arg-type]
    assert len(world.asked) == quiet_for + bool(quiet_for), "the extra, then the second look"


@pytest.mark.promise("rows-are-compared-in-any-layout")
@pytest.mark.parametrize("row", [b"1-h8,16020,5-h7,16020,1", b"1-h8,16020,5/h7,16020,1"])
def test_cells_of_another_cluster_are_refused_in_either_layout(row: bytes) -> None:
    with pytest.raises(RefusedError, match="queues are read from another cluster"):
        of_a_cluster_that_is_down(row)
    with pytest.raises(RefusedError, match="queues are read from another cluster"):
        of_a_cluster_that_is_down(row, b"junk")
    assert of_a_cluster_that_is_down(row, b"1-h1,16020,5").cells == 2
