"""plan-syncup beside the ReplicationSyncUp of HBase 2.6.4: a real cluster with queues in ZooKeeper, killed."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from kazoo.exceptions import NoNodeError
from pyspark.sql import SparkSession

from pipelines.common.errors import RefusedError
from tests.labs.cluster.hbase import ROOT_IN_HDFS, HBaseCluster, start_hbase_2_jvm, wait_until
from tests.labs.cluster.hbase_data import ROWS
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.sync_up import Run2, run_of_hbase_2
from tests.labs.cluster.zookeeper import connected
from tests.labs.down_cluster import DownCluster

pytestmark = [pytest.mark.realhbase, pytest.mark.long]

TABLE = "syncup2"
PEER, OFF, SERIAL, GONE = "1", "2", "3", "9"
OLDER, NEWER = (tuple(f"{letter}-{age}" for letter in ROWS) for age in ("older", "newer"))
TOOL = ".syncuptool.replication.org,1234,1"
AGAIN = "Refreshing replication sources now due to previous error"
Queues = dict[tuple[str, str], dict[str, bytes]]


@dataclass
class Story(DownCluster):
    """The source cluster, and what was seen of it."""

    runs: dict[str, Run2] = field(default_factory=dict)
    queues: dict[str, Queues] = field(default_factory=dict)

    def plan(self, name: str, *, lake: bool = False) -> dict[str, Any]:
        result = super().plan(name, lake=lake)
        self.queues[f"before {name}"] = self.read_queues()
        return result

    def sync_up(self, name: str, peer: HBaseCluster, *repeated: str) -> None:
        """Runs the tool until it ends, or until it has printed each of these texts twice and has done the rest."""

        def enough(text: str) -> bool:
            again = bool(repeated) and all(text.count(one) > 1 for one in repeated)
            return again and self.is_done(name)

        self.runs[name] = run_of_hbase_2(self.cluster, self.work / "tool", name, enough)
        self.queues[name] = self.read_queues()
        self.arrived[name] = peer.count(TABLE)

    def read_queues(self) -> Queues:
        """The positions by WAL, of each queue by its server and name."""
        top, found = f"/{self.cluster.name}/replication/rs", {}
        with connected(self.cluster.zookeeper_quorum) as client:
            for server in client.get_children(top):
                for queue in client.get_children(f"{top}/{server}"):
                    place = f"{top}/{server}/{queue}"
                    found[server, queue] = {wal: client.get(f"{place}/{wal}")[0] for wal in client.get_children(place)}
        return found

    def is_done(self, name: str) -> bool:
        """Whether the tool has claimed all that a plan says, and nothing is left of it but what it does not read."""
        try:
            queues = self.read_queues()
        except NoNodeError:
            return False
        by_name = {queue: set(wals) for (_, queue), wals in queues.items()}
        for one in self.answers[name][1].get("queues", ()):
            owner, _, queue = one["queue"].partition("/")
            if one["action"] != "REMOVED_PEER" and (
                (owner, queue) in queues or by_name.get(tool_name(one), set()) != unread(one)
            ):
                return False
        return True

    def copies(self, paths: list[str]) -> list[str]:
        """Copies WALs into `oldWALs`, as the page says; returns the copies."""
        made = []
        files = self.hdfs.file_system()
        for path in paths:
            source = self.hdfs.path(f"{self.cluster.wal_root}/{path}")
            wait_until(lambda one=source: bool(files.recoverLease(one)), f"{path} is closed")  # type: ignore[misc]
            made.append(f"oldWALs/{path.rpartition('/')[2]}")
            copy = self.hdfs.path(f"{self.cluster.wal_root}/{made[-1]}")
            view = self.hdfs.jvm.view
            assert view.org.apache.hadoop.fs.FileUtil.copy(files, source, files, copy, False, files.getConf())
        return made


def tool_name(queue: dict[str, Any]) -> str:
    """The name of the queue after the tool has claimed it."""
    owner, _, name = queue["queue"].partition("/")
    return f"{name}-{owner}"


def unread(queue: dict[str, Any]) -> set[str]:
    return {wal["wal"] for wal in queue["wals"] if wal["content"] == "NOT_READ"}


@pytest.fixture(scope="module")
def story(
    hdfs_cluster: HdfsCluster,
    hbase_2_cluster: HBaseCluster,
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Story]:
    """A cluster of HBase 2 with queues in ZooKeeper is killed; the plan, and what HBase's sync-up tool ships."""
    # killed servers close the file systems of their JVM, under all other clusters in it
    jvm = start_hbase_2_jvm(tmp_path_factory.mktemp("syncup-hbase2"))
    cluster = HBaseCluster(jvm, hdfs_cluster, "syncup2", 2, properties=ROOT_IN_HDFS)
    queues = {"source": "zookeeper", "quorum": cluster.zookeeper_quorum, "parent": f"/{cluster.name}"}
    story = Story(cluster, hdfs_cluster, spark, tmp_path_factory.mktemp("syncup2"), queues)
    tell(story, hbase_2_cluster)
    yield story
    jvm.close()


