"""A night of an HBase 3 with Kerberos, its queues in the table `hbase:replication`, as an ordinary principal."""

import json
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.capture.sources.webhdfs_files import WebHdfsLister
from pipelines.capture.sources.zookeeper_queues import ZooKeeperQueues
from pipelines.capture.sources.zookeeper_sasl import SaslZooKeeperClient
from pipelines.common.errors import UnavailableError, UsageError
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.snapshot.extras import BACKUP
from pipelines.snapshot.model import Backup
from tests.labs.cleanup.rights import acl_commands
from tests.labs.cluster.hbase import start_hbase_jvm
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.secure import clock_off, grant, revoke, revoked
from tests.labs.ending_tickets import SMALL, decide_on_several, past_the_end, tried_again
from tests.labs.real_captures import read_back
from tests.labs.sasl_clients import known_realm, sasl_client
from tests.labs.secure_nights import (
    CLEANER,
    QUARANTINE,
    TABLE,
    Secure,
    SecureNight,
    clean_restore_and_purge,
    secure_cluster,
)
from tests.labs.spark.one_application import Done

pytestmark = [pytest.mark.realhbase, pytest.mark.long]

QUEUES = "hbase:replication"
GRANT_ADMIN, GRANT_READ = "grant 'USER', 'A' (docs", f"grant 'USER', 'R', '{QUEUES}' (docs"


