"""plan-syncup beside HBase's own ReplicationSyncUp: two real clusters, the source of them killed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.common.errors import RefusedError
from pipelines.hbase.offline_table import as_it_is
from pipelines.hbase.replication_queues import Cell
from pipelines.snapshot.reader import SnapshotDirectories
from pipelines.snapshot.syncup_facts import SyncUpFacts
from pipelines.snapshot.syncup_lines import parse_facts
from tests.labs.cluster.classpath import HBASE, resolve
from tests.labs.cluster.hbase import ROOT_IN_HDFS, SENDS_BULK_LOADS, HBaseCluster, start_hbase_jvm, wait_until
from tests.labs.cluster.hbase_data import ROWS
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.sync_up import read_beside, run_as_process
from tests.labs.down_cluster import DownCluster

pytestmark = [pytest.mark.realhbase, pytest.mark.long]

TABLE, PEER, SERIAL = "syncup", "1", "2"
PENDING = tuple(f"{letter}-pending" for letter in ROWS)
LOADED = 4
"""Rows of each of two bulk loads."""
ENQUEUED = re.compile(r"Enqueueing log (\S+) from recovered queue for source: (\S+)")
OPENED = re.compile(r"Creating new reader (\S+), startPosition=(\d+),.*")


@dataclass
class Run:
    """What the real tool said of the WALs it took up: (peer, source, path), and (path, start) in order."""

    enqueued: set[tuple[str, str, str]] = field(default_factory=set)
    opened: list[tuple[str, int]] = field(default_factory=list)


@dataclass
class Story(DownCluster):
    """The source cluster, and what was seen of it."""

    true_cells: list[Cell] = field(default_factory=list)
    offline_queues: list[str] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    flags: dict[str, list[str]] = field(default_factory=dict)
    serial: tuple[int, str] = (-1, "")
    beside: list[str] = field(default_factory=list)
    cells_after_start: list[Cell] = field(default_factory=list)

    def sync_up(self, name: str, *arguments: str) -> None:
        root, run = f"{self.cluster.wal_root}/", Run()
        for line in self.cluster.sync_up(*arguments):
            if match := ENQUEUED.fullmatch(line):
                peer, _, source = match[2].partition("-")
                run.enqueued.add((peer, source.rpartition("/")[2], match[1].removeprefix(root)))
            elif (match := OPENED.fullmatch(line)) and match[1].startswith(root):
                run.opened.append((match[1].removeprefix(root), int(match[2])))
        self.runs[name] = run
        self.flags[name] = self.flag_files()

    def flag_files(self) -> list[str]:
        place = self.hdfs.path(f"{self.cluster.wal_root}/ReplicationSyncUp")
        return sorted(str(one.getPath().getName()) for one in self.hdfs.file_system().listStatus(place))

    def forget_the_run(self) -> None:
        """Removes its flag files."""
        place = self.hdfs.path(f"{self.cluster.wal_root}/ReplicationSyncUp")
        assert self.hdfs.file_system().delete(place, True)


@pytest.fixture(scope="module")
def story(
    hdfs_cluster: HdfsCluster, peer_cluster: HBaseCluster, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    """A cluster is killed; the plans, and what HBase's own sync-up tool ships to the peer after each."""
    # killed servers close the file systems of their JVM, under all other clusters in it
    jvm = start_hbase_jvm(tmp_path_factory.mktemp("syncup-hbase"), heap="1g")
    cluster = HBaseCluster(jvm, hdfs_cluster, "syncup", 2, properties={**ROOT_IN_HDFS, **SENDS_BULK_LOADS})
    queues = {"source": "hfiles", "jars": [str(jar) for jar in resolve(HBASE)]}
    story = Story(cluster, hdfs_cluster, spark, tmp_path_factory.mktemp("syncup"), queues)
    tell(story, peer_cluster)
    yield story
    jvm.close()


