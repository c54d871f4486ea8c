"""A real cluster that is killed, and planned for HBase's ReplicationSyncUp while it is down."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.cli.config.configuration import parse_config
from jobs.cli.context import JobContext
from jobs.cli.entry import main
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.zookeeper import connected
from tests.labs.lake_rows import lake_rows

ENABLED = bytes.fromhex("504255460800")


@dataclass
class DownCluster:
    """The source cluster, and what was seen of it.

    Attributes:
        queues_section: where a capture reads the queues: its section `queues`.
        running: how a capture before the end of the servers was refused.
        split: the server whose directory looks half split for a while.
        answers: by the name of a plan: its exit code and result.
        arrived: by the name of a run of the tool: the rows that the peer has then.
    """

    cluster: HBaseCluster
    hdfs: HdfsCluster
    spark: SparkSession
    work: Path
    queues_section: Mapping[str, object]
    running: str = ""
    split: str = ""
    answers: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    arrived: dict[str, int] = field(default_factory=dict)

    def capture(self, name: str) -> Path:
        """Captures the cluster without its servers; returns the snapshot."""
        site = self.cluster.write_conf(self.work / "conf") / "hbase-site.xml"
        znodes = {"quorum": self.cluster.zookeeper_quorum, "parent": f"/{self.cluster.name}"}
        section = {
            "files": {"source": "hadoop"},
            "queues": self.queues_section,
            "state": {"source": "offline", **znodes},
            "hbase": {"site": str(site)},
        }
        document = {"cluster": "source", "wal_root": self.cluster.wal_root, "capture": section}
        config = parse_config(json.dumps(document), "test.yaml")
        assert config.capture is not None
        out = self.work / name
        context = JobContext("capture", spark=self.spark)
        capture_cluster("source", self.cluster.wal_root, config.capture, f"file:{out}", context)
        return out

    def plan(self, name: str, *, lake: bool = False) -> dict[str, Any]:
        """Captures the cluster and plans its sync-up, into a lake if wanted; returns the result."""
        snapshot, result = self.capture(name), self.work / f"{name}.json"
        arguments = ["plan-syncup", "--snapshot", f"file:{snapshot}"]
        arguments += ["--lake", f"file:{self.work}/lake"] if lake else []
        code = main([*arguments, "--result", str(result)], context=JobContext("plan-syncup", spark=self.spark))
        self.answers[name] = code, json.loads(result.read_text())
        return self.answers[name][1]

    def codes(self, name: str) -> list[str]:
        """Returns the codes of the findings of a plan."""
        return [one["code"] for one in self.answers[name][1]["findings"]]

    def rows(self, name: str, table: str) -> int:
        """Returns how many rows a plan wrote into a table."""
        return len(lake_rows(f"{self.work}/lake/{table}", f"run_id = '{self.answers[name][1]['run_id']}'"))

    def enable_peer(self, peer: str) -> None:
        """As docs/syncup.md says: there is no master that could."""
        with connected(self.cluster.zookeeper_quorum) as client:
            client.set(f"/{self.cluster.name}/replication/peers/{peer}/peer-state", ENABLED)

    def forget(self, znode: str) -> None:
        """Removes a znode of replication with all below it."""
        with connected(self.cluster.zookeeper_quorum) as client:
            client.delete(f"/{self.cluster.name}/replication/{znode}", recursive=True)

    def rename(self, before: str, after: str) -> None:
        """Renames a directory of `WALs/`."""
        paths = (self.hdfs.path(f"{self.cluster.wal_root}/WALs/{name}") for name in (before, after))
        assert self.hdfs.file_system().rename(*paths)
