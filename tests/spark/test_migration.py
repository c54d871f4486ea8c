"""The jobs `plan-migration` and `verify-migration`: answers, tables, and what they refuse."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.demo.cluster.model import GeneratedCapture
from jobs.demo.cluster.on_disk import write_snapshot
from jobs.demo.cluster.snapshots import SAFE_FLAGS
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.hbase.replication_queues import Cell
from schemas.registry import MIGRATION_TABLES
from tests.labs.documented_commands import blocks
from tests.labs.job_answer import job_answer
from tests.labs.measured_jobs import own_metrics
from tests.labs.places import DOCS
from tests.labs.small_cluster import (
    D1,
    H1,
    H2,
    Desk,
    edited,
    group,
    row,
    small,
    timestamp,
    wal,
    with_files,
    with_snapshot,
)
from tests.spark.test_reconcile_zookeeper import P7, QUEUES, directory
from tests.strategies.zookeeper import Queues

PAGE = DOCS / "migration.md"
GOOD: Queues = {**QUEUES, (str(H2), "2"): {wal(H2, 2): P7, wal(H2, 600): b""}}
"""The same queues, each with a position that HBase can read."""
MIGRATED = (
    row(f"1-{H1}", group(H1), wal(H1, 4), 7),
    row(f"1-{H1}/{D1}", group(D1), wal(D1, 2), 7),
    row(f"1-{H2}", group(H2), wal(H2, 600), 0),
    row(f"2-{H1}", group(H1), wal(H1, 2), 0),
    row(f"2-{H2}", group(H2), wal(H2, 2), 7),
)
LOST = (*MIGRATED[:4], row(f"9-{H2}", group(H1), wal(H1, 1), 0))


def migrated(cells: Sequence[Cell] = MIGRATED, **changes: object) -> GeneratedCapture:
    """The small cluster a night later, its queues in the table."""
    made = with_snapshot(small("small", night=1), **{"cluster_id": None, **changes})
    made = with_files(made, ArchivedFile("oldWALs/1.1.1.1,60020.1265", 1024, timestamp(1)))
    return replace(made, pass_1=tuple(cells), pass_2=tuple(cells))


class Bench:
    """The snapshots of one upgrade, and the jobs."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.desk = Desk(spark, root)
        for folder, queues in (("blocked", QUEUES), ("before", GOOD)):
            (root / folder).mkdir()
            directory(root / folder, "small", queues, queues)
        for name, made in (("after", migrated()), ("lost", migrated(LOST))):
            write_snapshot(made, root / name)

    def uri(self, name: str) -> str:
        return f"file:{self.desk.root / name}{'/small' if name in ('blocked', 'before') else ''}"

    def run(self, job: str, *options: str) -> tuple[int, dict[str, Any]]:
        """The exit code and the result object."""
        return job_answer(JobContext(job, spark=self.desk.spark), self.desk.root, *options)

    def plan(self, name: str, *options: str) -> tuple[int, dict[str, Any]]:
        return self.run("plan-migration", "--snapshot", self.uri(name), *options)

    def verify(self, before: str, after: str, *options: str) -> tuple[int, dict[str, Any]]:
        return self.run("verify-migration", "--zookeeper", self.uri(before), "--table", self.uri(after), *options)

    def changed(self, name: str, made: GeneratedCapture) -> str:
        write_snapshot(made, self.desk.root / name)
        return name


