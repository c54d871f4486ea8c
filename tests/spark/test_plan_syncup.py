"""The job `plan-syncup` on a snapshot of a cluster that is down: its answer, its tables, what it refuses."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from pipelines.capture.sources.offline_state import OfflineCluster
from pipelines.common.instants import HOUR_MS, parse_instant
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.files.file_batch import FileBatch
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.hbase.offline_table import UnflushedColumn
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell
from pipelines.snapshot.model import MasterFlags, Membership, Snapshot, WalDirectory
from pipelines.snapshot.syncup_facts import FlagFile, StoreFile, SyncUpFacts, TableFacts, fact_documents
from pipelines.snapshot.target import LocalTarget
from pipelines.snapshot.writer import SnapshotWriter
from schemas.registry import SYNCUP_TABLES
from tests.labs.documented_commands import blocks
from tests.labs.job_answer import job_answer
from tests.labs.measured_jobs import own_metrics
from tests.labs.places import DOCS
from tests.labs.small_cluster import D1, H1, H2, NOW, ROOT, Desk, group, replaced_content, row, small, timestamp, wal

PAGE = DOCS / "syncup.md"
MIB = 1 << 20
FLUSHED = NOW - HOUR_MS
PEER = Peer("1", "ENABLED", cluster_key="zk9.example.org:2181:/hbase")
ROWS = (
    row(f"1-{H1}", group(H1), wal(H1, 4), 3 * MIB),
    row(f"1-{H1}/{D1}", group(D1), wal(D1, 2), 7),
    Cell(b"1", b"hfileref", b"b1946ac92492d2347c6235b4d2611184_SeqId_4_", b""),
)
NEVER_FLUSHED = row(f"1-{H2}", group(H2), wal(H2, 600), 2 * MIB)
TABLE = TableFacts(
    (StoreFile("data/hbase/replication/b1946ac9/queue/591785b7", 4_912, FLUSHED, "b1946ac9", "queue", 17),),
    (UnflushedColumn(NEVER_FLUSHED, deleted=False, write_time=FLUSHED + 200_000),),
)
KNOWN = MasterFlags(queue_table_exists=True, add_peer_running=None, migration_pending=False, zk_queue_data=False)


@dataclass
class Down:
    """A cluster that is down: what a capture of it writes."""

    desk: Desk
    cells: tuple[Cell, ...] = ROWS
    peers: tuple[Peer, ...] = (PEER,)
    facts: SyncUpFacts = field(default_factory=lambda: SyncUpFacts(ROOT, (str(H1), str(H2)), (), TABLE))
    flags: MasterFlags = KNOWN
    extras: tuple[str, ...] = ("syncup",)
    renamed: dict[str, str] = field(default_factory=dict)

    def files(self) -> list[ArchivedFile]:
        """The small cluster's, a mebibyte for each of its bytes; the open WALs have been closed."""
        made = [replace(file, length=file.length * MIB) for file in small("small").files]
        made = [replace(file, length=32 * MIB) if file.path.startswith("WALs/") else file for file in made]
        made.append(ArchivedFile(f"WALs/{H1}/{group(H1)}.rep.{timestamp(601)}", 2_000, NOW))
        return [self._moved(file) for file in made]

    def _moved(self, file: ArchivedFile) -> ArchivedFile:
        for before, after in self.renamed.items():
            if file.path.startswith(before):
                return replace(file, path=f"{after}{file.path.removeprefix(before)}")
        return file

    def document(self) -> Snapshot:
        directories = tuple(WalDirectory(server, 1, NOW) for server in (H1, H2))
        nobody = Membership(None, frozenset(), frozenset())
        return replace(
            small("small").snapshot,
            peers=self.peers,
            membership=replace(nobody, wal_directories=directories),
            membership_2=nobody,
            flags=self.flags,
            flags_2=self.flags,
            extras=self.extras,
        )

    def write(self, name: str) -> Path:
        out = self.desk.root / name
        files = self.files()
        columns = ([one.path for one in files], [one.length for one in files], [one.modification_time for one in files])
        with SnapshotWriter(LocalTarget(out)) as writer:
            writer.files([FileBatch(*columns)])
            for name_of_pass in ("queues-1.jsonl", "queues-2.jsonl"):
                writer.cells(name_of_pass, self.cells)
            for extra in self.extras:
                writer.documents(f"extras/{extra}.jsonl", fact_documents(self.facts))
            writer.finish(self.document())
        return out

    def run(self, name: str, *options: str) -> tuple[int, dict[str, Any]]:
        """The exit code and the result object."""
        return plan(self.desk, self.write(name), *options)


