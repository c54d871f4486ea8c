"""dump-queues beside HBase's own DumpReplicationQueues, on the same cluster at the same time."""

import json
import re
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.cli.config.configuration import parse_config
from jobs.cli.context import JobContext
from jobs.cli.entry import OUTPUT_FILE_ENV, main
from pipelines.hbase.wal_names import encode_prefix
from tests.labs.cluster.dump import Dump, blocks
from tests.labs.cluster.hbase import Cell, HBaseCluster, wait_until
from tests.labs.cluster.hbase_data import ATTEMPTS

pytestmark = [pytest.mark.realhbase, pytest.mark.long]

TABLE = "dumped"
OPTIONS = ((), ("--distributed",), ("--distributed", "--hdfs"))
NOT_STARTED = "0 (not started or nothing to replicate)"
POSITION = re.compile(r" Replication position for ([^/]+)/(.*): (.*)")
WALS = "    Number of WALs in replication queue: "
TABLE_SOURCES = {"queues": {"source": "hbase"}, "state": {"source": "hbase"}}
REMOVED = "77"
"""A peer that does not exist."""


@dataclass(frozen=True)
class Pair:
    """Both texts by options, and the result object."""

    theirs: dict[tuple[str, ...], str]
    ours: dict[tuple[str, ...], str]
    result: dict[str, Any]
    snapshot: Path


def captured(cluster: HBaseCluster, spark: SparkSession, work: Path, sources: dict[str, Any]) -> Path:
    site = cluster.write_conf(work / "conf") / "hbase-site.xml"
    files, hbase = {"source": "hadoop"}, {"site": str(site)}
    section = {"files": files, "hbase": hbase, "quiet_attempts": 1, "pause": "1s", **sources}
    document = {"cluster": "dumped", "wal_root": cluster.wal_root, "capture": section}
    config = parse_config(json.dumps(document), "test.yaml")
    assert config.capture is not None
    context = JobContext("capture", spark=spark)
    capture_cluster("dumped", cluster.wal_root, config.capture, f"file:{work}/snapshot", context)
    return work / "snapshot"


