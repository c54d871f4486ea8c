"""An HBase 2.6.4 with Kerberos, on an HDFS and a ZooKeeper with Kerberos, as an ordinary principal."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.capture.sources.export_parts import ExportDirectory
from pipelines.capture.sources.exported_znodes import ExportedZnodes
from pipelines.capture.sources.zookeeper_queues import ZooKeeperQueues
from pipelines.common.errors import UsageError
from pipelines.files.saved_text import LocalCopies
from pipelines.hbase.zookeeper.tree import parse_tree
from pipelines.snapshot.capture_order import ZOOKEEPER_CAPTURE_ORDER
from tests.labs.cleanup.rights import acl_commands
from tests.labs.cluster.classpath import HBASE_2, resolve
from tests.labs.cluster.hbase import start_hbase_2_jvm
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.secure import clock_off, grant, login_file
from tests.labs.ending_tickets import SMALL, decide_on_several, past_the_end
from tests.labs.export_script import run_export
from tests.labs.real_captures import read_back
from tests.labs.sasl_clients import known_realm, sasl_client
from tests.labs.secure_nights import (
    CLEANER,
    LAKE,
    LISTS,
    QUARANTINE,
    Secure,
    SecureNight,
    clean_restore_and_purge,
    secure_cluster,
)

pytestmark = [pytest.mark.realhbase, pytest.mark.long]


@pytest.fixture(scope="module")
def secure(kerberos_hdfs: HdfsCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    work = tmp_path_factory.mktemp("secure-hbase")
    with secure_cluster(start_hbase_2_jvm, kerberos_hdfs, "secure-hbase", work) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def night(secure: Secure, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureNight]:
    """The ordinary principal, by keytab, with the rights of docs/cleanup-privileges.md."""
    acl_commands(secure.hdfs, f"/{secure.hbase.name}")
    work = tmp_path_factory.mktemp("night")
    with secure.application(work / "driver.log", *secure.keys()) as run:
        yield SecureNight(secure, run, work)


@pytest.fixture(scope="module")
def by_ticket(secure: Secure, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureNight]:
    """The same principal, by ticket cache."""
    acl_commands(secure.hdfs, f"/{secure.hbase.name}")
    work = tmp_path_factory.mktemp("by-ticket")
    secure.hdfs.save_ticket(secure.ordinary, work / "tickets")
    with secure.application(work / "driver.log", KRB5CCNAME=f"FILE:{work}/tickets") as run:
        yield SecureNight(secure, run, work)


@pytest.fixture
def realm(spark: SparkSession, secure: Secure) -> Iterator[str]:
    with known_realm(spark, secure) as name:
        yield name


@pytest.mark.deep
@pytest.mark.promise("kerberos-is-read", "kerberos-clean-up")
def test_a_night_by_ticket_cache_agrees_with_hbases_cleaner(by_ticket: SecureNight, tmp_path: Path) -> None:
    night = replace(by_ticket, work=tmp_path)
    answers = clean_restore_and_purge(night)
    assert set(answers.values()) == {"DELETE", "KEEP"}
    # the server archives WALs of hbase:meta when it likes
    assert {path for path, _ in night.taken().names} >= set(answers)


@pytest.mark.deep
@pytest.mark.promise("kerberos-is-read")
def test_a_keytab_reads_the_same(night: SecureNight, by_ticket: SecureNight, tmp_path: Path) -> None:
    both = [replace(one, work=tmp_path, run_id=name) for name, one in (("keytab", night), ("ticket", by_ticket))]
    for one in both:
        done = one.capture()
        assert done.exit_code == 0, done.text
    keytab, ticket = (one.taken() for one in both)
    assert keytab.queues == ticket.queues
    assert keytab.snapshot.peers == ticket.snapshot.peers


@pytest.mark.deep
@pytest.mark.promise("kerberos-is-read")
def test_the_export_script_saves_the_same(
    secure: Secure, spark: SparkSession, realm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`hdfs` by the ticket, ZooKeeper by the JAAS file that an operator gives to the shell."""
    del realm
    krb5 = f"-Djava.security.krb5.conf={secure.kerberos.krb5_conf}"
    secure.hdfs.save_ticket(secure.kerberos.queue_reader, tmp_path / "tickets")
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/tickets")
    monkeypatch.setenv("HADOOP_CLIENT_OPTS", krb5)
    arguments = [secure.hbase.wal_root, str(tmp_path / "export"), "zookeeper"]
    hbase, hadoop_conf = [secure.site().parent, *resolve(HBASE_2)], secure.hdfs.write_conf(tmp_path / "hadoop")

    def run(principal: str) -> subprocess.CompletedProcess[str]:
        logins = login_file(tmp_path / "jaas.conf", secure.kerberos, Client=principal)
        monkeypatch.setenv("HBASE_SHELL_OPTS", f"{krb5} -Djava.security.auth.login.config={logins}")
        return run_export(tmp_path, arguments, hbase, hadoop_conf)

    refused = run(secure.kerberos.principal)
    assert refused.returncode != 0
    assert f"NoAuth for /{secure.hbase.name}/replication" in refused.stderr
    assert not (tmp_path / "export").exists()
    done = run(secure.kerberos.queue_reader)
    assert done.returncode == 0, done.stderr[-3000:]
    reader = sasl_client(spark, secure, secure.kerberos.queue_reader, secure.kerberos.keytab)
    live = ZooKeeperQueues(reader, f"/{secure.hbase.name}")
    saved = ExportedZnodes(ExportDirectory(str(tmp_path / "export"), LocalCopies()))
    assert saved.znodes("queues-2") == live.znodes("queues-2")
    assert saved.peers() == live.peers()
    assert "oldWALs" in (tmp_path / "export" / "files.txt").read_text()
    reader.close()


