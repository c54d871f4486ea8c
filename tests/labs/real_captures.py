"""Captures a real HBase in one line of test code, and reads the snapshot back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.cli.config.configuration import parse_config
from jobs.cli.context import JobContext
from pipelines.snapshot.capture_order import CAPTURE_ORDER, order_fault
from pipelines.snapshot.model import Snapshot
from pipelines.snapshot.snapshot_json import parse_snapshot
from tests.labs.cluster.hbase import HBaseCluster

HBASE_STATE = {"source": "hbase"}
HADOOP_FILES = {"source": "hadoop"}


@dataclass(frozen=True)
class Taken:
    """A snapshot that was read back; two are equal wherever they are stored."""

    snapshot: Snapshot
    files: list[tuple[str, int, Any]]
    queues: tuple[list[str], list[str]]
    directory: Path = field(compare=False)

    @property
    def names(self) -> list[tuple[str, int]]:
        return [(path, length) for path, length, _ in self.files]


def read_back(directory: Path, order: Sequence[str] = CAPTURE_ORDER) -> Taken:
    snapshot = parse_snapshot(json.loads((directory / "snapshot.json").read_text()))
    assert order_fault(snapshot.steps, order) is None
    rows = pq.read_table(directory / "files").to_pylist()
    files = sorted((row["path"], row["length"], row["modification_time"]) for row in rows)
    first, second = ((directory / f"queues-{index}.jsonl").read_text().splitlines() for index in (1, 2))
    return Taken(snapshot, files, (first, second), directory)


class Lab:
    """Makes such captures."""

    def __init__(self, cluster: HBaseCluster, spark: SparkSession, work: Path) -> None:
        self.cluster = cluster
        self.work = work
        self.site = cluster.write_conf(work / "conf") / "hbase-site.xml"
        self.context = JobContext("capture", spark=spark)
        self._count = 0

    def config(self, root: str | None = None, **sections: object) -> str:
        capture = {
            "hbase": {"site": str(self.site), "timeout": "5m"},
            "step_attempts": 1,
            "quiet_attempts": 1,
            **sections,
        }
        return json.dumps({"cluster": "lab", "wal_root": root or self.cluster.wal_root, "capture": capture})

    def take(self, root: str | None = None, **sections: object) -> Taken:
        self._count += 1
        out = self.work / f"snapshot-{self._count}"
        self.run(str(out), root, **sections)
        return read_back(out)

    def run(self, out: str, root: str | None = None, **sections: object) -> Mapping[str, object]:
        chosen = {"files": HADOOP_FILES, "queues": HBASE_STATE, "state": HBASE_STATE, **sections}
        config = parse_config(self.config(root, **chosen), "test.yaml")
        assert config.cluster is not None
        assert config.wal_root is not None
        assert config.capture is not None
        return capture_cluster(config.cluster, config.wal_root, config.capture, out, self.context).result