def tell(story: Story, peer: HBaseCluster) -> None:
    """Archived and pending; rolled and not archived; in the open WAL: then the source is killed."""
    cluster = story.cluster
    live(story, peer)
    cluster.crash()
    story.forget(f"peers/{GONE}")
    story.enable_peer(PEER)
    story.split = min(server for server, _ in story.read_queues())
    story.rename(story.split, f"{story.split}-splitting")
    plan = story.plan("unfound", lake=True)
    stuck = [one["reason"].rpartition(" ")[2] for one in plan["queues"] if one["reason"]]
    story.sync_up("unfound", peer, *(f"/{wal}" for wal in stuck))

    plan = story.plan("again")
    paths = {wal["path"] for one in plan["queues"] if one["action"] == "WAITS" for wal in one["wals"]}
    copies = story.copies(sorted(path for path in paths if path.startswith("WALs/")))
    story.plan("copied")
    story.sync_up("copied", peer)
    for path in copies:
        assert story.hdfs.file_system().delete(story.hdfs.path(f"{cluster.wal_root}/{path}"), False)
    story.rename(f"{story.split}-splitting", story.split)

    story.enable_peer(SERIAL)
    story.plan("serial")
    story.sync_up("serial", peer, AGAIN)
    # a crash procedure claims such a queue again and again: ClaimReplicationQueuesProcedure
    for server, queue in story.read_queues():
        if queue.partition("-")[0] == GONE:
            story.forget(f"rs/{server}/{queue}")
    cluster.restart(2)
    wait_until(lambda: not cluster.crashing(), "the crashes are processed")
    story.queues["restarted"] = story.read_queues()


def live(story: Story, peer: HBaseCluster) -> None:
    cluster = story.cluster
    for one in (cluster, peer):
        one.create_table(TABLE)
    cluster.add_peer(PEER, peer.cluster_key)
    for other in (OFF, GONE):
        cluster.add_peer(other, "nowhere:2181:/hbase", enabled=False)
    cluster.add_peer(SERIAL, "nowhere:2181:/hbase", enabled=False, serial=True)
    cluster.put(TABLE)
    cluster.wait_replicated(TABLE, peer, len(ROWS))
    wait_until(
        lambda: any(wals and any(wals.values()) for (_, name), wals in story.read_queues().items() if name == PEER),
        "a position lies inside of a WAL",
    )
    cluster.disable_peer(PEER)
    cluster.archive_wals(TABLE)
    cluster.put(TABLE, OLDER)
    cluster.roll_wals()
    cluster.put(TABLE, NEWER)
    with pytest.raises(RefusedError) as refused:
        story.capture("running")
    story.running = str(refused.value)


