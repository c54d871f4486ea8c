"""Plays the life of one HBase, stage by stage.

At each stage it is captured, at some of them from two sets of sources, which must agree, and HBase's own
ReplicationLogCleaner in the same cluster is asked about every captured file.
"""

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.cli.config.configuration import Config, parse_config
from jobs.cli.context import JobContext
from pipelines.snapshot.model import Snapshot
from pipelines.snapshot.snapshot_json import parse_snapshot
from tests.labs.cluster.hbase import CrashStage, HBaseCluster
from tests.labs.cluster.hbase_data import ATTEMPTS
from tests.labs.cluster.oracle import Oracle
from tests.labs.waiting import PATIENCE_SECONDS

logger = logging.getLogger(__name__)
TABLE = "story"
ONE, TWO = "one", "two"
# else TOO_YOUNG would hide every other answer
NO_TTL = dict.fromkeys(
    (
        "hbase.master.logcleaner.ttl",
        "hbase.master.procedurewalcleaner.ttl",
        "hbase.master.local.store.walcleaner.ttl",
    ),
    "0",
)
STAGES = (
    "rolled",
    "disabled",
    "crash-start",
    "claimed",
    "crash-missing-queues",
    "crash-claim",
    "claimed-again",
    "removed",
    "quiet",
    "no-peers",
    "multiwal",
)
BY_ALL_SOURCES = ("rolled", "claimed", "crash-claim", "removed", "multiwal")
"""Stages that are captured from every set of sources; the others from the first alone."""
HEALTHY = ("rolled", "disabled", "claimed", "claimed-again", "removed", "quiet", "multiwal")
"""Stages in which nothing is wrong, however much is held."""


@dataclass
class Stage:
    """The view of walsafe and the view of HBase at one stage."""

    name: str
    snapshot: Path
    taken: Snapshot
    files: dict[str, int]
    rows: set[str]
    oracle: dict[str, str]
    victim: str | None = None


def read_back(directory: Path) -> tuple[Snapshot, dict[str, int], list[str]]:
    """Reads a snapshot back: snapshot.json, its files, and the lines of both queue passes."""
    snapshot = parse_snapshot(json.loads((directory / "snapshot.json").read_text()))
    rows = pq.read_table(directory / "files").to_pylist()
    lines = [line for index in (1, 2) for line in (directory / f"queues-{index}.jsonl").read_text().splitlines()]
    return snapshot, {row["path"]: row["length"] for row in rows}, lines


@dataclass
class Story:
    """The cluster, and what has been captured of it."""

    cluster: HBaseCluster
    peer: HBaseCluster
    spark: SparkSession
    work: Path
    sources: tuple[Mapping[str, object], ...]
    stages: dict[str, Stage] = field(default_factory=dict)
    captures: int = 0

    def config(self, name: str, chosen: Mapping[str, object]) -> Config:
        site = self.cluster.write_conf(self.work / self.cluster.name, NO_TTL) / "hbase-site.xml"
        section = {
            "state": {"source": "hbase"},
            "hbase": {"site": str(site), "timeout": "5m"},
            "quiet_attempts": 3,
            "pause": "1s",
            **chosen,
        }
        document = {"cluster": name, "wal_root": self.cluster.wal_root, "capture": section}
        return parse_config(json.dumps(document), "test.yaml")

    def capture(self, name: str, chosen: Mapping[str, object], out: Path) -> Path:
        config = self.config(name, chosen)
        assert config.capture is not None
        context = JobContext("capture", spark=self.spark)
        assert capture_cluster(name, self.cluster.wal_root, config.capture, f"file:{out}", context).exit_code == 0
        return out

    def see(self, name: str, victim: str | None = None) -> Stage:
        """Captures until nothing moved meanwhile, by the cluster's own word, and all sources of the stage agree."""
        judge = Oracle(self.cluster)
        sources = self.sources if name in BY_ALL_SOURCES else self.sources[:1]
        for attempt in range(ATTEMPTS):
            self.captures += 1
            places = [self.work / f"{self.captures}-{index}" / name for index in range(len(sources))]
            for place in places:
                place.parent.mkdir()
            start = self.own_word()
            first = self.capture(name, sources[0], places[0])
            taken, files, lines = read_back(first)
            archived = sorted(path for path in files if path.startswith("oldWALs/"))
            before = judge.verdicts(archived)
            others = [read_back(self.capture(name, c, p)) for c, p in zip(sources[1:], places[1:], strict=True)]
            moved = [
                what
                for what, differs in (
                    ("files", any(set(other[1]) != set(files) for other in others)),
                    ("archived bytes", any(other[1][path] != files[path] for other in others for path in archived
                                           if path in other[1])),
                    ("cells", any(other[2] != lines for other in others)),
                    ("membership", any(
                        (other[0].membership, other[0].membership_2, other[0].peers, other[0].flags)
                        != (taken.membership, taken.membership_2, taken.peers, taken.flags)
                        for other in others
                    )),
                    ("answers", judge.verdicts(archived) != before),
                    ("the cluster", self.own_word() != start),
                )
                if differs
            ]  # fmt: skip
            if not moved:
                rows = {str(json.loads(line)["row"]) for line in lines}
                stage = Stage(name, first, taken, files, rows, dict(zip(archived, before, strict=True)), victim)
                self.stages[name] = stage
                return stage
            logger.warning("stage %s, attempt %d: %s moved", name, attempt + 1, moved)
            time.sleep(1)
        raise AssertionError(f"stage {name}: it never came to rest; last difference in {moved}")

    def own_word(self) -> tuple[object, ...]:
        """Returns the queues, the archived files and the peers as the cluster itself has them now."""
        archived = {file.path: file.length for file in self.cluster.old_wals()}
        return self.cluster.queue_cells(), archived, self.cluster.peers()

    def victim(self) -> str:
        """Returns a server with archived WALs of its own."""
        server = self.cluster.start_server()
        self.cluster.move_region(TABLE, server)
        self.cluster.archive_wals(TABLE)
        return server

    def hold(self, server: str, stage: CrashStage) -> None:
        self.cluster.put(TABLE, value=stage)
        self.cluster.kill_and_hold(server, stage)

    def owner_of(self, source: str) -> str:
        """Returns the server that has claimed a dead server's queue for the first peer.

        Queues of peers are claimed separately.
        """
        rows = (cell.row.decode() for cell in self.cluster.queue_cells() if cell.family == b"queue")
        ours = (row for row in rows if row.startswith(f"{ONE}-") and row.endswith(f"/{source}"))
        owners = {row.removeprefix(f"{ONE}-").partition("/")[0] for row in ours}
        assert len(owners) == 1, f"peer {ONE}'s queue of {source} belongs to {owners}"
        return owners.pop()


