"""The job `inspect-wals` on a snapshot whose WALs are real files: its answer, its tables, what it refuses."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.common.instants import parse_instant
from schemas.registry import INSPECTION_TABLES
from tests.labs.documented_commands import blocks
from tests.labs.inspected_wals import CLOSED, EDITS, MIDDLE, STUCK, Inspected
from tests.labs.measured_jobs import own_metrics
from tests.labs.places import DOCS
from tests.labs.small_cluster import D1, H1, H2, NOW, group, replaced_content, wal

PAGE = DOCS / "inspect-wals.md"


@pytest.fixture(scope="module")
def inspected(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Inspected:
    return Inspected(spark, tmp_path_factory.mktemp("inspected"))


def queues(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["queue"]: one for one in result["queues"]}


@pytest.mark.promise("inspect-wals-looks-inside")
def test_what_is_pending_for_whom(inspected: Inspected) -> None:
    code, result = inspected.run()
    assert code == 5, "a queue is stuck, and nobody knew"
    assert parse_instant(result["files_started_at"]) == NOW
    assert own_metrics("inspect-wals", code, result) == {"inspected_wals", "inspected_bytes"}
    assert [(one["code"], one["peer_id"], one["server"]) for one in result["findings"]] == [
        ("HEADERLESS_WAL", "2", str(H2))
    ]
    # H1: 2, 3, 4 and the open one; H2: the empty one and the open one; D1: 2 and 3
    assert (result["files"], result["endings"]) == (8, {"CLOSED": 5, "NO_HEADER": 1, "OPEN": 2})
    found = queues(result)
    two = found[f"2-{H1}"]
    assert (two["offset_status"], two["pending_files"], two["pending_entries"]) == ("OK", 4, 2 + 4 + 4 + 1)
    assert (two["wanted_entries"], two["rule_known"]) == (2, True), "ns:u of the third and the fourth WAL"
    one = found[f"1-{H1}"]
    assert (one["pending_entries"], one["wanted_entries"]) == (4 + 1, 2 + 1), "all but scratch:s, and g without a scope"
    claimed = found[f"1-{H1}/{D1}"]
    assert (claimed["source"], claimed["pending_entries"], claimed["wanted_entries"]) == (str(D1), 2 + 4, 2)
    assert (found[f"1-{H2}"]["pending_entries"], found[STUCK]["head_ending"]) == (1, "NO_HEADER")
    tables = {one["table"]: one for one in result["tables"]}
    assert {name: one["entries"] for name, one in tables.items()} == {"t": 12, "ns:u": 5, "scratch:s": 5}
    assert tables["t"]["global_entries"] == 7


@pytest.mark.parametrize(
    ("options", "files"),
    [
        (("--server", "h1.example.org,16020"), 4),
        (("--server", str(D1)), 2),
        (("--group", group(H2)), 2),
        (("--queue", f"1-{H1}"), 2),
        (("--queue", f"1-{H1}/{D1}"), 2),
        (("--path", f"oldWALs/{wal(H1, 1)}"), 1),
    ],
)
def test_a_run_can_be_restricted(inspected: Inspected, options: tuple[str, str], files: int) -> None:
    _, result = inspected.run(*options)
    assert result["files"] == files
    if options[0] == "--queue":
        assert set(queues(result)) == {options[1]}
    if options[0] == "--path":
        assert result["wals"][0]["entries"] == len(EDITS)
        assert {one["pending_files"] for one in result["queues"]} == {0}, "no queue needs it any more"


def test_a_named_file_is_not_the_head_of_a_queue_that_stands_elsewhere(inspected: Inspected) -> None:
    code, result = inspected.run("--path", f"oldWALs/{wal(H2, 2)}")
    assert (code, result["findings"], result["endings"]) == (0, [], {"NO_HEADER": 1})
    assert (queues(result)[STUCK]["pending_files"], queues(result)[STUCK]["head"]) == (1, None)


def test_the_text_tells_the_same(inspected: Inspected, capsys: pytest.CaptureFixture[str]) -> None:
    path = f"file://{inspected.hbase}/oldWALs/{wal(H1, 2)}"
    inspected.run("--path", path)
    text = capsys.readouterr().out
    assert "CLOSED" in text
    assert f"stands at {wal(H1, 2)}:{MIDDLE}, between two entries" in text
    assert "its peer wants none of them" in text
    assert "scratch:s" in text


def test_the_example_of_the_page_is_an_answer(inspected: Inspected, capsys: pytest.CaptureFixture[str]) -> None:
    inspected.run("--server", "h2.example.org")
    (example,) = blocks(PAGE, "text")
    assert capsys.readouterr().out == example


@pytest.mark.long
def test_tables_are_written_and_findings_are_new_once(inspected: Inspected) -> None:
    code, result = inspected.run(lake=True)
    assert code == 5
    run_id = result["run_id"]
    assert run_id.endswith("-wals")
    counts = {table.name: len(inspected.desk.rows(table.name)) for table in INSPECTION_TABLES}
    assert counts == {"wal_files": 8, "wal_tables": 5 * 3 + 2, "queue_edits": 5}
    assert {row["table_name"] == row["table"] for row in inspected.desk.rows("wal_tables")} == {True}
    (row_of_finding,) = inspected.desk.rows("findings")
    assert (row_of_finding["run_id"], row_of_finding["is_new"], row_of_finding["nights"]) == (run_id, True, 1)
    code, result = inspected.run("--server", str(H2), lake=True)
    assert code == 0, "known from the inspection before"
    assert result["run_id"] != run_id
    assert [one["is_new"] for one in result["findings"]] == [False]
    (file,) = inspected.desk.rows("wal_files", f"run_id = '{run_id}' AND path = 'oldWALs/{wal(H1, 2)}'")
    assert (file["entries"], file["ending"], file["read_length"]) == (len(EDITS), "CLOSED", len(CLOSED))
    assert file["host"] == H1.host


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--server", "h9"), 2, "no queue reads WALs of it; queues are of"),
        (("--queue", "1-h9,1,2"), 2, "no such queue; there are 5"),
        (("--group", "h9%2C1%2C2"), 2, "no queue still needs a WAL of it"),
        (("--path", "oldWALs/nothing.17"), 2, "the listing has no such file"),
        (("--path", "oldWALs/x.1", "--server", "h1"), 2, "give one or the other"),
    ],
)
def test_what_is_not_there_is_said(inspected: Inspected, options: tuple[str, ...], code: int, words: str) -> None:
    found, result = inspected.run(*options)
    assert (found, words in result["error"]["message"]) == (code, True), result


def test_a_file_that_has_moved_or_gone_meanwhile(spark: SparkSession, tmp_path: Path) -> None:
    made = Inspected(spark, tmp_path)
    live = f"WALs/{H1}/{wal(H1, 600)}"
    (made.hbase / live).rename(made.hbase / "oldWALs" / wal(H1, 600))
    (made.hbase / "oldWALs" / wal(H1, 4)).unlink()
    code, result = made.run("--queue", f"1-{H1}")
    assert code == 0
    assert {one["path"]: one["ending"] for one in result["wals"]} == {live: "OPEN", f"oldWALs/{wal(H1, 4)}": "GONE"}
    assert result["queues"][0]["offset_status"] == "GONE"


def test_when_nothing_can_be_read_it_is_unavailable(spark: SparkSession, tmp_path: Path) -> None:
    made = Inspected(spark, tmp_path)
    for number in (2, 3):
        path = made.hbase / "oldWALs" / wal(D1, number)
        path.unlink()
        path.mkdir()  # a directory cannot be read
    code, result = made.run("--server", str(D1))
    assert (code, "no WAL could be read" in result["error"]["message"]) == (4, True), result


def test_snapshots_that_cannot_be_believed_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    made = Inspected(spark, tmp_path)
    replaced_content(made.snapshot, "queues-2.jsonl", b"")
    code, result = made.run()
    assert (code, "snapshot.json says 5" in result["error"]["message"]) == (3, True), result
    (made.snapshot / "snapshot.json").unlink()
    assert made.run()[0] == 3
