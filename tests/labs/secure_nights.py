"""Runs walsafe on a secure HBase, as Kerberos principals, and a night of one of them with its clean-up."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyspark

from jobs.cli.launch.jars import jars_for, spark_of
from jobs.cli.launch.submit import CLASS_PATH, QUICK_START
from pipelines.snapshot.capture_order import CAPTURE_ORDER, ZOOKEEPER_CAPTURE_ORDER
from tests.labs.cleanup.rights import set_acl
from tests.labs.cluster.classpath import HBASE_CLIENT, resolve
from tests.labs.cluster.hbase import HBaseCluster, WalFile, wait_until
from tests.labs.cluster.hdfs import HdfsCluster, Kerberos
from tests.labs.cluster.jvm import Jvm
from tests.labs.cluster.oracle import Oracle, wait_shipped
from tests.labs.cluster.secure import grant, start_secure_hbase
from tests.labs.lake_rows import lake_rows
from tests.labs.places import PROJECT
from tests.labs.real_captures import HADOOP_FILES, Taken, read_back
from tests.labs.spark.local_session import archive_options
from tests.labs.spark.one_application import Done, OneApplication, one_application

WITHOUT_TTL = MappingProxyType({"hbase.master.logcleaner.ttl": "0", "hbase.backup.enable": "false"})
HOME = "/walsafe"
QUARANTINE, LAKE, LISTS = (f"{HOME}/{name}" for name in ("quarantine", "lake", "lists"))
CLEANER = "walsafe"
TABLE = "guarded"
RIGHTS_IN_HBASE = (("ADMIN",), ("READ", "hbase:replication"))
"""What docs/capture.md asks for in a cluster whose queues are in a table."""


@dataclass(frozen=True)
class Secure:
    """The cluster, and what its clients need."""

    hdfs: HdfsCluster
    hbase: HBaseCluster
    kerberos: Kerberos
    work: Path

    @property
    def in_table(self) -> bool:
        """Returns whether the queues are in a table, as HBase 3 keeps them."""
        return self.hbase.version().startswith("3")

    @property
    def ordinary(self) -> str:
        """Returns the principal whom the documented rights are given to."""
        return self.kerberos.principal if self.in_table else self.kerberos.queue_reader

    def site(self) -> Path:
        """Returns an hbase-site.xml for clients, which also tells the times to live."""
        return self.hbase.write_conf(self.work / "hbase-conf", WITHOUT_TTL) / "hbase-site.xml"

    def configuration(
        self, state: str | None = None, files: Mapping[str, object] = HADOOP_FILES, **clean: object
    ) -> str:
        """Writes a configuration; returns its path.

        Args:
            state: `zookeeper` or `hbase`, the source of the peers; None = `zookeeper` for HBase 2.
            files: the source of the listing.
            clean: keys of its section `clean`.
        """
        parent, quorum = f"/{self.hbase.name}", self.hbase.zookeeper_quorum
        znodes = {"source": "zookeeper", "quorum": quorum, "parent": parent, "sasl": True, "timeout": "5m"}
        state = state or ("hbase" if self.in_table else "zookeeper")
        section = {
            "files": files,
            "queues": {"source": "hbase"} if self.in_table else znodes,
            "state": {"source": state},
            "hbase": {"site": str(self.site()), "timeout": "5m"},
            "step_attempts": 1,
            "pause": "1s",
        }
        document = {
            "cluster": self.hbase.name,
            "wal_root": self.hbase.wal_root,
            "capture": section,
            # as it stands in the cluster's own hbase-site.xml
            "cleaners": {"interval": "24h"},
            "clean": {"quarantine": f"{self.hdfs.uri}{QUARANTINE}", **clean},
        }
        config = self.work / f"{state}-{files['source']}.yaml"
        config.write_text(json.dumps(document))
        return str(config)

    def capture(
        self, out: Path, *identity: str, state: str | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs `capture` by spark-submit: files from HDFS, queues from ZooKeeper or from the table."""
        command = [
            *(str(Path(sys.executable).parent / "spark-submit"), *self._options(*resolve(HBASE_CLIENT)), *identity),
            *("--conf", "spark.sql.extensions=", str(PROJECT / "jobs" / "main.py")),
            *("capture", "--config", self.configuration(state), "--out", f"file:{out}"),
        ]
        settings = os.environ | self._environment() | environment
        return subprocess.run(command, env=settings, capture_output=True, text=True, check=False)

    @contextmanager
    def application(self, log: Path, *identity: str, **environment: str) -> Iterator[OneApplication]:
        """Starts an application that runs many commands; it has HBase's client where the queues are in a table."""
        spark = spark_of(Path(pyspark.__file__).parent / "jars") or ""
        delta = jars_for(PROJECT / "jars.lock", PROJECT / ".jars", spark)
        options = self._options(*(resolve(HBASE_CLIENT) if self.in_table else ()), java=archive_options(delta))
        options += ("--conf", f"{CLASS_PATH}={os.pathsep.join(map(str, delta))}", *identity)
        with one_application(log, options, self._environment() | environment) as run:
            yield run

    def keys(self, principal: str | None = None) -> tuple[str, ...]:
        """Returns the options of spark-submit that log a principal in, by default the ordinary one."""
        principal = principal or self.ordinary
        return ("--principal", principal, "--keytab", str(self.kerberos.keytab))

    def _options(self, *jars: Path, java: str = "") -> tuple[str, ...]:
        return (
            *("--properties-file", str(PROJECT / "conf" / "spark-defaults.conf")),
            *("--master", "local[1]", "--driver-memory", "700m"),
            *(("--jars", ",".join(map(str, jars))) if jars else ()),
            *("--conf", f"spark.driver.extraJavaOptions=-Djava.security.krb5.conf={self.kerberos.krb5_conf}"),
            *("--conf", f"spark.driver.defaultJavaOptions={QUICK_START} {java}", "--conf", "spark.ui.enabled=false"),
        )

    def _environment(self) -> dict[str, str]:
        return {
            "HADOOP_CONF_DIR": str(self.hdfs.write_conf(self.work / "hadoop")),
            "KRB5_CONFIG": str(self.kerberos.krb5_conf),
            "PYSPARK_PYTHON": sys.executable,
        }


