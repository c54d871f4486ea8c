"""The harness itself: each real part starts, answers, and can be brought into the states that other tests need."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hdfs import HdfsError, InsecureClient

from tests.labs.cluster import classpath
from tests.labs.cluster.classpath import Artifact, Classpath, resolve
from tests.labs.cluster.hbase import CrashStage, HBaseCluster, wait_until
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.oracle import Oracle, queue_cell, write_names
from tests.labs.places import PROJECT

pytestmark = pytest.mark.realhbase

SERVER = "h1.example.org,16020,1664092120094"
GROUP = SERVER.replace(",", "%2C")
WAL = f"{GROUP}.1664096778778"

KINDS = (".meta", ".rep.", "")
"""What the names of WALs contain: of `hbase:meta`, of the queue table, of all other tables."""


@pytest.fixture(scope="module")
def replicating(hbase_cluster: HBaseCluster, peer_cluster: HBaseCluster) -> Iterator[HBaseCluster]:
    """The source cluster with a table, a peer and some archived WALs."""
    for cluster in (hbase_cluster, peer_cluster):
        cluster.create_table("harness")
    hbase_cluster.add_peer("1", peer_cluster.cluster_key)
    hbase_cluster.archive_wals("harness")
    hbase_cluster.wait_replicated("harness", peer_cluster, 26)
    yield hbase_cluster
    hbase_cluster.remove_peer("1")


@pytest.mark.long
def test_ivy_resolves_without_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small artifact, and what it depends on."""
    monkeypatch.setattr(classpath, "CACHE", tmp_path / "classpath")
    monkeypatch.setenv(classpath.RESOLVER_ENV, "ivy")
    small = Classpath("small", (Artifact("junit:junit:4.13.2"),))
    assert {jar.name for jar in resolve(small)} == {"junit-4.13.2.jar", "hamcrest-core-1.3.jar"}


def test_other_versions_of_hbase_are_chosen_by_the_environment() -> None:
    chosen = {"WALSAFE_TEST_HBASE3": "3.0.0", "WALSAFE_TEST_HBASE2": "2.5.99"}
    code = "from tests.labs.cluster.classpath import *; print(HBASE, HBASE_2)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=PROJECT,
        env={**os.environ, **chosen},
        capture_output=True,
        text=True,
        check=True,
    )
    for artifact in ("hbase-testing-util:3.0.0'", "hbase-asyncfs:3.0.0'", "util:2.5.99'"):
        assert artifact in done.stdout


def test_plain_hdfs_answers_webhdfs_and_keeps_permissions(hdfs_cluster: HdfsCluster) -> None:
    hdfs_cluster.create_file("/plain/oldWALs/a%2C1%2C2.3", b"four")
    reader = InsecureClient(hdfs_cluster.webhdfs(), user="reader")
    assert [(name, status["length"]) for name, status in reader.list("/plain/oldWALs", status=True)] == [
        ("a%2C1%2C2.3", 4)
    ]
    with pytest.raises(HdfsError, match="Permission denied"):
        reader.delete("/plain/oldWALs/a%2C1%2C2.3")


def test_wals_are_archived_and_replicated(replicating: HBaseCluster, hdfs_cluster: HdfsCluster) -> None:
    archived = {file.path for file in replicating.old_wals()}
    assert archived
    over_webhdfs = InsecureClient(hdfs_cluster.webhdfs(), user="reader").list("/hbase/oldWALs")
    assert archived <= {f"oldWALs/{name}" for name in over_webhdfs}
    assert replicating.peers() == {"1": "ENABLED"}


def test_oracle_answers_for_every_archived_file(replicating: HBaseCluster, oracle: Oracle) -> None:
    def kinds() -> set[str]:
        return {next(kind for kind in KINDS if kind in file.path) for file in replicating.old_wals()}

    wait_until(lambda: kinds() == set(KINDS), "a WAL of each kind is archived")
    archived = replicating.old_wals()
    verdicts = dict(zip((file.path for file in archived), oracle.verdicts(archived), strict=True))
    assert set(verdicts.values()) <= {"DELETE", "KEEP"}
    assert all(verdict == "DELETE" for path, verdict in verdicts.items() if path.endswith(".meta"))
    # WALs of the queue table itself: no queue ever holds them, and HBase 3 never frees them
    assert all(verdict == "KEEP" for path, verdict in verdicts.items() if ".rep." in path)


