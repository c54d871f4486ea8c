"""Runs `inspect-wals` on a snapshot of the small cluster whose WALs are real files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.demo.cluster.model import GeneratedCapture
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.hbase.peer_rules import PeerRule
from pipelines.hbase.peers import Peer
from tests.labs.job_answer import job_answer
from tests.labs.small_cluster import D1, H1, H2, Desk, group, row, small, wal, with_cells
from tests.labs.wal_files import Cell, Edit, ends, entry, header
from tests.labs.wal_files import wal as wal_file

EDITS = (Edit("t"), Edit("ns:u"), Edit("scratch:s"), Edit("t", [Cell("g")], {}))
MIDDLE = ends(*EDITS)[2]
CLOSED = wal_file(*EDITS)
OPEN = header() + entry(EDITS[0])
PEERS = (
    Peer("1", "ENABLED", replicate_all=True, rule=PeerRule(exclude_namespaces=frozenset({"scratch"}))),
    Peer("2", "DISABLED", replicate_all=False, rule=PeerRule(tables={"ns:u": ("f",)})),
)
STUCK = f"2-{H2}"


class Inspected:
    """A snapshot with its WAL root, and the job on it.

    The WALs are in the folder `hbase`; with another `wal_root`, the test copies them from there.
    """

    def __init__(self, spark: SparkSession, root: Path, wal_root: str | None = None) -> None:
        self.desk = Desk(spark, root)
        self.hbase = root / "hbase"
        self._wal_root = wal_root or f"file://{self.hbase}"
        self.made = self._capture()
        self.snapshot = self.desk.snapshot(self.made)

    def _capture(self) -> GeneratedCapture:
        """Returns the capture.

        Peer 2 is in H1's second WAL, peer 1 in H1's fourth, and H2's next WAL for peer 2 is empty.
        """
        made = small("small")
        made = replace(made, snapshot=replace(made.snapshot, wal_root=self._wal_root, peers=PEERS))
        made = with_cells(
            made, row(f"2-{H1}", group(H1), wal(H1, 2), MIDDLE), row(f"1-{H1}/{D1}", group(D1), wal(D1, 2), MIDDLE)
        )
        files = tuple(self._written(file) for file in made.files)
        return replace(made, files=files)

    def _written(self, file: ArchivedFile) -> ArchivedFile:
        content = OPEN if file.path.startswith("WALs/") else b"" if file.path.endswith(wal(H2, 2)) else CLOSED
        target = self.hbase / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        return replace(file, length=len(content))

    def run(self, *options: str, lake: bool = False) -> tuple[int, dict[str, Any]]:
        """Runs the job; returns the exit code and the result object."""
        context = JobContext("inspect-wals", spark=self.desk.spark)
        into = ("--lake", f"file:{self.desk.lake}") if lake else ()
        return job_answer(context, self.desk.root, "--snapshot", f"file:{self.snapshot}", *options, *into)