@pytest.mark.deep
def test_a_principal_that_may_read_the_files_alone(secure: Secure, tmp_path: Path) -> None:
    done = secure.capture(tmp_path / "snapshot", *secure.keys(secure.kerberos.principal))
    assert done.returncode == 2, done.stderr[-3000:]
    assert f"replication/peers may not be read by {secure.kerberos.principal}. HBase lets only" in done.stdout
    assert not (tmp_path / "snapshot").exists()


@pytest.mark.deep
@pytest.mark.promise("kerberos-clean-up")
def test_a_clean_up_that_lacks_one_of_the_documented_rights(secure: Secure, night: SecureNight, tmp_path: Path) -> None:
    root = f"/{secure.hbase.name}"
    night = replace(night, work=tmp_path, run_id="rights")
    for done in (night.capture(), night.reconcile()):
        assert done.exit_code == 0, done.text
    lacking = [
        (night.without(root, "user:walsafe:--x"), root),
        (night.without(f"{root}/WALs", "user:walsafe:r-x"), f"{root}/WALs"),
        (night.without(f"{root}/oldWALs", "user:walsafe:rwx"), f"{root}/oldWALs"),
        *((night.not_owned(directory), directory) for directory in (LISTS, LAKE, QUARANTINE)),
    ]
    for right, directory in lacking:
        with right:
            done = night.clean("--execute")
        assert (done.exit_code, "Permission denied" in done.text, directory in done.text) == (2, True, True), done.text
        assert night.resting() == set()
    done = night.clean("--execute")
    assert done.exit_code == 0, done.text
    with night.without(f"{root}/oldWALs", "user:walsafe:rwx"):
        back = night.restore()
    assert (back.exit_code, "Permission denied" in back.text) == (2, True), back.text
    assert night.restore().exit_code == 0


@pytest.mark.deep
def test_a_ticket_that_has_expired(secure: Secure, tmp_path: Path) -> None:
    secure.hdfs.save_ticket(secure.kerberos.queue_reader, tmp_path / "tickets", expired=True)
    done = secure.capture(tmp_path / "snapshot", KRB5CCNAME=f"FILE:{tmp_path}/tickets")
    assert done.returncode == 2, done.stderr[-3000:]
    assert "no Kerberos ticket for the owner of the ticket cache" in done.stdout
    assert "run kinit" in done.stdout
    assert not (tmp_path / "snapshot").exists()


@pytest.mark.deep
@pytest.mark.promise("ticket-that-ends")
def test_a_clean_up_goes_on_after_its_ticket_has_ended(secure: Secure, night: SecureNight, tmp_path: Path) -> None:
    """Spark has a delegation token of HDFS by then; what asks ZooKeeper needs a ticket."""
    night, cache = replace(night, work=tmp_path, run_id="ending", cleaning=SMALL), tmp_path / "tickets"
    decide_on_several(night)
    known = secure.hbase.old_wals()
    with past_the_end(night, by=cache) as (ending, done):
        assert done.exit_code == 0, done.text
        assert ending.resting() == ending.listed()
        again = replace(ending, run_id="ended")
        refused = again.capture()
        assert refused.exit_code == 2, refused.text
        assert "no Kerberos ticket for the owner of the ticket cache" in refused.text
        assert "run kinit" in refused.text
        assert not list(tmp_path.glob("snapshot-ended*"))
        back = ending.restore()
        assert back.exit_code == 0, back.text
        assert ending.at_home(known) == known
        secure.hdfs.save_ticket(secure.ordinary, cache)
        captured = again.capture()
        assert captured.exit_code == 0, captured.text


@pytest.mark.deep
def test_hbases_admin_answers_whoever_has_the_right_admin(secure: Secure, tmp_path: Path) -> None:
    identity = secure.keys()
    refused = secure.capture(tmp_path / "refused", *identity, state="hbase")
    assert refused.returncode == 2, refused.stderr[-3000:]
    # though ZooKeeper has that principal among the superusers
    assert "Insufficient permissions for user 'walsafe' (global, action=ADMIN)" in refused.stdout
    grant(secure.hbase, secure.site(), CLEANER, "ADMIN")
    done = secure.capture(tmp_path / "granted", *identity, state="hbase")
    assert done.returncode == 0, done.stderr[-3000:]
    taken = read_back(tmp_path / "granted", ZOOKEEPER_CAPTURE_ORDER)
    assert {peer.peer_id: peer.state for peer in taken.snapshot.peers} == {"one": "ENABLED", "two": "DISABLED"}


@pytest.mark.deep
def test_the_queues_are_read_from_znodes(secure: Secure, spark: SparkSession, realm: str) -> None:
    """test_secure_hbase_3.py reads the other znodes."""
    del realm
    reader = sasl_client(spark, secure, secure.kerberos.queue_reader, secure.kerberos.keytab)
    tree = parse_tree(ZooKeeperQueues(reader, f"/{secure.hbase.name}").znodes("queues-2"))
    (server,) = secure.hbase.online_servers()
    assert {(str(queue.owner), queue.queue.peer_id) for queue in tree.queues} == {(server, "one"), (server, "two")}
    reader.close()


@pytest.mark.deep
def test_a_clock_that_is_off(secure: Secure, spark: SparkSession, realm: str) -> None:
    del realm
    reader = sasl_client(spark, secure, secure.ordinary, secure.kerberos.keytab)
    with (
        clock_off(secure.hbase.jvm, secure.kerberos),
        pytest.raises(UsageError, match=r"did not accept the ticket of .*this machine's clock"),
    ):
        reader.exists("/")
    assert reader.exists("/")
    reader.close()