def tell(story: Story) -> None:
    """Plays the life of the source cluster, stage by stage."""
    cluster, peer = story.cluster, story.peer
    cluster.add_peer(ONE, peer.cluster_key)
    cluster.archive_wals(TABLE)
    cluster.wait_replicated(TABLE, peer, 26)
    story.see("rolled")

    cluster.add_peer(TWO, peer.cluster_key, enabled=False)
    cluster.archive_wals(TABLE)
    story.see("disabled")

    cluster.disable_peer(ONE)  # else a claimed queue is shipped and gone before anybody looks
    first = story.victim()
    story.hold(first, "start")
    story.see("crash-start", first)
    cluster.release(first)
    story.see("claimed", first)

    second = story.victim()
    story.hold(second, "missing-queues")
    story.see("crash-missing-queues", second)
    cluster.release(second)

    claimer = story.owner_of(first)
    story.hold(claimer, "claim")
    story.see("crash-claim", claimer)
    cluster.release(claimer)
    cluster.start_server()  # a master that starts waits for as many servers as the cluster had
    assert story.owner_of(first) != claimer
    story.see("claimed-again", first)

    cluster.remove_peer(TWO)
    story.see("removed")
    cluster.enable_peer(ONE)
    cluster.archive_wals(TABLE)
    wait_until_shipped(cluster)
    story.see("quiet")
    cluster.remove_peer(ONE)
    story.see("no-peers")


def wait_until_shipped(cluster: HBaseCluster) -> None:
    """Waits until every claimed queue is gone, and HBase keeps only archived WALs of its own replication table."""
    # an offset is written when something is shipped: a server without a region owes its last one forever
    for index, server in enumerate(cluster.online_servers()):
        cluster.move_region(TABLE, server, index)
    judge, started = Oracle(cluster), time.monotonic()
    for tried in range(1, 1_000):
        claimed = {cell.row.decode() for cell in cluster.queue_cells() if b"/" in cell.row}
        archived = [file.path for file in cluster.old_wals() if ".rep." not in file.path]
        answers = dict(zip(archived, judge.verdicts(archived), strict=True))
        kept = {path: answer for path, answer in answers.items() if answer != "DELETE"}
        if not claimed and not kept:
            return
        passed = time.monotonic() - started
        # one slow answer of a busy machine is no reason to give up
        assert passed < PATIENCE_SECONDS or tried < 20, (
            f"never shipped, asked {tried} times: {claimed}, {kept}; "
            f"online {cluster.online_servers()}, {cluster.queue_cells()}"
        )
        if passed > 5:
            cluster.archive_wals(TABLE)
            time.sleep(2)
        time.sleep(0.5)
