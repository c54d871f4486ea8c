"""Plays a small upgrade to HBase 3: queues in ZooKeeper as HBase 2 left them, and the cluster that takes them over."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.cli.config.configuration import parse_config
from jobs.cli.context import JobContext
from tests.labs.cluster.conf import write_site
from tests.labs.cluster.hbase import HBaseCluster, wait_until
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.jvm import Jvm
from tests.labs.job_answer import job_answer

NAME = "upgraded"
BASE = f"/{NAME}/replication"
MAGIC = b"PBUF"
ENABLED, DISABLED = MAGIC + b"\x08\x00", MAGIC + b"\x08\x01"
LEGACY = "region_replica_replication"
LEGACY_ENDPOINT = "org.apache.hadoop.hbase.replication.regionserver.RegionReplicaReplicationEndpoint"
ON, OFF = "on", "off"
OLD, DEAD, GONE = (
    f"{host}.example.org,16020,{1_700_000_000_000 + n}" for n, host in enumerate(("old", "dead", "gone"))
)
REGION = "0123456789abcdef0123456789abcdef"
MIGRATION = "MigrateReplicationQueueFromZkToTableProcedure"


def group(server: str) -> str:
    return server.replace(",", "%2C")


def wal(server: str, number: int) -> str:
    return f"{group(server)}.{1_700_000_000_000 + number}"


def at(position: int) -> bytes:
    """Returns a position as HBase 2 writes it, without the varint's second byte."""
    return MAGIC + b"\x08" + bytes([position])


def _text(number: int, value: str) -> bytes:
    return bytes([number << 3 | 2, len(value)]) + value.encode()


def znodes(quorum: str) -> dict[str, bytes]:
    """Returns the znodes that the old cluster left. No peer can be reached, so nothing is ever shipped."""
    key = _text(1, f"{quorum}:/nowhere")
    return {
        f"/{NAME}/hbaseid": b"of an HBase that has gone, with its root directory",
        f"{BASE}/peers/{ON}": MAGIC + key,
        f"{BASE}/peers/{ON}/peer-state": ENABLED,
        f"{BASE}/peers/{OFF}": MAGIC + key,
        f"{BASE}/peers/{OFF}/peer-state": DISABLED,
        f"{BASE}/peers/{LEGACY}": MAGIC + key + _text(2, LEGACY_ENDPOINT),
        f"{BASE}/peers/{LEGACY}/peer-state": ENABLED,
        # 9 before 10: by number, not by letter
        f"{BASE}/rs/{OLD}/{ON}/{wal(OLD, 10)}": at(5),
        f"{BASE}/rs/{OLD}/{ON}/{wal(OLD, 9)}": at(3),
        f"{BASE}/rs/{OLD}/{OFF}/{wal(OLD, 10)}": b"",
        f"{BASE}/rs/{OLD}/{OFF}/{group(OLD)}.extra.{1_700_000_000_004}": at(8),
        f"{BASE}/rs/{OLD}/{LEGACY}/{wal(OLD, 10)}": b"",
        f"{BASE}/rs/{OLD}/removed/{wal(OLD, 9)}": at(1),
        # claimed twice: the queue's first owner counts
        f"{BASE}/rs/{OLD}/{OFF}-{GONE}-{DEAD}/{wal(GONE, 1)}": (443).to_bytes(8, "big"),
        f"{BASE}/rs/{DEAD}/{OFF}/{wal(DEAD, 7)}": at(0),
        f"{BASE}/rs/{DEAD}/{ON}": b"",
        f"{BASE}/hfile-refs/{OFF}/hfile-1": b"",
        f"{BASE}/hfile-refs/{OFF}/hfile-2": b"",
        f"{BASE}/hfile-refs/removed/hfile-3": b"",
        f"{BASE}/regions/{REGION[:2]}/{REGION[2:4]}/{REGION[4:]}-{ON}": at(9),
        f"{BASE}/regions/{REGION[:2]}/{REGION[2:4]}/{REGION[4:]}-removed": at(9),
    }  # fmt: skip


