"""`--master yarn` on a YARN, an HDFS and an HBase with Kerberos, by keytab and by ticket cache."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.labs.cleanup.rights import acl_commands
from tests.labs.cluster.classpath import HBASE_CLIENT, resolve
from tests.labs.cluster.hbase import start_hbase_jvm
from tests.labs.cluster.hdfs import HdfsCluster, Kerberos
from tests.labs.inspected_wals import Inspected
from tests.labs.secure_nights import Secure, SecureNight, clean_and_restore, secure_cluster
from tests.labs.spark.one_application import Done
from tests.labs.spark.same_night import MANY_SMALL_TASKS, Night, assert_same, reconcile
from tests.labs.spark.submitter import Submitter
from tests.labs.spark.yarn import SMALL, YarnCluster

pytestmark = [pytest.mark.realhbase, pytest.mark.deep]

USER = "walsafe"
CONTAINERS = ("yarn.appMasterEnv", "executorEnv")


@dataclass(frozen=True)
class SecureYarn:
    """The cluster, and what a client needs."""

    yarn: YarnCluster
    hdfs: HdfsCluster
    kerberos: Kerberos
    conf_dir: Path
    tickets: Path

    @property
    def _realm(self) -> str:
        return f"-Djava.security.krb5.conf={self.kerberos.krb5_conf}"  # elsewhere Java reads /etc/krb5.conf

    def settings(self, mode: str, by: str) -> str:
        """Returns the options of spark-submit for the ordinary principal."""
        homes = " ".join(f"--conf spark.{of}.JAVA_TOOL_OPTIONS={self._realm}" for of in CONTAINERS)
        login = f"--principal {self.kerberos.principal} --keytab {self.kerberos.keytab}" if by == "keytab" else ""
        driver = "--conf spark.driver.host=127.0.0.1" if mode == "client" else ""
        return f"--master yarn --deploy-mode {mode} {SMALL} {homes} {login} {driver}"

    def environment(self, by: str) -> dict[str, str]:
        """Returns the variables of a client; without a keytab it has a ticket cache."""
        return {
            "HADOOP_CONF_DIR": str(self.conf_dir),
            "JAVA_TOOL_OPTIONS": f"-XX:TieredStopAtLevel=1 {self._realm}",
            "KRB5CCNAME": f"FILE:{self.tickets if by == 'ticket' else '/no/tickets'}",
        }


@pytest.fixture(scope="module")
def secure(kerberos_hdfs: HdfsCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureYarn]:
    work, kerberos = tmp_path_factory.mktemp("secure-yarn"), kerberos_hdfs.kerberos
    assert kerberos is not None
    kerberos_hdfs.create_directory(f"/user/{USER}", USER)
    kerberos_hdfs.create_directory("/tmp", "hdfs", 0o1777)  # noqa: S108 - of HDFS
    kerberos_hdfs.create_directory("/on-yarn", USER, 0o700)
    kerberos_hdfs.save_ticket(kerberos.principal, work / "tickets")
    yarn = YarnCluster(work, kerberos_hdfs.client_properties, kerberos=kerberos)
    try:
        yield SecureYarn(yarn, kerberos_hdfs, kerberos, yarn.write_conf(work / "conf"), work / "tickets")
    finally:
        yarn.close()


@pytest.fixture(scope="module")
def hbase(kerberos_hdfs: HdfsCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    """An HBase 3 on the same HDFS, which the ordinary principal may capture and clean up."""
    work = tmp_path_factory.mktemp("secure-hbase-3-on-yarn")
    with secure_cluster(start_hbase_jvm, kerberos_hdfs, "secure-hbase-3-on-yarn", work) as cluster:
        acl_commands(kerberos_hdfs, f"/{cluster.hbase.name}")
        yield cluster


def upload(hdfs: HdfsCluster, source: Path, target: str) -> str:
    """Copies a folder into the secure HDFS, where only the user may read it; returns its URI."""
    hdfs.file_system().copyFromLocalFile(hdfs.path(f"file://{source}"), hdfs.path(target))
    found = hdfs.file_system().listFiles(hdfs.path(target), True)
    while found.hasNext():
        file = found.next().getPath()
        hdfs.file_system().setOwner(file, USER, USER)
        hdfs.set_permission(str(file.toUri().getPath()), 0o400)
    return f"{hdfs.uri}{target}"


@pytest.mark.promise("secure-yarn-runs")
@pytest.mark.parametrize(("mode", "by"), [("client", "ticket"), ("cluster", "keytab")])
def test_a_night_that_only_the_user_may_read(
    submit: Submitter, secure: SecureYarn, snapshots: Path, here: Night, tmp_path: Path, mode: str, by: str
) -> None:
    fleet = upload(secure.hdfs, snapshots, f"/on-yarn/fleet-{mode}-{by}")
    spark = f"{secure.settings(mode, by)} {MANY_SMALL_TASKS}"
    there = reconcile(submit, fleet, tmp_path, spark, env=secure.environment(by))
    assert_same(here, there)


@pytest.mark.promise("secure-yarn-runs")
@pytest.mark.parametrize(("mode", "by"), [("client", "keytab"), ("cluster", "ticket")])
def test_executors_read_wals_by_their_tokens(
    submit: Submitter, secure: SecureYarn, spark: SparkSession, tmp_path: Path, mode: str, by: str
) -> None:
    target, lake = f"/on-yarn/inspected-{mode}-{by}", f"{secure.hdfs.uri}/on-yarn/lake-{mode}-{by}"
    inspected = Inspected(spark, tmp_path, f"{secure.hdfs.uri}{target}")
    upload(secure.hdfs, inspected.hbase, target)
    words = ("--snapshot", f"file:{inspected.snapshot}", "--lake", lake, "--output", "json")
    environment = secure.environment(by) | {"SPARK_SUBMIT_ARGS": secure.settings(mode, by)}
    done = submit("inspect-wals", *words, env=environment)
    assert done.returncode == 5, done.stderr + secure.yarn.logs()
    assert json.loads(done.stdout)["endings"] == {"CLOSED": 5, "NO_HEADER": 1, "OPEN": 2}
    made = secure.hdfs.file_system().getFileStatus(secure.hdfs.path(f"{lake}/wal_files"))
    assert made.getOwner() == USER


@pytest.mark.promise("secure-yarn-runs", "kerberos-clean-up")
@pytest.mark.parametrize(("mode", "by"), [("client", "ticket"), ("cluster", "keytab")])
def test_the_capture_and_the_clean_up_of_an_hbase(
    submit: Submitter, secure: SecureYarn, hbase: Secure, tmp_path: Path, mode: str, by: str
) -> None:
    clients = ",".join(map(str, resolve(HBASE_CLIENT)))
    environment = secure.environment(by) | {"SPARK_SUBMIT_ARGS": f"{secure.settings(mode, by)} --jars {clients}"}

    def on_yarn(*words: str) -> Done:
        done = submit(*words, env=environment)
        return Done(done.returncode, f"{done.stdout}{done.stderr}{secure.yarn.logs()}")

    snapshots = f"{secure.hdfs.uri}/on-yarn"
    clean_and_restore(SecureNight(hbase, on_yarn, tmp_path, f"{mode}-{by}", snapshots))
