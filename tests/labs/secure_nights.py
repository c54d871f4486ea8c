"""Runs walsafe on a secure HBase 2, as Kerberos principals, and a night of one of them with its clean-up."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyspark

from jobs.cli.launch.jars_lock import jars_for, spark_of
from jobs.cli.launch.submit import QUICK_START
from tests.labs.cleanup.rights import set_acl
from tests.labs.cluster.classpath import HBASE_CLIENT, resolve
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.hdfs import HdfsCluster, Kerberos
from tests.labs.places import PROJECT
from tests.labs.spark.one_application import Done, OneApplication, one_application

WITHOUT_TTL = MappingProxyType({"hbase.master.logcleaner.ttl": "0", "hbase.backup.enable": "false"})
HOME = "/walsafe"
QUARANTINE, LAKE, LISTS = (f"{HOME}/{name}" for name in ("quarantine", "lake", "lists"))
CLEANER = "walsafe"
_CLUSTER = "secure"


@dataclass(frozen=True)
class Secure:
    """The cluster, and what its clients need."""

    hdfs: HdfsCluster
    hbase: HBaseCluster
    kerberos: Kerberos
    work: Path

    def site(self) -> Path:
        """Returns an hbase-site.xml for clients, which also tells the times to live."""
        return self.hbase.write_conf(self.work / "hbase-conf", WITHOUT_TTL) / "hbase-site.xml"

    def configuration(self, state: str = "zookeeper") -> str:
        """Writes a configuration, with `zookeeper` or `hbase` as the source of the peers; returns its path."""
        queues = {"source": "zookeeper", "quorum": self.hbase.zookeeper_quorum, "parent": f"/{self.hbase.name}"}
        section = {
            "files": {"source": "hadoop"},
            "queues": {**queues, "sasl": True, "timeout": "5m"},
            "state": {"source": state},
            "hbase": {"site": str(self.site()), "timeout": "5m"},
            "step_attempts": 1,
            "pause": "1s",
        }
        document = {
            "cluster": _CLUSTER,
            "wal_root": self.hbase.wal_root,
            "capture": section,
            # as it stands in the cluster's own hbase-site.xml
            "cleaners": {"interval": "24h"},
            "clean": {"quarantine": f"{self.hdfs.uri}{QUARANTINE}"},
        }
        config = self.work / f"{state}.yaml"
        config.write_text(json.dumps(document))
        return str(config)

    def capture(
        self, out: Path, *identity: str, state: str = "zookeeper", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs `capture` by spark-submit: files from HDFS, queues from ZooKeeper."""
        command = [
            *(str(Path(sys.executable).parent / "spark-submit"), *self._options(*resolve(HBASE_CLIENT)), *identity),
            *("--conf", "spark.sql.extensions=", str(PROJECT / "jobs" / "main.py")),
            *("capture", "--config", self.configuration(state), "--out", f"file:{out}"),
        ]
        settings = os.environ | self._environment() | environment
        return subprocess.run(command, env=settings, capture_output=True, text=True, check=False)

    @contextmanager
    def application(self, log: Path, *identity: str, **environment: str) -> Iterator[OneApplication]:
        """Starts an application that runs many commands; it has no client of HBase."""
        spark = spark_of(Path(pyspark.__file__).parent / "jars") or ""
        jars = jars_for(PROJECT / "jars.lock", PROJECT / ".jars", spark)
        with one_application(log, [*self._options(*jars), *identity], self._environment() | environment) as run:
            yield run

    def keys(self, principal: str) -> tuple[str, ...]:
        """Returns the options of spark-submit that log a principal in."""
        return ("--principal", principal, "--keytab", str(self.kerberos.keytab))

    def _options(self, *jars: Path) -> tuple[str, ...]:
        return (
            *("--properties-file", str(PROJECT / "conf" / "spark-defaults.conf")),
            *("--master", "local[1]", "--driver-memory", "700m", "--jars", ",".join(map(str, jars))),
            *("--conf", f"spark.driver.extraJavaOptions=-Djava.security.krb5.conf={self.kerberos.krb5_conf}"),
            *("--conf", f"spark.driver.defaultJavaOptions={QUICK_START}", "--conf", "spark.ui.enabled=false"),
        )

    def _environment(self) -> dict[str, str]:
        return {"HADOOP_CONF_DIR": str(self.hdfs.write_conf(self.work / "hadoop")), "PYSPARK_PYTHON": sys.executable}


@dataclass(frozen=True)
class SecureNight:
    """One run of an ordinary principal.

    Attributes:
        secure: the cluster.
        run: an application of that principal.
        work: a directory for files on the disk.
        run_id: of the decision.
    """

    secure: Secure
    run: OneApplication
    work: Path
    run_id: str = "night"

    def capture(self) -> Done:
        """Runs `capture`."""
        return self.run("capture", "--config", self.secure.configuration(), "--out", self._snapshot)

    def reconcile(self) -> Done:
        """Runs `reconcile` on the snapshot of `capture`."""
        return self.run("reconcile", *self._places(), *self._lists(), "--snapshot", self._snapshot)

    def explain(self, path: str) -> dict[str, Any]:
        """Returns what `explain` says of a file."""
        result = self.work / "explained.json"
        words = ("--lake", self._lake, "--cluster", _CLUSTER, "--result", str(result), path)
        done = self.run("explain", *words)
        assert done.exit_code == 0, done.text
        (answer,) = json.loads(result.read_text())["files"]
        return dict(answer)

    def clean(self, *words: str) -> Done:
        """Runs `clean`."""
        return self.run("clean", *self._places(), *self._lists(), *words)

    def restore(self) -> Done:
        """Runs `restore` for all files of the run."""
        return self.run("restore", *self._places(), "--run-id", self.run_id)

    def listed(self) -> set[str]:
        """Returns the paths on the list."""
        folder = f"{LISTS}/{_CLUSTER}/{self.run_id}"
        parts = [path for path in self._below(folder) if path.startswith("part-")]
        text = "".join(self.secure.hdfs.read_text(f"{folder}/{part}") for part in parts)
        return {line.removeprefix(f"{self.secure.hbase.wal_root}/") for line in text.splitlines()}

    def resting(self) -> set[str]:
        """Returns the files in quarantine, by the path that they had below the WAL root."""
        return self._below(f"{QUARANTINE}/{_CLUSTER}/{self.run_id}")

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
    def _snapshot(self) -> str:
        return f"file:{self.work}/snapshot-{self.run_id}"

    @property
    def _lake(self) -> str:
        return f"{self.secure.hdfs.uri}{LAKE}"

    def _places(self) -> tuple[str, ...]:
        return ("--config", self.secure.configuration(), "--cluster", _CLUSTER, "--lake", self._lake)

    def _lists(self) -> tuple[str, ...]:
        return ("--lists", f"{self.secure.hdfs.uri}{LISTS}", "--run-id", self.run_id)