def plan(desk: Desk, snapshot: Path, *options: str) -> tuple[int, dict[str, Any]]:
    context = JobContext("plan-syncup", spark=desk.spark)
    return job_answer(context, desk.root, "--snapshot", f"file:{snapshot}", *options)


@pytest.fixture
def down(spark: SparkSession, tmp_path: Path) -> Down:
    return Down(Desk(spark, tmp_path))


@pytest.mark.promise("syncup-is-planned")
def test_what_would_be_shipped_and_the_example_of_the_page(down: Down, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = down.run("small")
    (example,) = blocks(PAGE, "text")
    assert capsys.readouterr().out == example
    assert (code, [one["code"] for one in result["findings"]]) == (0, ["SYNCUP_STALE_OFFSETS"])
    assert parse_instant(result["files_started_at"]) == NOW
    assert own_metrics("plan-syncup", code, result) == {"syncup_bytes"}
    assert result["servers"] == [str(H1), str(H2)]
    assert result["flag_files"] == [f"{ROOT}/ReplicationSyncUp/{name}" for name in ("info", H1, H2)]
    queues = {one["queue"]: one for one in result["queues"]}
    # the fourth but for three of its eight MiB, and the last; D1: all but seven bytes; H2: a placeholder needs all
    assert {name: one["bytes"] for name, one in queues.items()} == {
        f"1-{H1}": (8 - 3 + 32) * MIB,
        f"1-{H1}/{D1}": (128 + 256) * MIB - 7,
        f"1-{H2}": (16 + 32 + 32) * MIB,
    }
    assert [(one["queue"], one["resent_bytes"]) for one in result["queues"] if one["is_placeholder"]] == [
        (f"1-{H2}", (16 + 32 + 2) * MIB)
    ]
    paths = [wal_["path"] for wal_ in queues[f"1-{H1}"]["wals"]]
    assert paths == [
        f"oldWALs/{wal(H1, 4)}",
        f"WALs/{H1}/{wal(H1, 600)}",
        f"WALs/{H1}/{group(H1)}.rep.{timestamp(601)}",
    ]
    assert (result["peers"][0]["hfile_refs"], result["peers"][0]["queues"]) == (1, 3)


@pytest.mark.long
def test_tables_are_written_once_and_findings_are_new_once(down: Down) -> None:
    down.facts = replace(down.facts, flags=(FlagFile("info", 31, NOW, "{}"), FlagFile(str(H1), 0, NOW)))
    snapshot = down.write("small")
    lake = f"file:{down.desk.lake}"
    code, result = plan(down.desk, snapshot, "--lake", lake)
    assert (code, result["leftover_flag_files"], result["run_id"].endswith("-syncup")) == (5, ["info", str(H1)], True)
    assert result["command"].endswith("ReplicationSyncUp -f")
    plan(down.desk, snapshot, "--lake", lake)
    counts = {table.name: len(down.desk.rows(table.name)) for table in SYNCUP_TABLES}
    wals = sum(len(one["wals"]) for one in result["queues"])
    assert counts == {"syncup_queues": 3, "syncup_wals": wals, "syncup_peers": 1}
    assert {one["code"] for one in down.desk.rows("findings")} == {"SYNCUP_LEFTOVER", "SYNCUP_STALE_OFFSETS"}
    again = replace(down, facts=replace(down.facts, directories=(str(H2), str(H1))))
    code, result = again.run("later", "--lake", lake)
    assert (code, {one["is_new"] for one in result["findings"]}) == (0, {False}), "known from the plan before"


def test_a_half_split_directory_is_refused(down: Down) -> None:
    down.renamed = {f"WALs/{H1}/": f"WALs/{H1}-splitting/"}
    code, result = down.run("small", "--lake", f"file:{down.desk.lake}")
    message = result["error"]["message"]
    assert code == 3
    assert "would not ship 1 WAL, 32.0 MiB, that peer 1 needs" in message
    assert f"WALs/{H1}-splitting/{wal(H1, 600)}" in message
    assert "BACK before HBase starts" in message
    assert not down.desk.lake.exists()


def test_a_queue_that_was_never_flushed_is_refused(down: Down) -> None:
    """D1's row was written and claimed after the last flush: the tool would know neither."""
    down.cells, lost = ROWS[:1], UnflushedColumn(ROWS[1], deleted=False, write_time=NOW)
    down.facts = replace(down.facts, table=replace(TABLE, unflushed=(*TABLE.unflushed, lost)))
    code, result = down.run("small")
    assert (code, "was never flushed" in result["error"]["message"]) == (3, True), result
    assert wal(D1, 3) in result["error"]["message"]


@pytest.mark.parametrize("path", [f"WALs/{H1}/junk", f"oldWALs/{group(H1)}junk"])
def test_a_name_at_which_the_tool_throws_is_refused(down: Down, path: str) -> None:
    down.renamed = {f"WALs/{H1}/{group(H1)}.rep.{timestamp(601)}": path}
    code, result = down.run("small")
    assert (code, "throws at the name of" in result["error"]["message"]) == (3, True), result


@pytest.mark.parametrize("state", ["ENABLED", "DISABLED"])
def test_a_serial_peer_is_refused(down: Down, state: str) -> None:
    """The tool would die; a disabled one would have to be enabled for it."""
    down.peers = (replace(PEER, state=state, serial=True),)
    code, result = down.run("small", "--lake", f"file:{down.desk.lake}")
    message = result["error"]["message"]
    assert (code, "Peer 1 is serial, and 3 queues of it would be read, 501.0 MiB" in message) == (3, True), message
    assert "Start HBase" in message
    assert not down.desk.lake.exists()


def test_a_serial_peer_whose_queues_are_dropped_does_not_matter(down: Down) -> None:
    standby = replace(PEER, peer_id="2", serial=True, sync_replication_state="STANDBY", remote_wal_dir="hdfs://dr/r")
    down.peers = (PEER, standby)
    code, result = down.run("small")
    assert (code, {one["action"] for one in result["queues"] if one["peer_id"] == "2"}) == (0, {"STANDBY"})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"extras": ()}, "taken of a running cluster"),
        ({"extras": ("syncup", "wishes")}, "extra 'wishes' is not known"),
        ({"flags": replace(KNOWN, zk_queue_data=True)}, "still in ZooKeeper"),
        ({"flags": replace(KNOWN, zk_queue_data=None)}, "may still be (unknown) in ZooKeeper"),
        ({"flags": replace(KNOWN, migration_pending=True)}, "is pending"),
        ({"flags": replace(KNOWN, queue_table_exists=False)}, "has no directory"),
        ({"cells": (row("1-h1", "g", "w.1", 0),)}, "malformed queue: "),
    ],
)
def test_snapshots_that_are_no_ground_for_a_plan(down: Down, changes: dict[str, Any], words: str) -> None:
    code, result = replace(down, **changes).run("small")
    assert (code, words in result["error"]["message"]) == (3, True), result


