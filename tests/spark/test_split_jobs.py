"""The split jobs that read small files, from end to end: answers, tables, pages, bad input."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from pipelines.common.errors import UsageError
from pipelines.pegasus.domain.audit_log.facts import parse_facts
from pipelines.pegasus.domain.journal import parse_request
from pipelines.pegasus.domain.keys import encode_key, key_hash
from tests.labs.documented_commands import blocks
from tests.labs.job_answer import job_answer
from tests.labs.lake_rows import lake_rows
from tests.labs.pegasus.states import ENV, series, written
from tests.labs.places import DOCS


class Desk:
    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self.root = spark, root

    def run(self, job: str, *options: str) -> tuple[int, dict[str, Any]]:
        return job_answer(JobContext(job, spark=self.spark), self.root, *options)

    def rows(self, table: str) -> list[Any]:
        return lake_rows(f"{self.root}/lake/{table}")

    @property
    def lake(self) -> tuple[str, str]:
        return "--lake", f"file:{self.root}/lake"


@pytest.fixture
def desk(spark: SparkSession, tmp_path: Path) -> Desk:
    return Desk(spark, tmp_path)


def block(page: str, language: str, number: int = 0) -> str:
    return blocks(DOCS / page, language)[number]


@pytest.mark.promise("split-is-checked-before", "split-exit-code")
def test_preflight_of_the_page(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    state = desk.root / "onebox.json"
    state.write_text(block("split-state.md", "json"))
    code, result = desk.run("split-preflight", "--state", str(state), "--table", "temp", "--to", "8", *desk.lake)
    assert (code, result["blocked"]) == (3, ["temp"])
    assert capsys.readouterr().out == block("split-state.md", "text")
    verdicts = {row["rule"]: row["verdict"] for row in desk.rows("split_preflight")}
    assert verdicts == {
        "C1": "BLOCKER", "C2": "BLOCKER", "C7": "OK", "C9": "OK", "C11": "BLOCKER", "C12": "OK", "F37": "UNKNOWN",
    }  # fmt: skip
    code, result = desk.run("split-preflight", "--state", str(state), "--table", "other")
    assert (code, "no table other; there are: temp" in result["error"]["message"]) == (2, True)
    config = desk.root / "config.yaml"
    keys = "".join(
        f"    - {{key: '{one['key']}', reason: known, until: 2099-01-01}}\n"
        for one in desk.run("split-preflight", "--state", str(state))[1]["findings"]
    )
    config.write_text(f"findings:\n  acknowledged:\n{keys}")
    assert desk.run("split-preflight", "--state", str(state), "--config", str(config))[0] == 0, "all is acknowledged"


@pytest.mark.long
@pytest.mark.promise("split-rules-are-audited", "split-exit-code")
def test_audit_config_of_a_series(desk: Desk) -> None:
    states = series()
    code, result = desk.run("split-audit-config", "--states", str(written(desk.root / "good", states)), *desk.lake)
    assert (code, result["states"], result["findings"]) == (0, 4, [])
    rows = desk.rows("split_partitions")
    assert len(rows) == 4 + 3 * 8
    assert {(row["table_name"] == row["table"], row["primary_node"] == row["primary"]) for row in rows} == {
        (True, True)
    }
    waiting = [(row["observed_at"].minute, row["partition"]) for row in rows if row["ballot"] == -1]
    assert sorted(waiting) == [(5, 4), (5, 5), (5, 6), (5, 7), (10, 6), (10, 7)]
    states[3]["apps"][0]["partitions"]["1"]["ballot"] = 1
    code, result = desk.run("split-audit-config", "--states", str(written(desk.root / "bad", states)), *desk.lake)
    assert (code, [one["code"] for one in result["findings"]]) == (3, ["SPLIT_C6"])
    (finding,) = desk.rows("findings")
    assert (finding["key"], finding["is_new"]) == ("SPLIT_C6:2.1", True)
    states[3]["observed_at"] = "2026-11-21T02:16:00.000Z"
    _, result = desk.run("split-audit-config", "--states", str(written(desk.root / "bad", states)), *desk.lake)
    assert [(one["is_new"], one["nights"]) for one in result["findings"]] == [(False, 2)]
    states[0]["apps"][0]["app_info"].pop("app_id")
    code, result = desk.run("split-audit-config", "--states", str(written(desk.root / "bad", states)))
    assert (code, "0.json" in result["error"]["message"], ENV in str(states)) == (2, True, True)
    assert desk.run("split-audit-config", "--states", "x", "--stuck-after", "0")[0] == 2


@pytest.mark.long
def test_route_of_the_page(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert desk.run("split-route", "--hash", "5", "--from", "4", *desk.lake)[0] == 0
    assert capsys.readouterr().out == block("split-route.md", "text")
    assert sum(row["requests"] for row in desk.rows("split_routes")) == 12
    for options in (["--hash", "5"], ["--hash", "x", "--from", "4"], ["--hash", "5", "--from", "3"], []):
        assert desk.run("split-route", *options)[0] == 2


def line(at: int, kind: str, bits: int, pidx: int, version: int | None, code: str, **more: object) -> dict[str, Any]:
    known = {} if version is None else {"version": version}
    return {
        "ts": at, "client": "c", "kind": kind, "hash": f"{0xF0 << 56 | bits:016x}", "pidx": pidx, **known, "code": code,
        **more,
    }  # fmt: skip


MISUSED = "ERR_PARENT_PARTITION_MISUSED"
GOOD = [
    line(1, "write", 5, 1, 3, "ERR_OK"),
    line(2, "write", 5, 1, -1, "ERR_SPLITTING"),
    line(3, "read", 5, 1, -1, "ERR_OBJECT_NOT_FOUND"),
    line(4, "write", 5, 1, 7, MISUSED),
    line(5, "write", 5, 5, 7, "ERR_OK"),
    line(6, "scan", 1, 1, 7, "ERR_OK", foreign_rows=0),
    line(7, "read", 5, 5, 7, "ERR_TIMEOUT"),
]
BAD = [
    ("Q1", [line(8, "read", 0x0D, 2, 7, "ERR_OK")]),
    ("Q1", [line(8, "read", 0x13, 3, 7, MISUSED)]),
    ("Q2", [line(8, "write", 0x20, 0, -1, "ERR_OK")]),
    ("Q3", [line(8, "write", 5, 1, 3, "ERR_OK")]),
    ("Q4", [line(8, "write", 0x36, 2, 7, MISUSED), line(9, "write", 0x36, 2, 7, MISUSED)]),
    ("Q5", [line(8, "scan", 4, 4, 7, "ERR_OK", foreign_rows=3)]),
    ("Q5", [line(8, "scan", 6, 6, -1, "ERR_OK", foreign_rows=3)]),
]


@pytest.mark.long
def test_journals(desk: Desk) -> None:
    journal = desk.root / "requests.jsonl"
    journal.write_text("".join(json.dumps(one) + "\n" for one in GOOD))
    code, result = desk.run("split-route", "--journal", str(journal), "--from", "4", "--reject-code", "shipped")
    assert (code, result["findings"], result["requests"]) == (0, [], len(GOOD))
    rejected = [row for row in result["what_if"] if row["code"] == "ERR_SPLITTING"]
    assert {row["stage"] for row in rejected} == {"S7", "S8", "S9"}
    _, result = desk.run("split-route", "--journal", str(journal), "--from", "4", "--hash", "5", "5")
    asked = [row["requests"] for row in result["what_if"] if (row["stage"], row["client"]) == ("S0", "old")]
    assert asked == [2 + 6], "the hashes that are given, and the requests with these low bits except the scan"
    spoilt = [*GOOD, *(one for _, lines in BAD for one in lines)]
    journal.write_text("".join(json.dumps(one) + "\n" for one in spoilt))
    code, result = desk.run("split-route", "--journal", str(journal), "--from", "4")
    found = [
        (one["code"].removeprefix("SPLIT_"), one["subject"], one["severity"], one["evidence"]["line"])
        for one in result["findings"]
    ]
    assert code == 3
    assert sorted(found) == [
        ("Q1", "2", "error", 8),
        ("Q1", "3", "error", 9),
        ("Q2", "0", "error", 10),
        ("Q3", "1", "error", 11),
        ("Q4", "2", "warning", 13),
        ("Q5", "4", "error", 14),
        ("Q5", "6/overlap", "warning", 15),
    ]


def test_bad_journals_are_named(desk: Desk) -> None:
    journal = desk.root / "requests.jsonl"
    for text, words in (
        ("\n", "the journal is empty"),
        (json.dumps(GOOD[0]) + '\n{"ts":', "requests.jsonl, line 2: truncated or not JSON"),
        (json.dumps({**GOOD[0], "x": 1}), "line 1: unknown key 'x'"),
    ):
        journal.write_text(text)
        code, result = desk.run("split-route", "--journal", str(journal))
        assert (code, words in result["error"]["message"]) == (2, True), result
    journal.write_bytes(b"\xff\xfe")
    assert desk.run("split-route", "--journal", str(journal))[0] == 2
    assert desk.run("split-route", "--journal", str(desk.root))[0] == 2


def test_the_samples_of_the_pages_are_taken() -> None:
    facts = parse_facts(block("split-audit-log.md", "json"), "sample")
    assert (facts.confirmed, facts.durable) == ({1: 7}, {("n1/replica/reps", 1): 9})
    asked = parse_request(block("split-route.md", "json"), 1, "sample")
    assert asked.hash == key_hash(encode_key(b"a", b"")), "the hash of hash key a"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"old_count": 1 << 20}, "'old_count' must be less than or equal to 524288"),
        ({"replicas": [{"node": "n", "pidx": 1 << 31, "last_durable_decree": 1}]}, "must be less than 1048576"),
        ({"duplication": [{"pidx": 1 << 31, "confirmed_decree": 1}]}, "must be less than 1048576"),
    ],
)
def test_facts_of_more_partitions_than_a_table_has_are_named(change: dict[str, object], words: str) -> None:
    facts = {**json.loads(block("split-audit-log.md", "json")), **change}
    with pytest.raises(UsageError, match=words):
        parse_facts(json.dumps(facts), "facts.json")


@pytest.mark.long
def test_plan_of_the_page(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    keys = [encode_key(b"user%d" % number, b"s") for number in range(64)]
    keys += [encode_key(b"giant", b"%04d" % number) for number in range(100)]
    rows = pa.table(
        {
            "key": [*keys, b"", b"\0"],
            "value": [b"v" * 88] * 166,
            "partition_index": [key_hash(key) % 2 for key in keys] + [0] * 2,
        }
    )
    folder = desk.root / "rows"
    folder.mkdir()
    pq.write_table(rows, folder / "part.parquet")
    code, result = desk.run("split-plan", "--rows", str(folder), "--partitions", "2", "--target", "4KiB", *desk.lake)
    assert code == 0
    out = capsys.readouterr().out.replace(str(folder), "/data/temp-rows")
    assert out.split() == block("split-plan.md", "text").split(), (
        "lines break elsewhere, for the folder's name is longer"
    )
    assert (result["rows"], result["malformed"], result["doublings"]) == (164, 1, None)
    plan = desk.rows("split_plan")
    assert sum(row["keep_rows"] + row["move_rows"] for row in plan) == 164
    for row in plan:
        owned = [key for key in keys if key_hash(key) % 4 == row["child"]]
        assert (row["move_rows"], row["move_bytes"]) == (len(owned), sum(map(len, owned)) + 88 * len(owned))
    assert {one["code"] for one in result["findings"]} >= {"SPLIT_HOT_KEY", "SPLIT_D6"}
    both = pa.concat_tables(
        [rows, rows.set_column(2, "partition_index", pa.array([1 - key_hash(key) % 2 for key in keys] + [0] * 2))]
    )
    pq.write_table(both, folder / "part.parquet")
    again = desk.run("split-plan", "--rows", str(folder), "--partitions", "2", "--target", "4KiB")[1]
    assert (again["copies"], again["plan"], again["malformed"]) == (164, result["plan"], 2)
    assert "not counted: 164 rows in partitions that do not own them" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ({"value": [b"v"]}, (), "column 'key' must be the raw key as BINARY, found no such column"),
        ({"key": ["x"], "value": [b"v"]}, (), "found string"),
        ({"key": [b"\0\0k"], "value": [b"v"], "x": [1]}, (), "unknown column 'x'"),
        ({"key": [b"\0\0k"]}, (), "needs the column 'value' as BINARY, or 'value_bytes'"),
        ({"key": [b""], "value_bytes": [3]}, (), "contains no row"),
        (
            {"key": [b"\0\0k"] * 2, "value_bytes": [3] * 2, "partition_index": [0, 2]},
            (),
            "a row belongs to partition 2, but the table has 2 partitions",
        ),
        ({"key": [b"\0\0k"], "value_bytes": [3]}, ("--target", "many"), "--target many"),
        ({"key": [b"\0\0k"], "value_bytes": [3]}, ("--partitions", "6"), "--partitions 6: a power of two"),
        (None, (), "contains no Parquet file; docs/split-plan.md says"),
    ],
)
def test_bad_rows_are_named(desk: Desk, table: dict[str, Any] | None, options: tuple[str, ...], words: str) -> None:
    folder = desk.root / "rows"
    folder.mkdir()
    if table is not None:
        pq.write_table(pa.table(table), folder / "part.parquet")
    (folder / "000009.sst").write_bytes(b"no Parquet")
    code, result = desk.run("split-plan", "--rows", str(folder), "--partitions", "2", *options)
    assert (code, words in result["error"]["message"]) == (2, True), result


def test_a_damaged_file_of_rows_is_named(desk: Desk) -> None:
    folder = desk.root / "rows"
    folder.mkdir()
    keys = [encode_key(b"user%d" % number, b"s") for number in range(500)]
    path = folder / "part.parquet"
    table = pa.table({"key": keys, "value": [key * 3 for key in keys]})
    pq.write_table(table, path, use_dictionary=False, write_page_checksum=True, compression="none")
    whole = path.read_bytes()
    begin = whole.index(len(keys[250]).to_bytes(4, "little") + keys[250])
    changed = whole[: begin + 8] + b"U" + whole[begin + 9 :]
    for data in (whole[: len(whole) // 2], whole[:begin] + b"\xff" * 200 + whole[begin + 200 :], changed):
        path.write_bytes(data)
        code, result = desk.run("split-plan", "--rows", str(folder), "--partitions", "2")
        assert code == 2, result
        assert "part.parquet is not a whole Parquet file; export it again" in result["error"]["message"]
