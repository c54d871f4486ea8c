"""Captures of queues in ZooKeeper and of a cluster that is down: what they repeat, what they refuse, what they note."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.capture.capture import CaptureResult, CaptureTarget
from pipelines.capture.capture_offline import OfflineSources
from pipelines.capture.capture_zookeeper import ZooKeeperSources
from pipelines.capture.ports import ClusterSettings
from pipelines.capture.sources.zookeeper_queues import ZooKeeperQueues
from pipelines.capture.timeline import RetryPolicy
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UsageError
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.tree import Znode
from pipelines.snapshot.capture_clocks import StepStamp
from pipelines.snapshot.capture_order import ZOOKEEPER_CAPTURE_ORDER, order_fault
from pipelines.snapshot.model import Backup, CaptureStep, Membership, Retention, Snapshot, WalDirectory
from pipelines.snapshot.syncup_facts import SyncUpFacts, fact_documents

H1, H2 = ServerName("h1", 16020, 5), ServerName("h2", 16020, 6)
RS = "/hbase/replication/rs"


@dataclass
class World:
    """Every source and the sink in one."""

    readings: Mapping[str, Sequence[Znode]] = field(default_factory=dict)
    rows: Sequence[bytes] = ()
    now: int = 1_000
    quiet_for: int = 9
    cluster_ids: tuple[str | None, str | None] = ("id", "id")
    online_servers: Mapping[str, frozenset[ServerName] | None] = field(default_factory=dict)
    directories_below_wals: tuple[WalDirectory, ...] = (WalDirectory(H1, 0, 1),)
    peers_each_time: list[tuple[Peer, ...]] = field(default_factory=list)
    saved_listing: bool = False
    asked: list[str] = field(default_factory=list)
    written: dict[str, list[object]] = field(default_factory=dict)
    slept: list[int] = field(default_factory=list)

    def now_ms(self) -> int:
        self.now += 1
        return self.now

    def sleep_ms(self, pause: int) -> None:
        self.slept.append(pause)
        self.now += pause

    def stamp(self, step: str) -> StepStamp | None:
        """Everything is read now; the listing may be saved."""
        saved = self.saved_listing and step == "files"
        return StepStamp(CaptureStep("files", 1, 2), "edge", saved=True) if saved else None

    def files(self, batches: Iterable[FileBatch] | None = None) -> Any:  # noqa: ANN401 - source and sink in one
        return iter([FileBatch(["oldWALs/a.1"], [1], [1])]) if batches is None else sum(map(len, batches))

    def wal_directories(self) -> tuple[WalDirectory, ...]:
        return self.directories_below_wals

    def settings(self) -> ClusterSettings:
        return ClusterSettings(self.cluster_ids[0], None, Retention(1, 2, 3), (), Backup(enabled=False))

    def cluster_id(self) -> str | None:
        return self.cluster_ids[1]

    def online(self, step: str) -> frozenset[ServerName] | None:
        return self.online_servers.get(step, frozenset({H1}))

    def peers(self) -> tuple[Peer, ...]:
        return self.peers_each_time.pop(0) if self.peers_each_time else (Peer("1", "ENABLED"),)

    def znodes(self, step: str, written: Iterable[Znode] | None = None) -> Any:  # noqa: ANN401 - as `files`
        if written is None:
            self.asked.append(step)
            return self.readings.get(step, of_server(H1))
        return len(list(written))

    def cells(self, _step: str, written: Iterable[Cell] | None = None) -> Any:  # noqa: ANN401 - as `files`
        return self._scan() if written is None else len(list(written))

    def _scan(self) -> Iterator[Cell]:
        for row in self.rows:
            yield Cell(row, b"queue", b"g", b"w:1")

    def documents(self, name: str, documents: Iterable[object]) -> int:
        self.asked.append(name)
        self.written[name] = list(documents)
        return len(self.written[name])

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
        patience = RetryPolicy(1, 2, 7, self.sleep_ms)
        return sources.capture(CaptureTarget("c", "hdfs://n/h", "edge"), self, clock=self, patience=patience)  # type: ignore[arg-type]


def of_zookeeper(world: World) -> CaptureResult:
    return world.capture(ZooKeeperSources(world, world, world, world))  # type: ignore[arg-type]


def of_a_cluster_that_is_down(*rows: bytes) -> CaptureResult:
    world = World(rows=rows)
    return world.capture(OfflineSources(world, world, world, None, world))  # type: ignore[arg-type]


def of_server(server: ServerName, *queues: str, after: int = 1) -> tuple[Znode, ...]:
    """A reading of the queues of one server, with the cversion of `rs` at its end."""
    host = f"{RS}/{server}"
    below = (Znode(f"{host}/{queue}", b"", 0) for queue in queues)
    return (Znode(RS, b"", 1), Znode(host, b"", 1), *below, Znode(host, b"", 1), Znode(RS, b"", after))


def test_queues_that_always_move_are_read_as_often_as_configured(caplog: pytest.LogCaptureFixture) -> None:
    moved = World({"queues-1": of_server(H1), "queues-2": of_server(H1, "1", after=2)})
    captured = of_zookeeper(moved)
    assert captured.restless == "servers or queues moved while they were read: the cversion of rs went from 1 to 2"
    assert moved.asked == ["queues-1", "queues-2"] * 2
    assert captured.cells == 5
    assert moved.slept == [7], "between two attempts, and not after the last"
    told = [record.message.partition(":")[0] for record in caplog.records if record.levelname == "WARNING"]
    assert told == ["Not quiet, attempt 1 of 2"]


def test_the_first_quiet_attempt_is_the_last_and_its_steps_count() -> None:
    class Settling(World):
        def znodes(self, step: str, written: Iterable[Znode] | None = None) -> Any:  # noqa: ANN401 - as in World
            self.readings = {} if "queues-2" in self.asked else {"queues-2": of_server(H1, after=2)}
            return super().znodes(step, written)

    world = Settling()
    captured = of_zookeeper(world)
    assert captured.restless is None
    assert world.asked == ["queues-1", "queues-2"] * 2
    taken = [step.step for step in captured.snapshot.steps]
    assert taken == ["files", "online", "peers", "queues-1", "queues-2", "online-2"]


def test_saved_queues_that_moved_are_read_once() -> None:
    """To parse the same text again changes nothing."""

    class Saved(World):
        def stamp(self, step: str) -> StepStamp:
            self.now += 1
            return StepStamp(CaptureStep(step, self.now, self.now), "edge9")

    saved = Saved({"queues-1": of_server(H1), "queues-2": of_server(H1, "1", after=2)})
    assert of_zookeeper(saved).restless is not None
    assert (saved.asked, saved.slept) == (["queues-1", "queues-2"], [])


class SetBack(World):
    """Its clock is set back by less than the pause inside the first reading of the queues."""

    def znodes(self, step: str, written: Iterable[Znode] | None = None) -> Any:  # noqa: ANN401 - as in World
        if written is None and not self.asked:
            self.now -= 5
        return super().znodes(step, written)


def test_after_a_clock_was_set_back_the_queues_are_read_again() -> None:
    world = SetBack()
    captured = of_zookeeper(world)
    assert captured.restless is None
    assert world.asked == ["queues-1", "queues-2"] * 2
    assert order_fault(captured.snapshot.steps, ZOOKEEPER_CAPTURE_ORDER) is None


def test_a_clock_that_is_set_back_all_the_time_is_refused_by_name() -> None:
    class Always(SetBack):
        def znodes(self, step: str, written: Iterable[Znode] | None = None) -> Any:  # noqa: ANN401 - as in World
            self.now -= 5
            return super().znodes(step, written)

    world = Always()
    with pytest.raises(RefusedError, match=r"'queues-1' finished before it started\. Was the clock set back\?"):
        of_zookeeper(world)
    assert world.asked == ["queues-1", "queues-2"] * 2


def test_servers_that_are_online_before_their_directories_exist_are_read_again() -> None:
    """They have just started. If no directory comes, files and queues are of two clusters."""

    class Starting(World):
        def wal_directories(self) -> tuple[WalDirectory, ...]:
            return super().wal_directories() if self.asked else ()

    world = Starting()
    assert of_zookeeper(world).restless is None
    assert world.asked == ["queues-1", "queues-2"] * 2
    never = World(directories_below_wals=())
    with pytest.raises(RefusedError, match=f"no server has a directory below WALs/, although {H1} is online") as told:
        of_zookeeper(never)
    assert told.value.condition is Condition.MIXED_CLUSTERS
    assert (never.asked, never.slept) == (["queues-1", "queues-2"] * 2, [7])


def test_the_snapshot_has_the_servers_of_both_looks() -> None:
    """Of a cluster whose servers are not known, it has none."""
    snapshot = of_zookeeper(World(online_servers={"online-2": frozenset({H1, H2})})).snapshot
    assert snapshot.membership == Membership(None, frozenset({H1}), frozenset())
    assert snapshot.membership_2 == Membership(None, frozenset({H1, H2}), frozenset())
    unknown = of_zookeeper(World(online_servers={"online": None, "online-2": None})).snapshot
    assert (unknown.membership, unknown.membership_2) == (None, None)


@pytest.mark.parametrize(("settings", "queues", "refused"), [("a", "b", True), (None, "b", False), ("a", None, False)])
def test_queues_of_a_cluster_with_another_id_are_refused(
    settings: str | None, queues: str | None, *, refused: bool
) -> None:
    world = World(cluster_ids=(settings, queues))
    if not refused:
        assert of_zookeeper(world).restless is None
        return
    with pytest.raises(UsageError, match="the queues belong to cluster b, settings and peers to cluster a: check"):
        of_zookeeper(world)
    assert world.now == World().now, "no step was taken"


DOWN: Mapping[str, frozenset[ServerName]] = {"online": frozenset(), "online-2": frozenset()}
"""No server is online."""


def test_queues_of_servers_that_nobody_knows_are_refused_if_no_server_is_online() -> None:
    """With an online server, they are what is left of an older HBase, and reconcile refuses them with that reason."""
    strange = dict.fromkeys(("queues-1", "queues-2"), of_server(H2, "1"))
    assert of_zookeeper(World(strange)).restless is None
    with pytest.raises(RefusedError, match=r"no queue \(such as 1-h2,16020,6\) belongs to a server that HBase knows"):
        of_zookeeper(World(strange, online_servers=DOWN))
    with pytest.raises(RefusedError, match=r"no queue \(such as 1-h2,16020,6\) belongs to a server that HBase knows"):
        of_zookeeper(World(strange, online_servers={"online": None, "online-2": None}))


def test_a_saved_listing_that_shows_nothing_of_the_cluster_is_refused() -> None:
    """Only if there are peers, and not if the listing is read now, because such a listing cannot be cut."""
    nothing = World(online_servers=DOWN, directories_below_wals=(), saved_listing=True)
    with pytest.raises(RefusedError, match="no server is online, and the saved listing has no file below WALs/"):
        of_zookeeper(nothing)
    assert of_zookeeper(replace(nothing, saved_listing=False)).restless is None
    assert of_zookeeper(replace(nothing, peers_each_time=[(), ()])).restless is None
    with pytest.raises(RefusedError, match=f"no server has a directory below WALs/, although {H1} is online"):
        of_zookeeper(replace(nothing, online_servers={}))


@pytest.mark.promise("zookeeper-migration-is-refused")
def test_peers_are_those_of_the_step_and_have_the_mark_that_an_hbase_3_sets_later() -> None:
    first, marked = Peer("1", "ENABLED"), Peer("2", "ENABLED", sync_replication_state="ACTIVE")
    later = (Peer("1", "DISABLED", sync_replication_state="NONE"), Peer("2", "ENABLED"), Peer("3", "ENABLED"))
    peers = of_zookeeper(World(peers_each_time=[(first, marked), later])).snapshot.peers
    assert peers == (replace(first, sync_replication_state="NONE"), marked)


@pytest.mark.promise("unreadable-row-is-not-quiet")
@pytest.mark.parametrize("steps", [("queues-1",), ("queues-2",), ("queues-1", "queues-2")])
def test_znodes_that_nobody_can_read_are_not_quiet(steps: tuple[str, ...]) -> None:
    """Two readings with the same junk may hide a queue that moved: reconcile names the znode and refuses."""
    assert of_zookeeper(World()).restless is None
    quiet = of_server(H1)
    junk = (*quiet[:2], Znode(f"{RS}/junk", b"", 1), *quiet[2:])
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
    assert world.written["extras/syncup.jsonl"] == list(fact_documents(SyncUpFacts("hdfs://n/h", (str(H1),), ())))


@pytest.mark.parametrize("quiet_for", [0, 2])
def test_a_cluster_that_should_be_down_and_runs_is_refused(quiet_for: int) -> None:
    """Before anything is read, or afterwards."""
    world = World(quiet_for=quiet_for)
    with pytest.raises(RefusedError, match="a master is up: HBase is running"):
        world.capture(ZooKeeperSources(world, world, world, world, None, world))  # type: ignore[arg-type]
    assert len(world.asked) == quiet_for + bool(quiet_for), "the extra, then the second look"


@pytest.mark.parametrize(
    ("znodes", "words", "left"),
    [
        ((), None, False),
        (("/hbase/rs/h1,16020,5", RS), "region server h1,16020,5 is in ZooKeeper", True),
        (("/hbase/master", "/hbase/rs"), "an active master has /hbase/master in ZooKeeper", False),
        (("/hbase/rs", "/hbase/replication/peers"), None, False),
        (("/hbase/replication/hfile-refs",), None, True),
    ],
)
def test_znodes_tell_what_runs_and_what_the_migration_has_left(
    znodes: tuple[str, ...], words: str | None, left: bool
) -> None:
    def children(path: str) -> tuple[list[str], int]:
        return [one.rpartition("/")[2] for one in znodes if one.rpartition("/")[0] == path], 0

    client: Any = SimpleNamespace(exists=znodes.__contains__, children=children)
    queues = ZooKeeperQueues(client)
    assert (queues.running(), queues.queue_data()) == (words, left)


@pytest.mark.promise("rows-are-compared-in-any-layout")
@pytest.mark.parametrize("row", [b"1-h8,16020,5-h7,16020,1", b"1-h8,16020,5/h7,16020,1"])
def test_cells_of_another_cluster_are_refused_in_either_layout(row: bytes) -> None:
    with pytest.raises(RefusedError, match="queues are read from another cluster"):
        of_a_cluster_that_is_down(row)
    with pytest.raises(RefusedError, match="queues are read from another cluster"):
        of_a_cluster_that_is_down(row, b"junk")
    assert of_a_cluster_that_is_down(row, b"1-h1,16020,5").cells == 2
