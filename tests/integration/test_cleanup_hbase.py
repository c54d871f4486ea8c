"""The clean-up on the real thing: two replicating clusters on one HDFS.

Every job runs as a user who has the rights of docs/cleanup-privileges.md and no others.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tests.labs.cleanup.real import CLEANER, HOME, RUN, RealLab
from tests.labs.cleanup.real_wals import FABRICATED, fabricate, free, held, of_tables
from tests.labs.cleanup.rights import acl_commands, set_acl
from tests.labs.cluster.hbase import HBaseCluster, wait_until
from tests.labs.cluster.hbase_data import ROWS
from tests.labs.cluster.hdfs import HdfsCluster

pytestmark = pytest.mark.realhbase

TABLE, PEER = "cleanup", "cleaned"
NO_LIMIT = (1 << 63) - 1


@pytest.fixture(scope="module")
def cleaner(
    hbase_cluster: HBaseCluster, peer_cluster: HBaseCluster, hdfs_cluster: HdfsCluster, hbase_spark: SparkSession
) -> Iterator[SparkSession]:
    """The session, its JVM logged in as the user of the clean-up; nobody else but HBase may look below its root."""
    root, files = f"/{hbase_cluster.name}", hdfs_cluster.file_system()
    for peer_id in hbase_cluster.peers():
        hbase_cluster.remove_peer(peer_id)
    for cluster in (hbase_cluster, peer_cluster):
        cluster.create_table(TABLE)
    for name in ("lake", "quarantine"):
        files.mkdirs(hdfs_cluster.path(f"{HOME}/{name}"))
        files.setOwner(hdfs_cluster.path(f"{HOME}/{name}"), CLEANER, CLEANER)
    before = files.getFileStatus(hdfs_cluster.path(root)).getPermission()
    hdfs_cluster.set_permission(root, 0o700)
    acl_commands(hdfs_cluster, root)
    jvm: Any = hbase_spark.sparkContext._jvm
    information = jvm.org.apache.hadoop.security.UserGroupInformation
    user = information.getLoginUser()
    information.setLoginUser(information.createRemoteUser(CLEANER))
    try:
        yield hbase_spark
    finally:
        information.setLoginUser(user)
        for directory in (root, f"{root}/WALs", f"{root}/oldWALs"):
            files.removeAcl(hdfs_cluster.path(directory))
        files.setPermission(hdfs_cluster.path(root), before)
        for peer_id in hbase_cluster.peers():
            hbase_cluster.remove_peer(peer_id)


@pytest.fixture(scope="module")
def opened(
    cleaner: SparkSession,
    hbase_cluster: HBaseCluster,
    peer_cluster: HBaseCluster,
    hdfs_cluster: HdfsCluster,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., RealLab]:
    """Makes labs on a cluster that has shipped all it could, its peer disabled, with a row that waits for it."""
    hbase_cluster.add_peer(PEER, peer_cluster.cluster_key)

    def of(name: str, files: str = "hadoop") -> RealLab:
        if hbase_cluster.peers()[PEER] != "ENABLED":
            hbase_cluster.enable_peer(PEER)
        # each server ships something beyond its archived WALs, else an idle one owes its offset forever
        hbase_cluster.archive_wals(TABLE)
        hbase_cluster.put(TABLE, [f"{letter} before {name}" for letter in ROWS])
        hbase_cluster.wait_replicated(TABLE, peer_cluster, hbase_cluster.count(TABLE))
        wait_until(lambda: bool(free(hbase_cluster)), "an archived WAL of the table's servers has been shipped")
        hbase_cluster.disable_peer(PEER)
        hbase_cluster.put(TABLE, [f"waits for {name} {number}" for number in range(30)])
        hbase_cluster.archive_wals(TABLE)
        fabricate(hdfs_cluster, hbase_cluster)
        return RealLab(hbase_cluster, hdfs_cluster, cleaner, tmp_path_factory.mktemp(name), name, files)

    return of


def assert_explained(lab: RealLab, needed: str, free: str) -> None:
    """What explain says of a WAL that waits for the disabled peer, and of one that has been shipped."""
    waits, shipped = lab.explain(needed, free)
    assert (waits["path"], waits["run_id"], waits["verdict"], waits["reason"]) == (needed, RUN, "HELD", "PENDING")
    assert (waits["hbase_verdict"], waits["server"] in lab.cluster.online_servers()) == ("KEEP", True)
    assert unquote(needed).startswith(f"oldWALs/{waits['server']}.")
    (holder,) = waits["holders"]
    assert (holder["peer_id"], holder["peer_state"]) == (PEER, "DISABLED")
    assert holder["owner"] == holder["source"] == waits["server"]
    assert holder["pending_files"] > 0
    assert f"enable_peer '{PEER}'" in holder["remedy"]
    assert (shipped["path"], shipped["verdict"]) == (free, "DELETABLE")
    assert shipped["reason"] in {"REPLICATED", "DEAD_NO_QUEUE"}, (
        "of a live server, or of one that other tests have crashed"
    )
    assert (shipped["hbase_verdict"], shipped["holders"], shipped["way_out"]) == ("DELETE", [], "")


def assert_refused(lab: RealLab, peer_cluster: HBaseCluster) -> None:
    """The clean-up where a peer was added since, and with a second look at another cluster.

    test_cleanup.py has lists that somebody touched, and those that are too old.
    """
    lab.cluster.add_peer("late", peer_cluster.cluster_key, enabled=False)
    try:
        code, said = lab.attempt()
    finally:
        lab.cluster.remove_peer("late")
    assert (code, "peer 'late' was added since the list was decided" in said) == (3, True), said
    code, said = replace(lab, site_of=peer_cluster).attempt()
    # the second look is no snapshot at all: its servers have no directory here (test_cleanup.py has the differing id)
    assert (code, "wal_root belongs to another cluster than HBase's answers" in said) == (3, True), said


@pytest.mark.slow("capture, reconcile, explain, clean, restore and purge on a real HBase that replicates meanwhile")
@pytest.mark.promise("deletable-in-both-looks", "explain-answers", "clean-stops-where-reconcile-holds")
@pytest.mark.parametrize("files", [pytest.param("hadoop", marks=pytest.mark.deep), "webhdfs"])
def test_every_row_arrives_after_a_clean_up(
    opened: Callable[..., RealLab], peer_cluster: HBaseCluster, files: str
) -> None:
    lab = opened(f"story-{files}", files)
    start, keeps = lab.home(), held(lab)
    arrived = peer_cluster.count(TABLE)
    assert keeps, "nothing waits for the peer: nothing would be proved"
    lab.night()
    listed = lab.listed()
    assert len(listed) > FABRICATED
    assert not listed & keeps
    assert_explained(lab, of_tables(keeps), of_tables(listed))
    assert lab.clean().result["done_files"] == len(listed)
    assert_refused(lab, peer_cluster)
    now = lab.home()
    # HBase may have archived another WAL meanwhile
    assert {path: now.get(path) for path in start} == start
    assert lab.resting() == {}
    done = lab.clean(execute=True)
    assert (done.exit_code, done.result["status"], done.result["done_files"]) == (0, "DONE", len(listed)), done.text
    assert set(lab.resting()) == listed
    assert keeps <= set(lab.home())
    assert peer_cluster.count(TABLE) == arrived
    lab.assert_audit_is_true()

    lab.cluster.enable_peer(PEER)
    lab.cluster.put(TABLE, [f"after {files} {number}" for number in range(30)])
    lab.cluster.wait_replicated(TABLE, peer_cluster, lab.cluster.count(TABLE))
    assert lab.cluster.count(TABLE) == arrived + 60

    half = sorted(listed)[::2]
    restored = lab.restore(half)
    assert (restored.exit_code, restored.result["done_files"]) == (0, len(half))
    assert set(half) <= set(lab.home())
    purged = lab.purge("the disk is full")
    assert purged.exit_code == 0, purged.text
    assert lab.resting() == {}
    lab.assert_nothing_is_lost(start)
    assert sorted(lab.outcomes().values()) == ["PURGED"] * (len(listed) - len(half)) + ["RESTORED"] * len(half)
    lab.cluster.put(TABLE, [f"at last {files} {number}" for number in range(30)])
    lab.cluster.wait_replicated(TABLE, peer_cluster, lab.cluster.count(TABLE))
    assert peer_cluster.count(TABLE) == arrived + 90


# faults


@pytest.mark.long
@pytest.mark.promise("hbases-cleaner-is-no-rival")
def test_faults_of_hdfs_one_after_the_other(opened: Callable[..., RealLab], hdfs_cluster: HdfsCluster) -> None:
    lab = replace(opened("faults"), batch=10)
    files, quarantine = hdfs_cluster.file_system(), hdfs_cluster.path(lab.quarantine)
    lab.night()
    lab.put_lake_on_hdfs()
    start, listed = lab.home(), lab.listed()

    # the quarantine is somebody else's
    files.mkdirs(quarantine)
    code, said = lab.attempt()
    assert (code, "Permission denied" in said, lab.quarantine in said) == (2, True, True), said
    assert lab.resting() == {}
    files.setOwner(quarantine, CLEANER, CLEANER)

    # the name node goes into safe mode after an intent
    lab.happens("store", "move", lambda: hdfs_cluster.safe_mode(True))
    try:
        code, said = lab.attempt()
    finally:
        hdfs_cluster.safe_mode(False)
    assert (code, "safe mode" in said.lower()) == (4, True), said
    lab.assert_nothing_is_lost(start)

    # a quota lets the quarantine's directory and one file more in
    def limit() -> None:
        used = files.getQuotaUsage(quarantine).getFileAndDirectoryCount()
        files.setQuota(quarantine, used + 2, NO_LIMIT)

    lab.lease_expires()
    lab.happens("store", "move", limit)
    code, said = lab.attempt(resume=True)
    assert (code, "quota" in said.lower()) == (4, True), said
    lab.assert_nothing_is_lost(start)
    assert 0 < len(lab.resting()) < lab.batch
    files.setQuota(quarantine, -1, -1)

    # files are moved, and the lake does not take their outcomes
    lab.lease_expires()
    logs = f"{HOME}/lake/deletions/_delta_log"
    lab.happens("store", "move", lambda: hdfs_cluster.set_permission(logs, 0o500))
    code, said = lab.attempt(resume=True)
    assert (code, "deletions" in said, "check owner and permissions" in said) == (2, True, True), said
    hdfs_cluster.set_permission(logs, 0o755)
    lab.assert_nothing_is_lost(start)
    moved = set(lab.resting())
    assert moved > {path for path, outcome in lab.outcomes().items() if outcome == "MOVED"}, "none is unwritten"

    # HBase's own cleaner was quicker: before the second look, and after it
    early, late = sorted(listed - moved)[:3], sorted(listed - moved)[-2:]

    def take(paths: list[str]) -> None:
        for path in paths:
            assert files.delete(hdfs_cluster.path(f"/{lab.cluster.name}/{path}"), False)

    take(early)
    # and one file is another since the list was decided
    anew = sorted(listed - moved)[3]
    hdfs_cluster.create_file(f"/{lab.cluster.name}/{anew}", b"another file of that name, and of another length")
    lab.lease_expires()
    lab.happens("audit", "intend", lambda: take(late))
    code, said = lab.attempt(resume=True)
    assert (code, "5 are gone already" in said) == (0, True), said
    assert re.search(rf"CHANGED +{re.escape(anew)}: it has 48 bytes", said)
    lab.assert_nothing_is_lost({**start, anew: lab.home()[anew]}, taken=[*early, *late])
    lab.assert_audit_is_true()
    outcomes = lab.outcomes()
    assert {outcomes[path] for path in (*early, *late)} == {"ALREADY_GONE"}
    assert outcomes[anew] == "CHANGED"
    assert set(lab.resting()) == listed - {*early, *late, anew}


# rights


def test_the_same_user_can_touch_nothing_else(
    cleaner: SparkSession, hbase_cluster: HBaseCluster, hdfs_cluster: HdfsCluster
) -> None:
    hbase_cluster.put(TABLE)
    hbase_cluster.flush(TABLE)
    tables = [file.path for file in hbase_cluster.files("data") if f"/{TABLE}/" in file.path]
    wals = [file.path for file in hbase_cluster.files("WALs")]
    before = {file.path for name in ("data", "WALs") for file in hbase_cluster.files(name)}
    context: Any = cleaner.sparkContext
    fs = context._jvm.org.apache.hadoop.fs
    root = fs.Path(hbase_cluster.wal_root)
    theirs = root.getFileSystem(context._jsc.hadoopConfiguration())
    own = fs.Path(f"{hdfs_cluster.uri}{HOME}/quarantine/stolen")
    for path in (fs.Path(root, one) for one in (min(tables), min(wals), "hbase.id")):
        attempts = ((theirs.delete, path, False), (theirs.rename, path, own), (theirs.create, path.suffix(".new")))
        for attempt, *arguments in attempts:
            with pytest.raises(Py4JJavaError, match=f"Permission denied: user={CLEANER}"):
                attempt(*arguments)
    assert before <= {file.path for name in ("data", "WALs") for file in hbase_cluster.files(name)}
    # and where it may write, it can: the denials above are not those of a user who may nothing
    made = fs.Path(root, "oldWALs/made")
    theirs.create(made).close()
    assert theirs.rename(made, own)
    assert theirs.delete(own, False)


def test_hbase_can_delete_what_restore_put_into_a_directory_of_its_own(
    cleaner: SparkSession, hbase_cluster: HBaseCluster, hdfs_cluster: HdfsCluster
) -> None:
    """With `hbase.separate.oldlogdir.by.regionserver` restore may have to make the server's directory again."""
    context: Any = cleaner.sparkContext
    fs = context._jvm.org.apache.hadoop.fs
    server = fs.Path(f"{hbase_cluster.wal_root}/oldWALs/h1,16020,1")
    theirs = server.getFileSystem(context._jsc.hadoopConfiguration())
    assert theirs.mkdirs(server)
    theirs.create(fs.Path(server, "wal")).close()
    # as the owner of its root has them
    set_acl(hdfs_cluster, f"/{hbase_cluster.name}", "user:hbase:--x")
    set_acl(hdfs_cluster, f"/{hbase_cluster.name}/oldWALs", "user:hbase:rwx")
    information = context._jvm.org.apache.hadoop.security.UserGroupInformation
    as_hbase = information.createRemoteUser("hbase")
    user = information.getLoginUser()
    information.setLoginUser(as_hbase)
    try:
        assert fs.FileSystem.newInstance(server.toUri(), context._jsc.hadoopConfiguration()).delete(server, True)
    finally:
        information.setLoginUser(user)