def tell(story: Story, peer: HBaseCluster) -> None:
    """Shipped and flushed; shipped and not flushed; not shipped: then the source is killed."""
    live(story, peer)
    cluster = story.cluster
    cluster.crash()
    story.offline_queues = cluster.offline_queues()
    regions = sorted({cell.qualifier.decode() for cell in story.true_cells if cell.family == b"sid"})
    story.beside = read_beside(cluster, (PEER, SERIAL), regions)
    story.enable_peer(SERIAL)
    story.plan("serial")
    story.serial = run_as_process(cluster, story.work / "tool")
    story.flags["serial"] = story.flag_files()
    story.forget_the_run()
    story.forget(f"peers/{SERIAL}")
    story.plan("disabled")
    story.enable_peer(PEER)
    story.plan("enabled")
    story.split = server_to_split(story.answers["enabled"][1])
    story.rename(story.split, f"{story.split}-splitting")
    story.plan("half-split")
    story.sync_up("half-split")
    story.arrived["half-split"] = peer.count(TABLE)
    story.rename(f"{story.split}-splitting", story.split)
    story.plan("again", lake=True)
    story.sync_up("again", "-f")
    story.arrived["again"] = peer.count(TABLE)

    cluster.restart(2)
    wait_until(lambda: not story.flag_files(), "the flag files are gone")
    story.cells_after_start = [Cell(*cell) for cell in cluster.queue_cells()]


def live(story: Story, peer: HBaseCluster) -> None:
    """What the source does before its end, a bulk load on either side of the last flush of its queues."""
    cluster = story.cluster
    for one in (cluster, peer):
        one.create_table(TABLE)
    cluster.add_peer(PEER, peer.cluster_key)
    cluster.add_peer(SERIAL, peer.cluster_key, serial=True)
    cluster.put(TABLE)
    cluster.wait_replicated(TABLE, peer, len(ROWS))
    wait_until(lambda: any(cell.family == b"sid" for cell in cluster.queue_cells()), "a sequence id is pushed")
    cluster.archive_wals(TABLE)
    wait_until(lambda: stops_inside(cluster), "an offset stays inside of a WAL")
    cluster.bulk_load(TABLE, "bulk-1a", "bulk-1z", LOADED)
    cluster.flush("hbase:replication")
    flushed = cluster.queue_cells()
    cluster.enable_peer(PEER)
    cluster.put(TABLE, value="not flushed")
    cluster.wait_replicated(TABLE, peer, len(ROWS) + LOADED)
    wait_until(lambda: cluster.queue_cells() != flushed, "an offset moves")
    cluster.disable_peer(PEER)
    cluster.bulk_load(TABLE, "bulk-2a", "bulk-2z", LOADED)
    cluster.put(TABLE, PENDING)
    story.true_cells = [Cell(*cell) for cell in cluster.queue_cells()]
    with pytest.raises(RefusedError) as refused:
        story.capture("running")
    story.running = str(refused.value)


def stops_inside(cluster: HBaseCluster) -> bool:
    """Ships rows, disables the peers, and returns whether an offset stays inside of a WAL of now.

    None does when the WALs are rolled in between; the peers are enabled again then.
    """
    cluster.put(TABLE, value="in the WALs of now")
    wait_until(lambda: any_lies_inside(cluster), "an offset lies inside of a WAL")
    for peer in (PEER, SERIAL):
        cluster.disable_peer(peer)
    cluster.flush("hbase:replication")
    stays = any_lies_inside(cluster)
    if not stays:
        for peer in (PEER, SERIAL):
            cluster.enable_peer(peer)
    return stays