def dumped(spark: SparkSession, snapshot: Path, *options: str) -> tuple[str, dict[str, Any]]:
    result, text = snapshot.parent / "result.json", snapshot.parent / "text"
    arguments = ["dump-queues", "--snapshot", f"file:{snapshot}", *options, "--result", str(result)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(OUTPUT_FILE_ENV, str(text))
        assert main(arguments, context=JobContext("dump-queues", spark=spark)) == 0
    return text.read_text(), json.loads(result.read_text())


def both(cluster: HBaseCluster, spark: SparkSession, work: Path, sources: dict[str, Any]) -> Pair:
    """Captures, with the tool asked before and after until nothing moves meanwhile."""
    tool = Dump(cluster)
    for attempt in range(ATTEMPTS):
        before = {options: tool.text(*options) for options in OPTIONS}
        snapshot = captured(cluster, spark, work / str(attempt), sources)
        if {options: tool.text(*options) for options in OPTIONS} == before:
            ours = {options: dumped(spark, snapshot, *options) for options in OPTIONS}
            texts = {options: text for options, (text, _) in ours.items()}
            theirs = {options: closed(text) for options, text in before.items()}
            return Pair(theirs, texts, ours[()][1], snapshot)
        time.sleep(1)
    raise AssertionError("the cluster never rested")


def closed(text: str) -> str:
    """With one line end at its end, as walsafe prints every answer."""
    return text.rstrip("\n") + "\n"


def positions(lines: list[str]) -> list[tuple[str, str, str]]:
    """Group, path and position of the WALs of one queue."""
    return [match.groups() for match in map(POSITION.fullmatch, lines) if match]  # type: ignore[misc]


# HBase 3


@dataclass(frozen=True)
class Story:
    """What was made of the cluster.

    Attributes:
        claimed: a dead server whose queues were claimed.
        dead: one whose queues wait for that.
        started: an online server whose queue of peer 1 stands at byte 123.
        finished: one whose queue of peer 1 is through with its WAL.
        plain: one that never had a region of HBase's own tables, so that its WALs all belong to its queues.
    """

    claimed: str
    dead: str
    started: str
    finished: str
    plain: str
    cells: list[Cell]


@pytest.fixture(scope="module")
def story(hbase_cluster: HBaseCluster, peer_cluster: HBaseCluster) -> Iterator[Story]:
    """Two disabled peers, a claimed queue, one that waits for it, offsets of every form, HFiles, a removed peer."""
    cluster = hbase_cluster
    for peer in cluster.peers():
        cluster.remove_peer(peer)
    cluster.create_table(TABLE)
    cluster.put(TABLE)
    plain = cluster.start_server()
    cluster.move_region(TABLE, plain, 2)
    for peer in ("1", "10"):
        cluster.add_peer(peer, peer_cluster.cluster_key, enabled=False)
    victims = [cluster.start_server() for _ in range(2)]
    for index, victim in enumerate(victims):
        cluster.move_region(TABLE, victim, index)
    cluster.archive_wals(TABLE)
    cluster.kill_server(victims[0])
    cluster.kill_and_hold(victims[1], "claim")
    wait_until(lambda: f"1-{victims[0]}" not in {cell.row.decode() for cell in cluster.queue_cells()}, "it is claimed")
    queues = {f"1-{server}".encode() for server in cluster.live_servers() if server != plain}
    own = [cell for cell in cluster.queue_cells() if cell.row in queues]
    started, finished = [cell for cell in own if cell.value.endswith(b":0") and cell.value != b":0"][:2]
    fabricated = [
        started._replace(value=started.value[:-1] + b"123"),
        finished._replace(value=finished.value[:-1] + b"-1"),
        finished._replace(row=finished.row.replace(b"1-", f"{REMOVED}-".encode(), 1)),
        *(Cell(peer, b"hfileref", name, b"") for peer, name in ((b"1", b"a"), (b"1", b"b"), (b"10", b"c"))),
    ]
    encoded = ["\t".join(b64encode(part).decode() for part in cell) for cell in fabricated]
    cluster.harness.putQueueCells(encoded)
    servers = [cell.row.decode().partition("-")[2] for cell in (started, finished)]
    yield Story(*victims, *servers, plain, cluster.queue_cells())
    cluster.release(victims[1])
    for peer in ("1", "10"):
        cluster.remove_peer(peer)
    cluster.harness.clearQueueTable()
    cluster.roll_wals()  # a peer of other tests begins with the newest WALs, and has no such table


@pytest.fixture(scope="module")
def pair(
    story: Story, hbase_cluster: HBaseCluster, hbase_spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Pair:
    assert story.cells
    return both(hbase_cluster, hbase_spark, tmp_path_factory.mktemp("dumped"), TABLE_SOURCES)


@pytest.mark.promise("dump-queues-as-hbase-does")
def test_records_are_word_by_word_those_of_hbase_but_for_what_it_loses(story: Story, pair: Pair) -> None:
    expected = pair.theirs[()]
    claimed = [cell for cell in story.cells if cell.family == b"queue" and b"/" in cell.row]
    assert claimed
    for cell in claimed:
        row, group, offset = (part.decode() for part in (cell.row, cell.qualifier, cell.value))
        peer, wal = row.partition("-")[0], ": ".join(offset.rsplit(":", 1))
        assert f"\nrs/{group}/{peer}/{wal}\n" in expected, "neither owner nor source"
        expected = expected.replace(f"\nrs/{group}/{peer}/{wal}\n", f"\nrs/{group}/{row}/{wal}\n", 1)
    assert "\nhfile-refs/1/a,b,c\n" in expected, "those of peer 10 as well"
    expected = expected.replace("\nhfile-refs/1/a,b,c\n", "\nhfile-refs/1/a,b\n")
    assert pair.ours[()] == expected


@pytest.mark.promise("dump-queues-as-hbase-does")
def test_every_queue_is_told_in_the_same_words(story: Story, pair: Pair) -> None:
    theirs, ours = blocks(pair.theirs["--distributed",]), blocks(pair.ours["--distributed",])
    assert ours[0] == theirs[0], "the peers"
    assert set(ours[1]) == set(theirs[1])
    for queue, lines in ours[1].items():
        assert lines[:4] == theirs[1][queue][:4], queue
    assert {f"    Dead RegionServer: {story.claimed}"} <= {line for lines in ours[1].values() for line in lines}
    for summary in (ours[2], theirs[2]):
        text = "\n".join(summary)
        assert f"restart one regionserver to transfer the queues of dead regionservers\n    {story.dead}\nDump" in text
        assert text.startswith("Found 1 deleted queues, run hbck -fixReplication")
        assert f"    {story.finished}/{REMOVED}-{story.finished}" in summary


def test_positions_are_right_where_hbase_shows_none(story: Story, pair: Pair) -> None:
    theirs, ours = blocks(pair.theirs["--distributed",])[1], blocks(pair.ours["--distributed",])[1]
    assert {at for lines in theirs.values() for _, _, at in positions(lines)} == {NOT_STARTED}, "all of them"
    shown = {(queue, at) for queue, lines in ours.items() for _, _, at in positions(lines) if at != NOT_STARTED}
    assert shown == {(f"[{story.started}] Queue id: 1-{story.started}", "123")}


def test_wals_that_no_queue_reads_are_not_counted(story: Story, pair: Pair) -> None:
    theirs, ours = blocks(pair.theirs["--distributed",])[1], blocks(pair.ours["--distributed",])[1]
    surplus = set()
    for queue, lines in ours.items():
        own, other = positions(lines), positions(theirs[queue])
        assert f"{WALS}{len(own)}" in lines
        paths = {path for _, path, _ in own}
        assert len(paths) == len(own)
        assert paths <= {path for _, path, _ in other}
        surplus |= {path for _, path, _ in other} - paths
        for group, path, _ in own:
            assert path.rpartition("/")[2].startswith(f"{group}.")
    assert surplus
    for path in surplus:
        name = path.rpartition("/")[2]
        assert name.endswith(".meta") or re.search(r"%2C\d+\.rep\.\d+$", name), name
    # a placeholder, the queue that waits for its claim: HBase shows the server in place of the group
    waiting = f"[{story.dead}] Queue id: 1-{story.dead}"
    assert {group for group, _, _ in positions(theirs[waiting])} == {story.dead}
    assert {group for group, _, _ in positions(ours[waiting])} == {encode_prefix(story.dead)}


def test_a_queue_that_hbase_tells_right_is_the_same_text_with_its_size(story: Story, pair: Pair) -> None:
    options = ("--distributed", "--hdfs")
    theirs, ours = blocks(pair.theirs[options])[1], blocks(pair.ours[options])[1]
    same = {queue for queue, lines in ours.items() if lines == theirs[queue]}
    wrong = {
        queue
        for queue, lines in theirs.items()
        if any(path.endswith(".meta") or ".rep." in path or "," in group for group, path, _ in positions(lines))
        or queue.endswith(f"1-{story.started}")
    }
    assert same == set(ours) - wrong
    for queue in (f"[{story.plain}] Queue id: {peer}-{story.plain}" for peer in ("1", "10")):
        assert queue in same
        assert not ours[queue][-1].endswith(" 0"), "the size of its WALs"


def test_options_that_hbase_passes_over(hbase_cluster: HBaseCluster, pair: Pair) -> None:
    assert closed(Dump(hbase_cluster).text("--hdfs")) == pair.theirs[()]


def test_the_tables_have_what_the_text_has(pair: Pair) -> None:
    queues = {f"[{one['owner']}] Queue id: {one['queue_id']}": one for one in pair.result["queues"]}
    for queue, lines in blocks(pair.ours["--distributed",])[1].items():
        assert f"{WALS}{queues[queue]['pending_wals']}" in lines
    assert pair.result["hfile_refs"] == {"1": ["a", "b"], "10": ["c"]}


def test_with_two_groups_hbase_counts_twice(
    multiwal_cluster: HBaseCluster, peer_cluster: HBaseCluster, hbase_spark: SparkSession, tmp_path: Path
) -> None:
    multiwal_cluster.create_table(TABLE, splits=("e", "i", "m", "q", "u"))
    multiwal_cluster.put(TABLE)
    multiwal_cluster.add_peer("1", peer_cluster.cluster_key, enabled=False)
    multiwal_cluster.archive_wals(TABLE)
    try:
        pair = both(multiwal_cluster, hbase_spark, tmp_path, TABLE_SOURCES)
    finally:
        multiwal_cluster.remove_peer("1")
        multiwal_cluster.roll_wals()
    theirs, ours = blocks(pair.theirs["--distributed",])[1], blocks(pair.ours["--distributed",])[1]
    times = set()
    for queue, lines in ours.items():
        groups = {group for group, _, _ in positions(theirs[queue])}
        other = Counter(path for _, path, _ in positions(theirs[queue]))
        times |= {other[path] / len(groups) for _, path, _ in positions(lines)}
        assert max(Counter(path for _, path, _ in positions(lines)).values()) == 1
    assert max(times) >= 2, "listed for each group, and once more below each"


# HBase 2


@pytest.fixture(scope="module")
def story_2(hbase_2_cluster: HBaseCluster) -> Iterator[tuple[str, KazooClient]]:
    """A disabled peer, and a claimed queue that stands in the middle of a WAL; the dead server."""
    cluster = hbase_2_cluster
    cluster.create_table(TABLE)
    cluster.add_peer("1", "nowhere:2181:/hbase", enabled=False)
    victim = cluster.start_server()
    cluster.move_region(TABLE, victim)
    cluster.archive_wals(TABLE)
    cluster.kill_server(victim)
    client = KazooClient(hosts=f"127.0.0.1:{cluster.harness.property('hbase.zookeeper.property.clientPort')}")
    client.start(timeout=300)
    wait_until(lambda: len(claimed_wals(client, victim)) > 0, "its queue is claimed")
    client.set(claimed_wals(client, victim)[0], bytes.fromhex("50425546087b"))
    yield victim, client
    client.stop()
    client.close()
    cluster.remove_peer("1")


def claimed_wals(client: KazooClient, victim: str) -> list[str]:
    """The znodes of the WALs in the claimed queues of a dead server."""
    root = "/hbase2/replication/rs"
    servers = [f"{root}/{server}" for server in client.get_children(root)]
    queues = [f"{server}/{queue}" for server in servers for queue in client.get_children(server)]
    return sorted(f"{one}/{wal}" for one in queues if one.endswith(f"-{victim}") for wal in client.get_children(one))


@pytest.fixture(scope="module")
def pair_2(
    story_2: tuple[str, KazooClient],
    hbase_2_cluster: HBaseCluster,
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Pair:
    hosts = story_2[1].hosts
    quorum = ",".join(f"{host}:{port}" for host, port in hosts)
    queues = {"source": "zookeeper", "quorum": quorum, "parent": f"/{hbase_2_cluster.name}"}
    sources = {"queues": queues, "state": {"source": "zookeeper"}}
    return both(hbase_2_cluster, spark, tmp_path_factory.mktemp("dumped2"), sources)


def test_znodes_are_those_of_hbase(pair_2: Pair) -> None:
    theirs, ours = pair_2.theirs[()], pair_2.ours[()]
    assert sorted(ours.splitlines()) == sorted(theirs.splitlines()), "siblings are in the order of a hash map there"
    assert ours.partition("/rs: ")[0] == theirs.partition("/rs: ")[0]
    assert ours.count(": 123\n") == 1


def test_queues_of_zookeeper_are_told_in_the_same_words_but_for_positions(
    story_2: tuple[str, KazooClient], pair_2: Pair
) -> None:
    for options in OPTIONS[1:]:
        theirs, ours = blocks(pair_2.theirs[options]), blocks(pair_2.ours[options])
        assert (ours[0], ours[2]) == (theirs[0], theirs[2]), "peers, and the sums"
        different = {queue for queue in theirs[1] if ours[1].get(queue) != theirs[1][queue]}
        assert set(ours[1]) == set(theirs[1])
        (claimed,) = different
        assert claimed.endswith(f"Queue znode: 1-{story_2[0]}")
        wal = claimed_wals(story_2[1], story_2[0])[0].rpartition("/")[2]
        changed = set(ours[1][claimed]) ^ set(theirs[1][claimed])
        line = f"    Replication position for {wal}: "
        assert changed == {f"{line}123", f"{line}{NOT_STARTED}"}
        assert f"    Dead RegionServers: [{story_2[0]}]" in ours[1][claimed]


def test_hbase_2_dies_of_a_position_that_is_no_number(
    story_2: tuple[str, KazooClient], pair_2: Pair, hbase_2_cluster: HBaseCluster
) -> None:
    assert pair_2.theirs
    victim, client = story_2
    znode = claimed_wals(client, victim)[0]
    before, _ = client.get(znode)
    client.set(znode, b"bad")
    try:
        with pytest.raises(Py4JJavaError, match="IllegalArgumentException"):
            Dump(hbase_2_cluster).text()
    finally:
        client.set(znode, before)


def test_hbase_says_nothing_while_no_table_is_replicated(pair_2: Pair, hbase_2_cluster: HBaseCluster) -> None:
    assert pair_2.ours[()].startswith("Dumping replication peers")
    assert Dump(hbase_2_cluster).text_without_scopes("--distributed") == ""