def by_action(story: Story, name: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in story.answers[name][1]["queues"]:
        found.setdefault(one["action"], set()).add(one["peer_id"])
    return found


def planned(story: Story, name: str) -> dict[tuple[str, str], list[tuple[str, int]]]:
    """What the plan says that the tool opens: (path, start) by its name of the queue and by WAL group."""
    found: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for queue in story.answers[name][1]["queues"]:
        for wal in queue["wals"]:
            if wal["content"] == "EDITS":
                found.setdefault((tool_name(queue), wal["wal_group"]), []).append((wal["path"], wal["start"]))
    return found


def opened(story: Story, name: str) -> dict[tuple[str, str], list[tuple[str, int]]]:
    """What it did open."""
    run = story.runs[name]
    good = {key: [one for one in paths if one[0] not in run.failed] for key, paths in run.opened.items()}
    return {key: paths for key, paths in good.items() if paths}


def test_a_running_cluster_is_refused(story: Story) -> None:
    assert "HBase is running" in story.running


@pytest.mark.promise("syncup-of-hbase-2-is-planned")
@pytest.mark.parametrize("name", ["unfound", "copied"])
def test_the_tool_reads_what_the_plan_says(story: Story, name: str) -> None:
    assert opened(story, name) == planned(story, name)
    assert planned(story, name), "nothing is shown"


def test_the_plan_shows_what_it_is_there_for(story: Story) -> None:
    starts = [start for paths in planned(story, "unfound").values() for _, start in paths]
    assert max(starts) > 0, "no position lies inside of a WAL"
    paths = [path for paths in planned(story, "unfound").values() for path, _ in paths]
    assert Counter(path.partition("/")[0] for path in paths).keys() == {"oldWALs", "WALs"}
    assert any(f"/{story.split}-splitting/" in path for path in paths)


def test_the_second_file_of_a_directory_keeps_the_tool_for_ever(story: Story) -> None:
    code, result = story.answers["unfound"]
    run = story.runs["unfound"]
    assert (code, "SYNCUP_WAL_UNFOUND" in story.codes("unfound")) == (5, True)
    waits = [one for one in result["queues"] if one["action"] == "WAITS"]
    assert waits
    assert run.code is None
    assert {path.rpartition("/")[2] for path in run.failed} == {one["reason"].rpartition(" ")[2] for one in waits}
    assert story.arrived["unfound"] < len(ROWS) + len(OLDER) + len(NEWER)


def test_what_it_did_not_ship_is_below_its_own_name(story: Story) -> None:
    before = {tool_name(one): unread(one) for one in story.answers["unfound"][1]["queues"] if one["action"] == "WAITS"}
    again = [one for one in story.answers["again"][1]["queues"] if one["peer_id"] == PEER]
    assert {one["queue"].partition("/")[2]: {wal["wal"] for wal in one["wals"]} for one in again} == before
    assert all(one["owner"].endswith(TOOL) for one in again)


def test_copies_in_the_archive_help_and_everything_arrives(story: Story) -> None:
    assert by_action(story, "copied")["SHIP"] == {PEER}
    assert "WAITS" not in by_action(story, "copied")
    assert "SYNCUP_WAL_UNFOUND" not in story.codes("copied")
    assert story.runs["copied"].code == 0
    assert story.runs["copied"].failed == set()
    assert story.arrived["copied"] == len(ROWS) + len(OLDER) + len(NEWER)
    assert not any(name.partition("-")[0] == PEER for _, name in story.queues["copied"])


@pytest.mark.parametrize("name", ["unfound", "copied"])
def test_queues_of_disabled_peers_move_and_those_of_removed_peers_stay(story: Story, name: str) -> None:
    assert {"SYNCUP_DISABLED_PEER", "SYNCUP_REMOVED_PEER"} <= set(story.codes(name))
    actions = by_action(story, name)
    assert (actions["MOVES"], actions["REMOVED_PEER"]) == ({OFF, SERIAL}, {GONE})
    before, after = story.queues[f"before {name}"], story.queues[name]
    for one in story.answers[name][1]["queues"]:
        owner, _, queue = one["queue"].partition("/")
        if one["action"] == "REMOVED_PEER":
            assert after[owner, queue] == before[owner, queue]
        if one["action"] == "MOVES":
            ((place, wals),) = [(at, wals) for (at, moved), wals in after.items() if moved == tool_name(one)]
            assert (place.endswith(TOOL), wals) == (True, before[owner, queue])


def test_no_server_claims_them_when_hbase_starts(story: Story) -> None:
    left = {place for place, name in story.queues["restarted"] if name.startswith((f"{OFF}-", f"{SERIAL}-"))}
    assert left
    assert all(place.endswith(TOOL) for place in left)


def test_a_serial_peer_is_refused_and_the_tool_does_not_end(story: Story) -> None:
    code, result = story.answers["serial"]
    assert (code, f"Peer {SERIAL} is serial" in result["error"]["message"]) == (3, True)
    assert story.runs["serial"].code is None
    assert "java.lang.NullPointerException" in story.runs["serial"].text
    assert story.runs["serial"].text.count(AGAIN) > 1


def test_the_tables(story: Story) -> None:
    result = story.answers["unfound"][1]
    assert story.rows("unfound", "syncup_queues") == len(result["queues"])
    assert story.rows("unfound", "syncup_wals") == sum(len(queue["wals"]) for queue in result["queues"])
    assert story.rows("unfound", "syncup_peers") == 4, "the removed one has queues"