@pytest.fixture(scope="module")
def bench(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(spark, tmp_path_factory.mktemp("migration"))


def test_the_examples_of_the_page_are_answers(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    plan, verification = blocks(PAGE, "text")
    assert bench.plan("blocked")[0] == 3
    assert capsys.readouterr().out == plan
    assert bench.verify("before", "lost")[0] == 3
    assert capsys.readouterr().out == verification


@pytest.mark.promise("migration-is-planned-and-verified")
def test_a_go_and_a_migration_that_is_verified(bench: Bench) -> None:
    code, plan = bench.plan("before")
    assert (code, plan["go"], plan["counts"]["queue"]) == (0, True, {"WRITE": 5, "DROP": 1, "BLOCK": 0})
    assert own_metrics("plan-migration", code, plan) == {"migration_rows"}
    code, result = bench.verify("before", "after")
    assert (code, result["verified"], result["differences"], result["findings"]) == (0, True, [], [])
    assert own_metrics("verify-migration", code, result) == {"migration_checks"}
    assert result["rules"]["OFFSET_EQUAL"] == {"checked": 5, "holds": 5}


@pytest.mark.long
def test_tables_are_written_once_per_run(bench: Bench) -> None:
    lake = ("--lake", f"file:{bench.desk.lake}")
    for _ in range(2):
        plan, checks = bench.plan("blocked", *lake)[1], bench.verify("before", "lost", *lake)[1]
    rows = bench.desk.rows("migration_rows")
    assert {one["run_id"] for one in rows} == {plan["run_id"]}
    assert [one["action"] for one in rows].count("BLOCK") == 1
    assert plan["run_id"].endswith("-plan-migration")
    found = bench.desk.rows("migration_checks")
    assert {one["run_id"] for one in found} == {checks["run_id"]}
    assert sum(one["severity"] is not None for one in found) == len(checks["differences"]) == 2
    assert len(found) == sum(rule["checked"] for rule in checks["rules"].values())
    findings = bench.desk.rows("findings")
    assert {one["run_id"] for one in findings} == {plan["run_id"], checks["run_id"]}
    assert {one["nights"] for one in findings} == {1}, "a repeated run is the same run"
    assert [table.name for table in MIGRATION_TABLES] == ["migration_rows", "migration_checks"]


@pytest.mark.promise("exit-3")
def test_a_no_go_stays_one_when_it_is_known_or_acknowledged(bench: Bench) -> None:
    config = bench.desk.root / "known.yaml"
    key = f"MIGRATION_BLOCKED:rs/{H2}/2/{wal(H2, 2)}"
    config.write_text(f"findings: {{acknowledged: [{{key: '{key}', reason: seen, until: 2099-01-01}}]}}")
    code, plan = bench.plan("blocked", "--config", str(config))
    assert [one["acknowledged"] for one in plan["findings"] if one["key"] == key] == [True]
    assert code == 3


@pytest.mark.promise("exit-3")
def test_a_pending_migration_is_not_verified(bench: Bench) -> None:
    pending = bench.changed("pending", migrated(flags=replace(SAFE_FLAGS, migration_pending=True, zk_queue_data=True)))
    code, result = bench.verify("before", pending)
    assert (code, result["verified"]) == (3, False)
    assert [(one["rule"], one["severity"]) for one in result["differences"]] == [
        ("MIGRATION_ENDED", "error"),
        ("ZNODES_GONE", "error"),
    ]
    code, result = bench.run("inspect-wals", "--snapshot", bench.uri(pending))
    assert (code, "is pending. Wait" in result["error"]["message"]) == (3, True)


def damaged(bench: Bench) -> str:
    (bench.desk.root / "damaged").mkdir()
    out = directory(bench.desk.root / "damaged", "small", GOOD, GOOD)
    with (out / "queues-1.jsonl").open("a") as lines:
        lines.write("{}\n")
    return "damaged/small"


def odd_server(bench: Bench) -> str:
    (bench.desk.root / "odd").mkdir()
    queues = {**GOOD, ("no-server", "1"): {wal(H1, 1): b""}}
    directory(bench.desk.root / "odd", "small", queues, queues)
    return "odd/small"


def no_queue_of_a_peer(bench: Bench) -> str:
    (bench.desk.root / "wrong").mkdir()
    directory(bench.desk.root / "wrong", "small", {(str(H1), "9"): {}}, {})
    return "wrong/small"


def taken_over(bench: Bench) -> str:
    (bench.desk.root / "taken").mkdir()
    out = directory(bench.desk.root / "taken", "small", GOOD, GOOD)

    def mark(document: dict[str, Any]) -> None:
        document["hbase_version"] = None
        document["peers"][0]["sync_replication_state"] = "NONE"

    edited(out, mark)
    return "taken/small"


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (lambda _: "nowhere", 2, "no snapshot directory at .*nowhere"),
        (lambda _: "after", 2, "after was captured after the upgrade"),
        (damaged, 3, r"queues-1\.jsonl: SHA-256 differs"),
        (odd_server, 3, "znode '/hbase/replication/rs/no-server.*a migration never ends. Mend it, capture again"),
        (no_queue_of_a_peer, 3, "no queue of any of these in ZooKeeper.*Check zookeeper.znode.parent"),
        (taken_over, 3, "HBase 3 has taken it over.*Capture with queues from that table"),
    ],
)
def test_what_is_no_snapshot_of_zookeeper_is_said(
    bench: Bench, make: Callable[[Bench], str], code: int, words: str
) -> None:
    found, result = bench.plan(make(bench))
    assert found == code
    assert re.search(words, result["error"]["message"])


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (lambda _: "before", 2, "has queues of ZooKeeper: --table wants a snapshot of hbase:replication"),
        (
            lambda b: b.changed("other", with_snapshot(migrated(), cluster="other")),
            2,
            "snapshots of two clusters: small and other",
        ),
        (
            lambda b: b.changed("twin", migrated(cluster_id="another")),
            2,
            "has id another in --table and .*two clusters of one name",
        ),
        (
            lambda b: b.changed("early", with_snapshot(migrated(), steps=small("small", night=-1).snapshot.steps)),
            2,
            "early was captured before .*before/small: --table is the later one",
        ),
        (
            lambda b: b.changed("bad-row", migrated([*MIGRATED, row("1-nobody", "g", "w.1", 0)])),
            3,
            "malformed queue row '1-nobody'.*Mend it, capture again",
        ),
        (
            lambda b: b.changed("bad-sid", migrated([*MIGRATED, Cell(b"1", b"sid", b"r", b"443")])),
            3,
            "bad-sid, hbase:replication: row b'1', sid:b'r': not 8 bytes but 3. Mend it",
        ),
        (
            lambda b: b.changed("steps", with_snapshot(migrated(), steps=migrated().snapshot.steps[:-1])),
            3,
            "not the capture order: step 'crashing-2' is missing",
        ),
    ],
)
def test_what_cannot_be_compared_is_said(bench: Bench, make: Callable[[Bench], str], code: int, words: str) -> None:
    found, result = bench.verify("before", make(bench))
    assert found == code
    assert re.search(words, result["error"]["message"]), result["error"]["message"]
