"""The job `plan-syncup` on queues in ZooKeeper (HBase 2): its answer, its tables, what it refuses."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.demo.cluster.model import GeneratedCapture
from pipelines.hbase.peers import Peer
from pipelines.snapshot.syncup_facts import SyncUpFacts
from tests.labs.job_answer import job_answer
from tests.labs.measured_jobs import own_metrics
from tests.labs.small_cluster import D1, H1, H2, ROOT, Desk, small, wal, with_snapshot
from tests.labs.small_zookeeper import zookeeper_directory
from tests.labs.wal_files import varint
from tests.strategies.zookeeper import Queues

QUEUES: Queues = {
    (str(H1), "1"): {wal(H1, 4): b"PBUF\x08" + varint(3), wal(H1, 600): b""},
    (str(H1), f"1-{D1}"): {wal(D1, 2): b"", wal(D1, 3): b""},
    (str(H1), "2"): {wal(H1, 2): b"", wal(H1, 3): b"", wal(H1, 4): b"", wal(H1, 600): b""},
    (str(H2), "9"): {wal(H2, 2): b""},
}
FACTS = SyncUpFacts(ROOT, (str(H1), str(H2)))


@dataclass
class Down:
    """A cluster of HBase 2 that is down: what a capture of it writes."""

    desk: Desk
    queues: Queues = field(default_factory=lambda: QUEUES)
    made: GeneratedCapture = field(default_factory=lambda: small("small"))
    facts: SyncUpFacts | None = FACTS
    after: int = 7

    def run(self, *options: str) -> tuple[int, dict[str, Any]]:
        place = self.desk.root / "snapshot"
        zookeeper_directory(place, self.made, self.queues, self.queues, self.after, self.facts)
        context = JobContext("plan-syncup", spark=self.desk.spark)
        return job_answer(context, self.desk.root, "--snapshot", f"file:{place}", *options)


@pytest.fixture
def down(spark: SparkSession, tmp_path: Path) -> Down:
    return Down(Desk(spark, tmp_path))


@pytest.mark.promise("syncup-of-hbase-2-is-planned")
def test_what_would_be_shipped_of_each_queue(down: Down, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = down.run("--lake", f"file:{down.desk.lake}")
    text = capsys.readouterr().out
    assert "offsets: as in ZooKeeper" in text
    assert "by default within 2 min 0 s to 4 min 0 s" in text
    assert (code, [one["code"] for one in result["findings"]]) == (5, ["SYNCUP_DISABLED_PEER", "SYNCUP_REMOVED_PEER"])
    assert own_metrics("plan-syncup", code, result) == {"syncup_bytes"}
    assert (result["flag_files"], result["leftover_flag_files"]) == ([], [])
    found = {one["queue"]: (one["action"], one["files"], one["bytes"]) for one in result["queues"]}
    assert found == {
        f"{H1}/1": ("SHIP", 2, 8 - 3),
        f"{H1}/1-{D1}": ("SHIP", 2, 128 + 256),
        f"{H1}/2": ("MOVES", 0, 0),
        f"{H2}/9": ("REMOVED_PEER", 0, 0),
    }
    (own,) = [one for one in result["queues"] if one["queue"] == f"{H1}/1"]
    assert [(one["path"], one["start"]) for one in own["wals"]] == [
        (f"oldWALs/{wal(H1, 4)}", 3),
        (f"WALs/{H1}/{wal(H1, 600)}", 0),
    ]
    names = ("syncup_queues", "syncup_wals", "syncup_peers")
    wals = sum(len(one["wals"]) for one in result["queues"])
    assert {name: len(down.desk.rows(name)) for name in names} == {
        "syncup_queues": 4,
        "syncup_wals": wals,
        "syncup_peers": 3,
    }


def test_a_wal_that_the_tool_does_not_find_is_an_error(down: Down) -> None:
    files = [*down.made.files, replace(down.made.files[-1], path=f"WALs/{H1}/{wal(H1, 599)}")]
    down.made = replace(down.made, files=tuple(files))
    down.queues = {(str(H1), "1"): QUEUES[str(H1), "1"]}
    code, result = down.run()
    (one,) = result["queues"]
    assert (code, one["action"], one["reason"]) == (5, "WAITS", f"the tool does not find {wal(H1, 600)}")
    assert [found["code"] for found in result["findings"]] == ["SYNCUP_WAL_UNFOUND"]


@pytest.mark.promise("plan-syncup-refuses-hbase-1")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"facts": None}, "taken of a running cluster"),
        ({"after": 8}, "cversion of rs went from 7 to 8"),
        ({"queues": {**QUEUES, (str(H2), "lock"): {}}}, "are locked, as HBase 1 does"),
        ({"queues": {**QUEUES, (str(H2), "1"): {"junk": b""}}}, "throws at the name of junk"),
        ({"queues": {**QUEUES, ("h2", "1"): {}}}, "malformed queue"),
    ],
)
def test_snapshots_that_are_no_ground_for_a_plan(down: Down, changes: dict[str, Any], words: str) -> None:
    code, result = replace(down, **changes).run()
    assert (code, words in result["error"]["message"]) == (3, True), result


@pytest.mark.parametrize(
    ("peer", "words"),
    [
        (Peer("1", "ENABLED", serial=True), "begins again, and so it never ends"),
        (Peer("1", "ENABLED", sync_replication_state="NONE"), "HBase 3 has taken it over"),
    ],
)
def test_peers_of_which_the_tool_ships_nothing(down: Down, peer: Peer, words: str) -> None:
    down.made = with_snapshot(down.made, peers=(peer,))
    code, result = down.run("--lake", f"file:{down.desk.lake}")
    assert (code, words in result["error"]["message"]) == (3, True), result
    assert not down.desk.lake.exists()