def test_a_broken_extra_names_its_line(down: Down) -> None:
    snapshot = down.write("small")
    name = "extras/syncup.jsonl"
    lines = (snapshot / name).read_bytes().splitlines(keepends=True)
    replaced_content(snapshot, name, b"".join([lines[0], b'{"kind":"wish"}\n', *lines[2:]]))
    code, result = plan(down.desk, snapshot)
    assert (code, "syncup.jsonl, line 2: 'kind'" in result["error"]["message"]) == (3, True), result


@pytest.mark.long
@pytest.mark.promise("reconcile-frees-nothing-of-a-cluster-that-is-down")
def test_reconcile_frees_nothing_on_such_a_snapshot(down: Down) -> None:
    down.desk.reconcile(down.write("small"))
    assert {one["reason"] for one in down.desk.rows("wal_verdicts")} == {"SNAPSHOT_UNTRUSTED"}


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"", None), (b"PWAL\xff\xff\x03" + bytes(5_000), "the header is damaged: it would have 65,535 bytes")],
    ids=["empty", "damaged header"],
)
def test_a_wal_of_the_queue_table_with_a_damaged_header_may_hold_edits(
    spark: SparkSession, tmp_path: Path, content: bytes, problem: str | None
) -> None:
    (tmp_path / "wal").write_bytes(content)
    unused: Any = None
    cluster = OfflineCluster(unused, unused, HadoopJvm.of(spark), f"file:{tmp_path}")
    edits, found = cluster.edits(["wal"])
    assert (list(edits), found and found.removeprefix(f"file:{tmp_path}/wal: ")) == ([], problem)