FILES = (
    f"oldWALs/{wal(OLD, 9)}",
    f"oldWALs/{wal(OLD, 10)}",
    f"oldWALs/{group(OLD)}.extra.{1_700_000_000_004}",
    f"oldWALs/{wal(GONE, 1)}",
    # a directory of a server that nobody has declared dead yet: the new master runs its crash procedure
    f"WALs/{DEAD}/{wal(DEAD, 7)}",
)
"""Empty ones, as nobody reads them."""


@dataclass
class Upgrade:
    """Runs the steps of an upgrade, each called once and in order."""

    jvm: Jvm
    hdfs: HdfsCluster
    zookeeper: HBaseCluster
    spark: SparkSession
    work: Path
    clusters: list[HBaseCluster] = field(default_factory=list)
    told: dict[str, str] = field(default_factory=dict)

    @property
    def quorum(self) -> str:
        return f"127.0.0.1:{self.zookeeper.harness.property('hbase.zookeeper.property.clientPort')}"

    @property
    def wal_root(self) -> str:
        return f"{self.hdfs.uri}/{NAME}-wals"

    @cached_property
    def client(self) -> KazooClient:
        client = KazooClient(hosts=self.quorum)
        client.start(timeout=300)
        return client

    def leave(self) -> None:
        """Writes what the old cluster left: znodes and files."""
        for path, data in znodes(self.quorum).items():
            self.put(path, data)
        for path in FILES:
            self.hdfs.create_file(f"/{NAME}-wals/{path}")

    def put(self, path: str, data: bytes) -> None:
        if self.client.exists(path):  # created on the way to a znode below it
            self.client.set(path, data)
        else:
            self.client.create(path, data, makepath=True)

    def start(self) -> HBaseCluster:
        """Starts HBase 3 for the first time; it begins the migration by itself."""
        self.clusters.append(
            HBaseCluster(
                self.jvm,
                self.hdfs,
                NAME,
                1,
                zookeeper_of=self.zookeeper,
                properties={
                    # the old WALs must not be below a root directory that HBase still has to create
                    "hbase.wal.dir": self.wal_root,
                    # the master forgets ended procedures at once, where production takes a quarter of an hour
                    "hbase.procedure.cleaner.interval": "1000",
                    "hbase.procedure.cleaner.evict.ttl": "1000",
                },
            )
        )
        return self.clusters[0]

    def migration(self) -> list[dict[str, object]]:
        """Returns the migration procedure as `list_procedures` shows it, until the master forgets it."""
        return [one for one in self.clusters[0].procedures() if str(one["className"]).endswith(MIGRATION)]

    def wait_migrated(self) -> None:
        """Waits until the migration has ended and the master has forgotten it.

        The client of HBase 2 cannot read its state.
        """
        assert [one["state"] for one in self.migration()] != ["SUCCESS"]
        wait_until(lambda: not self.migration(), "the migration ends")

    def capture(self, name: str, queues: str) -> Path:
        """Takes a snapshot, from `zookeeper` or through `hbase`, and returns its directory."""
        out = self.work / name
        sources: dict[str, Any] = {"queues": {"source": "hbase"}, "state": {"source": "hbase"}}
        if queues == "zookeeper":
            sources["queues"] = {"source": queues, "quorum": self.quorum, "parent": f"/{NAME}", "timeout": "5m"}
            sources["state"] = {"source": queues}
        capture = {
            "files": {"source": "hadoop"},
            **sources,
            "hbase": {"site": str(self.site), "timeout": "5m"},
            "step_attempts": 1,
            "quiet_attempts": 1,
        }
        config = parse_config(json.dumps({"cluster": NAME, "wal_root": self.wal_root, "capture": capture}), "test.yaml")
        assert config.capture is not None
        context = JobContext("capture", spark=self.spark)
        self.told[name] = capture_cluster(NAME, self.wal_root, config.capture, f"file:{out}", context).text
        return out

    @property
    def site(self) -> Path:
        if self.clusters:
            return self.clusters[0].write_conf(self.work / "conf") / "hbase-site.xml"
        site = self.work / "hbase-site.xml"
        write_site(site, self.hdfs.client_properties)
        return site

    def run(self, job: str, *options: str) -> tuple[int, dict[str, Any]]:
        """Runs a job; returns its exit code and result object."""
        return job_answer(JobContext(job, spark=self.spark), self.work, *options)

    def close(self) -> None:
        self.client.stop()
        self.client.close()
        for cluster in self.clusters:
            cluster.close()