@contextmanager
def secure_cluster(start_jvm: Callable[..., Jvm], hdfs: HdfsCluster, name: str, work: Path) -> Iterator[Secure]:
    """Starts an HBase with archived WALs: some that nobody needs, and some that a disabled peer needs.

    The ordinary principal may capture it.

    Args:
        start_jvm: `start_hbase_jvm` or `start_hbase_2_jvm`.
        hdfs: an HDFS with Kerberos.
        name: of the cluster.
        work: a directory for its files on the disk.
    """
    cluster = start_secure_hbase(start_jvm, work, hdfs, name)
    try:
        cluster.create_table(TABLE)
        for table in ("hbase:acl", "hbase:namespace"):  # otherwise their edits keep WALs from the archive
            if cluster.harness.tableExists(table):
                cluster.count(table)  # answers when the regions are open, which a flush does not wait for
                cluster.flush(table)
        cluster.add_peer("one", "nowhere:2181:/hbase")
        cluster.archive_wals(TABLE)
        wait_shipped(cluster, TABLE)
        cluster.add_peer("two", "nowhere:2181:/hbase", enabled=False)
        cluster.archive_wals(TABLE)
        judge = Oracle(cluster)
        wait_until(lambda: "KEEP" in judge.verdicts(cluster.old_wals()), "a WAL that a peer needs is archived")
        for directory in (QUARANTINE, LAKE, LISTS):
            hdfs.create_directory(directory, CLEANER, 0o750)
        assert hdfs.kerberos is not None
        secure = Secure(hdfs, cluster, hdfs.kerberos, work)
        if secure.in_table:
            for right in RIGHTS_IN_HBASE:
                grant(cluster, secure.site(), CLEANER, *right)
        yield secure
    finally:
        cluster.jvm.close()