def any_lies_inside(cluster: HBaseCluster) -> bool:
    """Whether an offset of the peer is neither at the beginning of the newest WAL of its group nor in an older WAL."""
    newest: dict[str, str] = {}
    for file in cluster.files("WALs"):
        name = file.path.rpartition("/")[2]
        group = name.rpartition(".")[0]
        newest[group] = max(newest.get(group, ""), name)
    offsets = (
        value.decode().rpartition(":")
        for row, family, _, value in cluster.queue_cells()
        if family == b"queue" and row.startswith(f"{PEER}-".encode())
    )
    return any(wal in newest.values() and int(offset) > 0 for wal, _, offset in offsets)


def server_to_split(result: dict[str, Any]) -> str:
    """Of the servers with archived WALs to ship that with most bytes below its own directory.

    The tool waits forever for a queue that it finds no WAL of, and without its directory another one would be so.
    """
    sizes: dict[str, int] = {}
    for queue in result["queues"]:
        if not any(wal["path"].startswith("oldWALs/") for wal in queue["wals"]):
            continue
        for wal in queue["wals"]:
            if wal["content"] == "EDITS" and wal["path"].startswith("WALs/"):
                sizes[queue["source"]] = sizes.get(queue["source"], 0) + wal["bytes"]
    return max(sizes, key=lambda server: sizes[server])


def starts(result: dict[str, Any]) -> dict[str, int]:
    """Returns where the tool begins to read each WAL for the peer, according to a plan."""
    queues = (queue for queue in result["queues"] if queue["peer_id"] == PEER)
    return {wal["path"]: wal["start"] for queue in queues for wal in queue["wals"]}


def facts_of(story: Story, name: str) -> tuple[SyncUpFacts, Sequence[Cell]]:
    parts = SnapshotDirectories(story.spark)
    (opened,) = parts.open([f"file:{story.work}/{name}"])
    assert opened.fault is None
    return parse_facts(parts.extra_lines(opened, "syncup")), parts.cells(opened)


def test_a_running_cluster_is_refused(story: Story) -> None:
    assert "HBase is running" in story.running


def test_store_files_are_read_as_hbase_reads_them(story: Story) -> None:
    _, cells = facts_of(story, "disabled")
    rows = [f"{c.row.decode()}\t{c.qualifier.decode()}\t{c.value.decode()}" for c in cells if c.family == b"queue"]
    assert sorted(rows) == story.offline_queues
    assert rows


def test_store_files_and_the_table_s_own_wals_are_the_table(story: Story) -> None:
    facts, cells = facts_of(story, "disabled")
    assert facts.table is not None
    assert facts.table.unknown is None
    true = sorted(story.true_cells, key=lambda cell: (cell.row, cell.family, cell.qualifier))
    assert list(cells) != true, "all was flushed: nothing is shown"
    assert list(as_it_is(cells, facts.table.unflushed)) == true


def test_hfiles_and_sequence_ids_are_what_the_tool_reads(story: Story) -> None:
    _, cells = facts_of(story, "disabled")
    names = [(cell.row.decode(), cell.qualifier.decode()) for cell in cells if cell.family == b"hfileref"]
    ids = [
        (cell.row.decode(), cell.qualifier.decode(), str(int.from_bytes(cell.value, "big")))
        for cell in cells
        if cell.family == b"sid"
    ]
    assert sorted("\t".join(one) for one in (*names, *ids)) == story.beside
    peers = {one["peer_id"]: one for one in story.answers["disabled"][1]["peers"]}
    for peer in (PEER, SERIAL):
        told = (peers[peer]["hfile_refs"], peers[peer]["last_sequence_ids"])
        assert told == (sum(name[0] == peer for name in names), sum(one[0] == peer for one in ids)), peer
    assert peers[PEER]["hfile_refs"] > 0
    assert peers[SERIAL]["last_sequence_ids"] > 0


def test_a_serial_peer_is_refused_and_the_tool_does_die_of_it(story: Story) -> None:
    code, result = story.answers["serial"]
    assert code == 3
    assert f"Peer {SERIAL} is serial" in result["error"]["message"]
    died, printed = story.serial
    assert died == 1
    assert "java.lang.NullPointerException" in printed
    assert "SerialReplicationChecker" in printed
    assert "info" in story.flags["serial"]
    assert len(story.flags["serial"]) > 1, "HBase would drop the queues of these servers"