@pytest.fixture(scope="module")
def secure(kerberos_hdfs: HdfsCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    work = tmp_path_factory.mktemp("secure-hbase-3")
    with secure_cluster(start_hbase_jvm, kerberos_hdfs, "secure-hbase-3", work) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def night(secure: Secure, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureNight]:
    """The ordinary principal, by keytab, with the rights of docs/cleanup-privileges.md."""
    acl_commands(secure.hdfs, f"/{secure.hbase.name}")
    work = tmp_path_factory.mktemp("night")
    with secure.application(work / "driver.log", *secure.keys()) as run:
        yield SecureNight(secure, run, work)


def through_webhdfs(night: SecureNight, work: Path) -> SecureNight:
    """The same user, whose files are moved one by one through WebHDFS, with a ticket for each request."""
    files = {"source": "webhdfs", "urls": [night.secure.hdfs.webhdfs()], "kerberos": True}
    return replace(night, work=work, files=files, cleaning=SMALL)


@pytest.mark.promise("kerberos-is-read")
def test_a_keytab_reads_every_source(secure: Secure, night: SecureNight, tmp_path: Path) -> None:
    night, known = replace(night, work=tmp_path, run_id="read"), secure.hbase.old_wals()
    done = night.capture()
    assert done.exit_code == 0, done.text
    taken = night.taken()
    assert {path for path, _ in taken.names} >= {file.path for file in known}
    for reading in taken.queues:
        assert {b64decode(json.loads(line)["row"]).partition(b"-")[0] for line in reading} == {b"one", b"two"}
    assert {peer.peer_id: peer.state for peer in taken.snapshot.peers} == {"one": "ENABLED", "two": "DISABLED"}
    # ZooKeeper tells everybody whether a znode exists, and nobody without SASL what is in it
    assert taken.snapshot.flags is not None
    assert taken.snapshot.flags.zk_queue_data is False
    assert {peer.sync_replication_state for peer in taken.snapshot.peers} == {None}


@pytest.mark.deep
@pytest.mark.promise("kerberos-is-read", "kerberos-clean-up")
def test_a_night_by_keytab_its_clean_up_restore_and_purge(night: SecureNight, tmp_path: Path) -> None:
    night = replace(night, work=tmp_path)
    answers = clean_restore_and_purge(night)
    assert set(answers.values()) == {"DELETE", "KEEP"}
    assert {path for path, _ in night.taken().names} >= set(answers)


@pytest.mark.deep
@pytest.mark.promise("kerberos-is-read")
def test_a_right_in_hbase_that_is_missing_is_named(secure: Secure, night: SecureNight, tmp_path: Path) -> None:
    night = replace(night, work=tmp_path, run_id="rights")
    hbase, site = secure.hbase, secure.site()
    with revoked(hbase, site, CLEANER, "ADMIN"):
        refused = [night.capture()]
        grant(hbase, site, CLEANER, "ADMIN", "@hbase")
        refused.append(night.capture())
        revoke(hbase, site, CLEANER, "ADMIN", "@hbase")
    with revoked(hbase, site, CLEANER, "READ", QUEUES):
        refused.append(night.capture())
    for done, ways in zip(refused, (GRANT_ADMIN, GRANT_ADMIN, GRANT_READ), strict=True):
        assert (done.exit_code, ways in done.text, "Insufficient permissions" in done.text) == (2, True, True), (
            done.text
        )
        assert "RemoteWithExtrasException" not in done.text
    assert list(tmp_path.iterdir()) == []  # not even a snapshot in the making


@pytest.mark.deep
def test_a_right_to_a_part_of_a_table_is_not_enough(secure: Secure, night: SecureNight, tmp_path: Path) -> None:
    """HBase would show such a user an empty table, if it is outside the namespace `hbase`."""
    grant(secure.hbase, secure.site(), CLEANER, "READ", TABLE, "f:nothing")

    def capture(out: str, **properties: str) -> Done:
        document = json.loads(Path(secure.configuration()).read_text())
        document["capture"]["hbase"]["properties"] = properties
        config = tmp_path / f"{out}.json"
        config.write_text(json.dumps(document))
        return night.run("capture", "--config", str(config), "--out", f"file:{tmp_path}/{out}")

    refused = capture("queues", **{"hbase.replication.queue.table.name": TABLE})
    way = f"may not read the whole table {TABLE}" in refused.text, f"grant 'USER', 'R', '{TABLE}'" in refused.text
    assert (refused.exit_code, way) == (2, (True, True)), refused.text
    assert not (tmp_path / "queues").exists()
    done = capture("backups", **{"hbase.backup.system.table.name": TABLE, "hbase.backup.enable": "true"})
    assert done.exit_code == 0, done.text
    taken = read_back(tmp_path / "backups").snapshot
    assert (taken.backup, BACKUP in taken.extras) == (Backup(enabled=True), False), "unknown, and not without a session"


@pytest.mark.deep
@pytest.mark.promise("kerberos-clean-up")
def test_a_second_look_that_lacks_a_right_moves_nothing(secure: Secure, night: SecureNight, tmp_path: Path) -> None:
    night = replace(night, work=tmp_path, run_id="second-look")
    for done in (night.capture(), night.reconcile()):
        assert done.exit_code == 0, done.text
    for right, way in ((("ADMIN",), GRANT_ADMIN), (("READ", QUEUES), GRANT_READ)):
        with revoked(secure.hbase, secure.site(), CLEANER, *right):
            done = night.clean("--execute")
        assert (done.exit_code, way in done.text) == (2, True), done.text
        assert night.resting() == set()


@pytest.mark.deep
@pytest.mark.promise("kerberos-is-read", "kerberos-clean-up")
def test_webhdfs_with_a_ticket_lists_and_moves_the_same(secure: Secure, night: SecureNight, tmp_path: Path) -> None:
    nights = []
    for name, extra in (("stranger", {}), ("ticket", {"kerberos": True})):
        (tmp_path / name).mkdir()
        files = {"source": "webhdfs", "urls": [secure.hdfs.webhdfs()], **extra}
        nights.append(replace(night, work=tmp_path / name, run_id=f"webhdfs-{name}", files=files))
    stranger, web = nights
    refused = stranger.capture()
    assert (refused.exit_code, "set kerberos: true in capture.files" in refused.text) == (2, True), refused.text
    rpc = replace(night, work=tmp_path, run_id="rpc")
    for done in (web.capture(), rpc.capture(), web.reconcile()):
        assert done.exit_code == 0, done.text
    one, other = (read_back(path) for path in (tmp_path / "ticket/snapshot-webhdfs-ticket", tmp_path / "snapshot-rpc"))
    assert one.files == other.files
    assert web.listed()
    known = secure.hbase.old_wals()
    with web.without(f"/{secure.hbase.name}/oldWALs", "user:walsafe:rwx"):
        refused = web.clean("--execute")
    assert (refused.exit_code, "Permission denied" in refused.text) == (2, True), refused.text
    assert web.resting() == set()
    done = web.clean("--execute")
    assert done.exit_code == 0, done.text
    assert web.resting() == web.listed()
    back = web.restore()
    assert back.exit_code == 0, back.text
    assert secure.hbase.old_wals() == known


@pytest.mark.deep
@pytest.mark.promise("ticket-that-ends")
def test_a_ticket_that_ends_between_two_batches_of_webhdfs(secure: Secure, night: SecureNight, tmp_path: Path) -> None:
    night, cache = replace(through_webhdfs(night, tmp_path), run_id="ending"), tmp_path / "tickets"
    decide_on_several(night)
    known = secure.hbase.old_wals()
    with past_the_end(night, by=cache) as (ending, done):
        assert (done.exit_code, "no valid Kerberos ticket" in done.text) == (2, True), done.text
        assert "run kinit" in done.text
        moved = ending.moved()
        assert 0 < len(moved) < len(ending.listed())
        assert ending.at_home(known) == [file for file in known if file.path not in moved]
        for refused in (replace(ending, run_id="ended").capture(), ending.clean("--resume")):
            assert refused.exit_code in (2, 4), refused.text
            assert "run kinit" in refused.text
        assert not list(tmp_path.glob("snapshot-ended*"))
        assert ending.moved() == moved
        secure.hdfs.save_ticket(secure.ordinary, cache)
        resumed = tried_again(lambda: ending.clean("--resume"))
        assert resumed.exit_code == 0, resumed.text
        assert ending.resting() == ending.listed()
        back = ending.restore()
        assert back.exit_code == 0, back.text
    assert night.at_home(known) == known


@pytest.mark.deep
@pytest.mark.promise("ticket-that-ends")
def test_a_keytab_gives_a_new_ticket_between_two_batches(secure: Secure, night: SecureNight, tmp_path: Path) -> None:
    night = replace(through_webhdfs(night, tmp_path), run_id="renewed")
    decide_on_several(night)
    known = secure.hbase.old_wals()
    with past_the_end(night) as (ending, done):
        # the driver may have slept in the middle of a request
        ended = ending.clean("--resume") if "Connection aborted" in done.text else done
        assert ended.exit_code == 0, ended.text
        assert ending.resting() == ending.listed()
        captured = tried_again(replace(ending, run_id="after").capture)
        assert captured.exit_code == 0, captured.text
        back = ending.restore()
        assert back.exit_code == 0, back.text
    assert night.at_home(known) == known


@pytest.mark.deep
@pytest.mark.promise("kerberos-clean-up")
def test_a_purge_needs_the_rights_of_the_second_look_and_the_quarantine(
    secure: Secure, night: SecureNight, tmp_path: Path
) -> None:
    night = replace(night, work=tmp_path, run_id="purged")
    for done in (night.capture(), night.reconcile(), night.clean("--execute")):
        assert done.exit_code == 0, done.text
    listed, at_home = night.listed(), secure.hbase.old_wals()
    assert night.resting() == listed
    assert listed
    words, root = ("--before-grace", "disk full", "--execute"), f"/{secure.hbase.name}"
    lacking = (
        (night.not_owned(QUARANTINE), "Permission denied"),
        (night.without(f"{root}/WALs", "user:walsafe:r-x"), "Permission denied"),
        (revoked(secure.hbase, secure.site(), CLEANER, "ADMIN"), GRANT_ADMIN),
        (revoked(secure.hbase, secure.site(), CLEANER, "READ", QUEUES), GRANT_READ),
    )
    for right, said in lacking:
        with right:
            refused = night.purge(*words)
        assert (refused.exit_code, said in refused.text) == (2, True), refused.text
        assert night.resting() == listed
    waits = night.purge("--execute")
    assert waits.exit_code == 0, waits.text
    assert night.resting() == listed
    with night.without(f"{root}/oldWALs", "user:walsafe:rwx"):
        done = night.purge(*words)
    assert done.exit_code == 0, done.text
    assert night.resting() == set()
    assert secure.hbase.old_wals() == at_home


@pytest.mark.deep
def test_a_ticket_cache_reads_the_same_until_it_expires(secure: Secure, tmp_path: Path) -> None:
    secure.hdfs.save_ticket(secure.ordinary, tmp_path / "tickets")
    done = secure.capture(tmp_path / "snapshot", KRB5CCNAME=f"FILE:{tmp_path}/tickets")
    assert done.returncode == 0, done.stderr[-3000:]
    for cache in ("expired", "none"):
        if cache == "expired":
            secure.hdfs.save_ticket(secure.ordinary, tmp_path / cache, expired=True)
        refused = secure.capture(tmp_path / "refused", KRB5CCNAME=f"FILE:{tmp_path}/{cache}")
        assert refused.returncode == 2, refused.stderr[-3000:]
        assert "no valid Kerberos ticket" in refused.stdout
        assert "run kinit" in refused.stdout
        assert not (tmp_path / "refused").exists()


@pytest.mark.deep
def test_a_clock_that_is_off(secure: Secure, tmp_path: Path) -> None:
    for jvm, asked in ((secure.hdfs.jvm, secure.hbase.wal_root), (secure.hbase.jvm, "cluster metrics")):
        with clock_off(jvm, secure.kerberos):
            refused = secure.capture(tmp_path / "refused", *secure.keys())
        assert refused.returncode == 2, refused.stdout + refused.stderr[-3000:]
        assert asked in refused.stdout
        assert "GSS initiate failed" in refused.stdout
        assert "check this machine's clock" in refused.stdout
        assert not (tmp_path / "refused").exists()


@pytest.fixture
def realm(spark: SparkSession, secure: Secure) -> Iterator[str]:
    with known_realm(spark, secure) as name:
        yield name


def read_in_two_sessions(reader: SaslZooKeeperClient) -> None:
    with reader.one_session():
        reader.close()
        reader.exists("/")


def test_every_znode_is_read_in_one_session(secure: Secure, spark: SparkSession, realm: str) -> None:
    """test_secure_hbase.py reads those of queues, which are here in the table."""
    del realm
    reader = sasl_client(spark, secure, secure.kerberos.queue_reader, secure.kerberos.keytab)
    znodes = ZooKeeperQueues(reader, f"/{secure.hbase.name}")
    assert {str(name) for name in znodes.online("online") or ()} == set(secure.hbase.online_servers())
    assert znodes.cluster_id() == secure.hbase.cluster_id
    assert {peer.peer_id: peer.state for peer in znodes.peers()} == {"one": "ENABLED", "two": "DISABLED"}
    assert reader.many(["/nothing", f"/{secure.hbase.name}/hbaseid"])[0] is None
    assert reader.children("/nothing") is None
    with pytest.raises(UnavailableError, match="the session ended"):
        read_in_two_sessions(reader)
    reader.close()


def test_what_is_wrong_is_said_in_one_sentence(secure: Secure, spark: SparkSession, realm: str, tmp_path: Path) -> None:
    own, system = secure.kerberos, HadoopJvm.of(spark).view.java.lang.System
    forbidden = sasl_client(spark, secure, own.principal, own.keytab)
    with pytest.raises(UsageError, match=f"replication may not be read by {own.principal}"):
        forbidden.children(f"/{secure.hbase.name}/replication")
    with pytest.raises(UsageError, match="peers/one may not be read"):
        forbidden.many([f"/{secure.hbase.name}/replication/peers/one"])
    with pytest.raises(UsageError, match=r"no Kerberos ticket for walsafe@.*kinit"):
        sasl_client(spark, secure, own.principal, tmp_path / "no.keytab").exists("/")
    with pytest.raises(UsageError, match="no Kerberos ticket for nobody@"):
        sasl_client(spark, secure, "nobody@EXAMPLE.COM", own.keytab).exists("/")
    urls = [secure.hdfs.webhdfs()]
    with pytest.raises(UsageError, match="Kerberos: set kerberos: true in capture"):
        list(WebHdfsLister(urls, secure.hbase.wal_root).pages("oldWALs"))
    with pytest.raises(UsageError, match=r"no valid Kerberos ticket .*kinit"):  # nobody is logged in to this JVM
        list(WebHdfsLister(urls, secure.hbase.wal_root, kerberos=HadoopJvm.of(spark)).pages("oldWALs"))
    system.setProperty("zookeeper.server.principal", "zookeeper/elsewhere")
    try:
        with pytest.raises(UsageError, match="did not accept the ticket of walsafe@"):
            sasl_client(spark, secure, own.principal, own.keytab).exists("/")
    finally:
        system.clearProperty("zookeeper.server.principal")
    silent = tmp_path / "krb5.conf"
    lines = own.krb5_conf.read_text().splitlines()
    silent.write_text("\n".join(line.split("=")[0] + "= localhost:1" if "kdc =" in line else line for line in lines))
    system.setProperty(realm, str(silent))
    with pytest.raises(UnavailableError, match="from the KDC"):
        sasl_client(spark, secure, own.principal, own.keytab).exists("/")