@dataclass(frozen=True)
class SecureNight:
    """One run of an ordinary principal.

    Attributes:
        secure: the cluster.
        run: runs one command as that principal.
        work: a directory for files on the disk.
        run_id: of the decision.
        snapshots: the URI of a folder for the snapshot; None = `work`.
        files: the source of the listing, and of the clean-up's moves.
        cleaning: keys of the section `clean` of the configuration.
    """

    secure: Secure
    run: Callable[..., Done]
    work: Path
    run_id: str = "night"
    snapshots: str | None = None
    files: Mapping[str, object] = field(default_factory=lambda: HADOOP_FILES)
    cleaning: Mapping[str, object] = field(default_factory=dict)

    def capture(self) -> Done:
        """Runs `capture`."""
        return self.run("capture", "--config", self._configuration, "--out", self._snapshot)

    def reconcile(self) -> Done:
        """Runs `reconcile` on the snapshot of `capture`."""
        return self.run("reconcile", *self._places(), *self._lists(), "--snapshot", self._snapshot)

    def explain(self, *paths: str) -> list[dict[str, Any]]:
        """Returns what `explain` says of files."""
        result = self.work / "explained.json"
        words = ("--lake", self._lake, "--cluster", self.secure.hbase.name, "--result", str(result), *paths)
        done = self.run("explain", *words)
        assert done.exit_code == 0, done.text
        return list(json.loads(result.read_text())["files"])

    def clean(self, *words: str) -> Done:
        """Runs `clean`."""
        return self.run("clean", *self._places(), *self._lists(), *words)

    def restore(self, *paths: str) -> Done:
        """Runs `restore` for some files of the run, or for all."""
        return self.run("restore", *self._places(), "--run-id", self.run_id, *paths)

    def purge(self, *words: str) -> Done:
        """Runs `purge` for the run."""
        return self.run("purge", *self._places(), "--run-id", self.run_id, *words)

    def taken(self) -> Taken:
        """Returns the snapshot of `capture`, if it is on the disk."""
        order = CAPTURE_ORDER if self.secure.in_table else ZOOKEEPER_CAPTURE_ORDER
        return read_back(self.work / f"snapshot-{self.run_id}", order)

    def verdicts(self) -> dict[str, dict[str, Any]]:
        """Returns the rows of the run in `wal_verdicts`, by path."""
        hdfs, copy = self.secure.hdfs, self.work / f"wal_verdicts-{self.run_id}"
        hdfs.file_system().copyToLocalFile(hdfs.path(f"{LAKE}/wal_verdicts"), hdfs.path(f"file:{copy}"))
        return {row["path"]: row for row in lake_rows(str(copy), f"run_id = '{self.run_id}'")}

    def listed(self) -> set[str]:
        """Returns the paths on the list."""
        folder = f"{LISTS}/{self.secure.hbase.name}/{self.run_id}"
        parts = [path for path in self._below(folder) if path.startswith("part-")]
        text = "".join(self.secure.hdfs.read_text(f"{folder}/{part}") for part in parts)
        return {line.removeprefix(f"{self.secure.hbase.wal_root}/") for line in text.splitlines()}

    def resting(self) -> set[str]:
        """Returns the files in quarantine, by the path that they had below the WAL root."""
        return self._below(f"{QUARANTINE}/{self.secure.hbase.name}/{self.run_id}")

    def at_home(self, known: Sequence[WalFile]) -> list[WalFile]:
        """Returns which of these files are below `oldWALs` as they were; HBase may archive others at any time."""
        home = {file.path: file for file in self.secure.hbase.old_wals()}
        return [file for file in known if home.get(file.path) == file]

    def moved(self) -> set[str]:
        """Returns the files that a job at work on the run has moved into the quarantine so far."""
        below = self._below(f"{QUARANTINE}/{self.secure.hbase.name}")
        return {path.partition("/")[2] for path in below if path.partition("/")[0].endswith(f"-{self.run_id}")}

    @contextmanager
    def without(self, directory: str, spec: str) -> Iterator[None]:
        """Meanwhile the user lacks what an entry of a directory's ACL gives."""
        set_acl(self.secure.hdfs, directory, f"user:{CLEANER}:---")
        yield
        set_acl(self.secure.hdfs, directory, spec)

    @contextmanager
    def not_owned(self, directory: str) -> Iterator[None]:
        """Meanwhile a directory is somebody else's."""
        files, path = self.secure.hdfs.file_system(), self.secure.hdfs.path(directory)
        files.setOwner(path, "hdfs", "hdfs")
        yield
        files.setOwner(path, CLEANER, CLEANER)

    def _below(self, directory: str) -> set[str]:
        hdfs = self.secure.hdfs
        if not hdfs.file_system().exists(hdfs.path(directory)):
            return set()
        walk, found = hdfs.file_system().listFiles(hdfs.path(directory), True), set()
        while walk.hasNext():
            found.add(str(walk.next().getPath().toUri().getPath()).removeprefix(f"{directory}/"))
        return found

    @property
    def _configuration(self) -> str:
        return self.secure.configuration(files=self.files, **self.cleaning)

    @property
    def _snapshot(self) -> str:
        return f"{self.snapshots or f'file:{self.work}'}/snapshot-{self.run_id}"

    @property
    def _lake(self) -> str:
        return f"{self.secure.hdfs.uri}{LAKE}"

    def _places(self) -> tuple[str, ...]:
        return ("--config", self._configuration, "--cluster", self.secure.hbase.name, "--lake", self._lake)

    def _lists(self) -> tuple[str, ...]:
        return ("--lists", f"{self.secure.hdfs.uri}{LISTS}", "--run-id", self.run_id)