def test_a_disabled_peer_would_keep_the_tool_for_ever(story: Story) -> None:
    code, result = story.answers["disabled"]
    assert code == 5
    assert "SYNCUP_DISABLED_PEER" in story.codes("disabled")
    actions = {(queue["peer_id"], queue["action"]) for queue in result["queues"]}
    assert actions == {(PEER, "WAITS"), (SERIAL, "REMOVED_PEER")}
    assert (result["bytes"], {wal["content"] for queue in result["queues"] for wal in queue["wals"]}) == (
        0,
        {"NOT_READ"},
    )


def test_the_half_split_directory_is_refused_and_the_tool_does_lose_it(story: Story) -> None:
    code, result = story.answers["half-split"]
    assert code == 3
    assert f"WALs/{story.split}-splitting/" in result["error"]["message"]
    assert not any(f"WALs/{story.split}" in path for _, _, path in story.runs["half-split"].enqueued)
    assert story.split in story.flags["half-split"], "HBase would drop its queues"
    assert story.arrived["half-split"] < len(ROWS) + len(PENDING) + 2 * LOADED


def test_leftover_flags_of_the_run_before(story: Story) -> None:
    code, result = story.answers["again"]
    assert code == 5
    assert "SYNCUP_LEFTOVER" in story.codes("again")
    assert result["leftover_flag_files"] == story.flags["half-split"]
    assert result["command"].endswith(" -f")


@pytest.mark.promise("syncup-is-planned")
def test_the_tool_does_what_the_plan_says(story: Story) -> None:
    result, run = story.answers["again"][1], story.runs["again"]
    planned = {
        (queue["peer_id"], queue["source"], wal["path"]): wal for queue in result["queues"] for wal in queue["wals"]
    }
    assert run.enqueued == set(planned)
    assert dict(run.opened) == starts(result)
    # which WALs are left for the second run depends on their sizes
    opened_before = story.runs["half-split"].opened
    assert set(opened_before) <= set(starts(story.answers["enabled"][1]).items())
    assert max(start for _, start in (*opened_before, *run.opened)) > 0, (
        "no offset lies inside of a WAL: nothing is shown"
    )
    order = [(wal["wal_group"], wal["path"]) for wal in planned.values()]
    places = {path: place for place, (path, _) in enumerate(run.opened)}
    for (group, before), (other, after) in pairwise(order):
        assert group != other or places[before] < places[after]


def test_everything_arrives(story: Story) -> None:
    assert story.arrived["again"] == len(ROWS) + len(PENDING) + 2 * LOADED, "bulk loads too"


def test_its_flag_files_and_what_the_next_master_does_with_them(story: Story) -> None:
    result = story.answers["again"][1]
    assert story.flags["again"] == sorted(path.rpartition("/")[2] for path in result["flag_files"])
    assert not {queue["queue"] for queue in result["queues"]} & {cell.row.decode() for cell in story.cells_after_start}
    assert not {b"hfileref", b"sid"} & {cell.family for cell in story.cells_after_start}


def test_what_is_sent_again(story: Story) -> None:
    result = story.answers["again"][1]
    assert result["unflushed_columns"] > 0
    assert 0 < sum(queue["resent_bytes"] for queue in result["queues"]) < result["bytes"]
    assert any(queue["is_stale"] for queue in result["queues"])


def test_the_tables(story: Story) -> None:
    result = story.answers["again"][1]
    assert story.rows("again", "syncup_queues") == len(result["queues"])
    assert story.rows("again", "syncup_wals") == sum(len(queue["wals"]) for queue in result["queues"])
    assert story.rows("again", "syncup_peers") == 2, "the removed one has rows of its own"