@pytest.mark.long
@pytest.mark.parametrize("stage", ["start", "missing-queues", "claim"])
def test_a_crash_is_held_unfinished(replicating: HBaseCluster, oracle: Oracle, stage: CrashStage) -> None:
    victim = replicating.start_server()
    start_code = victim.split(",")[2]
    # else its WAL is shipped, which writes its row, or a claimed queue is shipped and gone before anybody looks
    replicating.disable_peer("1")
    replicating.move_region("harness", victim)
    replicating.put("harness", value=stage)
    replicating.kill_and_hold(victim, stage)
    try:
        assert victim in replicating.crashing()
        assert any(start_code in str(procedure) for procedure in _crash_procedures(replicating))
        directories = {file.path.split("/")[1].removesuffix("-splitting") for file in replicating.files("WALs")}
        assert (victim in directories) is (stage == "start")
        rows = {cell.row.decode() for cell in replicating.queue_cells()}
        assert (f"1-{victim}" in rows) is (stage == "claim")
        archived = [file for file in replicating.old_wals() if start_code in file.path]
        assert bool(archived) is (stage != "start")
        assert set(oracle.verdicts(archived)) <= {"KEEP"}
    finally:
        replicating.release(victim)
        claimed = {cell.row.decode().partition("/")[2] for cell in replicating.queue_cells()}
        replicating.enable_peer("1")
    assert victim in claimed
    # the dead list keeps what the list of procedures drops at once: a capture sees by it who died while it read
    wait_until(lambda: not _has_crashed(replicating, start_code), "the ended procedure is dropped")
    assert victim in replicating.dead_servers()
    assert victim not in replicating.crashing()


def test_a_master_held_before_it_is_initialized(replicating: HBaseCluster) -> None:
    loading = replicating.fail_over_master("initialized")
    try:
        assert replicating.active_master() == loading
        assert not replicating.initialized()
    finally:
        replicating.release_master()
    assert replicating.initialized()


APPENDIX_A: list[tuple[str, str, list[str], bool, Callable[[], list[tuple[str, str, str, int]]], str]] = [
    ("finished", WAL, ["1"], True, lambda: [(f"1-{SERVER}", GROUP, WAL, -1)], "DELETE"),
    ("at its start", WAL, ["1"], True, lambda: [(f"1-{SERVER}", GROUP, WAL, 0)], "KEEP"),
    ("no row", WAL, ["1"], True, list, "KEEP"),
    ("two peers, one row", WAL, ["1", "2"], True, lambda: [(f"1-{SERVER}", GROUP, WAL, -1)], "KEEP"),
    ("dead, no row", WAL, ["1"], False, list, "DELETE"),
    ("dead, claimed", WAL, ["1"], False, lambda: [(f"1-h2,16020,5/{SERVER}", GROUP, WAL, 0)], "KEEP"),
    ("only a removed peer's row", WAL, ["1"], True, lambda: [(f"9-{SERVER}", GROUP, WAL, -1)], "KEEP"),
    ("no peers", WAL, [], True, lambda: [(f"1-{SERVER}", GROUP, WAL, 0)], "DELETE"),
    ("no server in the name", "wal.123", ["1"], True, list, "THROWS"),
    (
        "timestamp overflows",
        f"{GROUP}.99999999999999999999",
        ["1"],
        True,
        lambda: [(f"1-{SERVER}", GROUP, WAL, -1)],
        "THROWS",
    ),
]


@pytest.mark.parametrize(
    ("name", "peers", "live", "rows", "verdict"),
    [case[1:] for case in APPENDIX_A],
    ids=[case[0] for case in APPENDIX_A],
)
def test_fabricated_states_are_judged(
    lab: Oracle,
    name: str,
    peers: list[str],
    live: bool,
    rows: Callable[[], list[tuple[str, str, str, int]]],
    verdict: str,
) -> None:
    lab.set_peers(peers)
    lab.set_queues(queue_cell(*row) for row in rows())
    try:
        assert lab.verdicts([f"oldWALs/{name}"], [SERVER] if live else []) == [verdict]
        lab.set_barrier(True)
        try:
            assert lab.verdicts([f"oldWALs/{name}"], []) == ["KEEP"]
        finally:
            lab.set_barrier(False)
    finally:
        lab.set_peers([])
        lab.set_queues([])


def test_the_cleaner_is_timed(lab: Oracle, tmp_path: Path) -> None:
    lab.set_peers(["1"])
    lab.set_queues([queue_cell(f"1-{SERVER}", GROUP, WAL, -1)])
    try:
        first = int(WAL.rpartition(".")[2]) - 9_999
        write_names(tmp_path / "names", (f"oldWALs/{GROUP}.{first + index}" for index in range(20_000)))
        timing = lab.time(tmp_path / "names", [SERVER])
    finally:
        lab.set_peers([])
        lab.set_queues([])
    assert (timing.files, timing.deletable) == (20_000, 10_000)


def _has_crashed(cluster: HBaseCluster, start_code: str) -> bool:
    """Whether the list of procedures has a crash procedure of that server, ended or not."""
    kind = "ServerCrashProcedure"
    return any(str(one["className"]).endswith(kind) and start_code in str(one) for one in cluster.procedures())


def _crash_procedures(cluster: HBaseCluster) -> list[dict[str, object]]:
    return [one for one in cluster.procedures() if "ServerCrashProcedure" in str(one) and one["state"] != "SUCCESS"]