def decide(night: SecureNight) -> dict[str, str]:
    """Captures and decides; returns what HBase's own cleaner said of each file before and after `capture`, by path."""
    judge, known = Oracle(night.secure.hbase), night.secure.hbase.old_wals()
    before = judge.verdicts(known)
    captured = night.capture()
    assert captured.exit_code == 0, captured.text
    assert judge.verdicts(known) == before, "the cluster moved meanwhile"
    decided = night.reconcile()
    assert decided.exit_code == 0, decided.text
    return dict(zip((file.path for file in known), before, strict=True))


def clean_up(night: SecureNight) -> dict[str, str]:
    """Decides, and moves what is listed into the quarantine; what HBase's own cleaner keeps stays at home.

    Returns the answers of `decide`.
    """
    answers = decide(night)
    kept = {path for path, one in answers.items() if one != "DELETE"}
    # WALs of hbase:replication wait for no peer
    waiting = sorted(path for path in kept if ".rep." not in path)
    waits = night.explain(*waiting)
    assert len(waits) == len(waiting) > 0
    assert {(answer["verdict"], answer["reason"]) for answer in waits} == {("HELD", "PENDING")}
    assert {holder["peer_id"] for answer in waits for holder in answer["holders"]} == {"two"}

    rehearsed = night.clean()
    assert rehearsed.exit_code == 0, rehearsed.text
    assert night.resting() == set()
    move(night, kept)
    return answers


def move(night: SecureNight, kept: set[str]) -> None:
    """Moves what is listed into the quarantine; what HBase's own cleaner keeps is not listed and stays at home."""
    listed = night.listed()
    assert kept
    assert listed
    assert not listed & kept
    done = night.clean("--execute")
    assert done.exit_code == 0, done.text
    assert night.resting() == listed
    assert kept <= {file.path for file in night.secure.hbase.old_wals()}


def clean_and_restore(night: SecureNight) -> None:
    """Cleans up, and moves all files back."""
    known = night.secure.hbase.old_wals()
    clean_up(night)
    back = night.restore()
    assert back.exit_code == 0, back.text
    assert night.resting() == set()
    assert night.at_home(known) == known


def clean_restore_and_purge(night: SecureNight) -> dict[str, str]:
    """Cleans up, moves one file back and deletes the others; returns the answers of `decide`.

    `wal_verdicts` agrees with HBase's own cleaner.
    """
    known = night.secure.hbase.old_wals()
    answers = clean_up(night)
    rows = {path: row for path, row in night.verdicts().items() if path in answers}
    assert {path: row["hbase_verdict"] for path, row in rows.items()} == answers
    # what HBase keeps is never freed; it is the only one to say DELETE of names that it does not track
    assert {answers[path] for path, row in rows.items() if row["verdict"] == "DELETABLE"} == {"DELETE"}

    back, *rest = sorted(night.resting())
    assert rest
    restored = night.restore(back)
    assert restored.exit_code == 0, restored.text
    assert night.resting() == set(rest)
    purged = night.purge("--before-grace", "disk full", "--execute")
    assert purged.exit_code == 0, purged.text
    assert night.resting() == set()
    assert night.at_home(known) == [file for file in known if file.path not in rest]
    return answers
