"""The job `split-verify`: a whole split is proven, and every kind of difference is named, in its partition."""

import re
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.cli.context import JobContext
from pipelines.common.errors import UnavailableError, UsageError
from pipelines.lake.job_run import JobLake
from pipelines.pegasus.domain.keys import key_hash
from pipelines.pegasus.domain.partitions import partition_index
from pipelines.pegasus.domain.rows import Placement, RowKind
from pipelines.pegasus.domain.verify.compare import AFTER, compare_sums
from pipelines.pegasus.sources.row_files import ParquetRows
from pipelines.pegasus.transforms.row_frames import row_heads
from pipelines.pegasus.transforms.row_tally import TALLY_SCHEMA, ExamineSettings, tally_of
from pipelines.pegasus.use_cases.frame import split_run
from pipelines.pegasus.use_cases.split_verify import ComparedSide, VerifyRequest, split_verify
from tests.labs.job_answer import job_answer
from tests.labs.lake_rows import lake_rows
from tests.labs.pegasus.split_rows import AT, AT_S, Row, row_of, split, table_of, value_of, written

TABLE = table_of(4)
WHOLE = split(TABLE, 4)
OLD, NEW = 1_600_000_000_000_000, 1_800_000_000_000_000
NAME = "user17"
AFTER_ROW = row_of(8, NAME, b"")


class Verified:
    """Two exports, and the job."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.root = root

    def run(self, *options: str) -> tuple[int, dict[str, Any]]:
        context = JobContext("split-verify", spark=self.spark)
        return job_answer(context, self.root, "--table", "t", "--at", AT, *options)

    def compare(self, before: list[Row], after: list[Row], *options: str) -> tuple[int, dict[str, Any]]:
        number = len(list(self.root.iterdir()))
        old = written(before, self.root / f"before-{number}")
        new = written(after, self.root / f"after-{number}")
        counts = () if "--after-partitions" in options else ("--before-partitions", "4", "--after-partitions", "8")
        return self.run("--before", old, "--after", new, *counts, *options)


@pytest.fixture
def verified(spark: SparkSession, tmp_path: Path) -> Verified:
    return Verified(spark, tmp_path)


def owner_of(name: str, count: int = 8) -> int:
    return row_of(count, name, b"").index


def is_row(row: Row, name: str, *, owned: bool) -> bool:
    wanted = row_of(8, name, b"")
    return row.key == wanted.key and (row.index == wanted.index) == owned


def set_value(rows: list[Row], name: str, value: bytes, *, owned: bool = True) -> list[Row]:
    return [row._replace(value=value) if is_row(row, name, owned=owned) else row for row in rows]


@pytest.mark.promise("split-loss-is-found")
def test_a_split_with_its_copies_is_proven_whole(verified: Verified) -> None:
    code, result = verified.compare(TABLE, WHOLE)
    assert code == 0
    assert result["is_equal"] is True
    assert result["differences"] == []
    assert [one["code"] for one in result["findings"]] == ["SPLIT_D4"], "copies are told, not blamed"
    rows = result["partitions"]
    assert [one["partition"] for one in rows] == list(range(8))
    expected = [sum(partition_index(key_hash(row.key), 8) == index for row in TABLE if row.key) for index in range(8)]
    assert [one["before_rows"] for one in rows] == [one["after_rows"] for one in rows] == expected
    assert [one["stale_rows"] for one in rows] == expected
    assert result["rows"]["after"] == {"owned": 400, "stale": 400, "empty_write": 8}


def test_of_rows_that_agree_nothing_is_shuffled(verified: Verified) -> None:
    uri = written(WHOLE, verified.root / "rows")
    rows = ParquetRows(verified.spark).rows(uri)
    counted = row_heads(rows).mapInArrow(tally_of(ExamineSettings(Placement(8, 4), 8, AT_S)), TALLY_SCHEMA)
    plan = counted._jdf.queryExecution().executedPlan().toString()
    assert "MapInArrow" in plan
    assert "Exchange" not in plan


@pytest.mark.long
def test_spark_and_the_tasks_themselves_read_the_same(verified: Verified) -> None:
    rows = [*WHOLE, row_of(8, "long", value_of("x" * 5000)), Row(3, b"\x00\x09short", b""), row_of(8, "none", b"")]
    uri = written(rows, verified.root / "some rows")
    odd = pa.table(
        {
            "key": pa.array([b"k", None, b"\0\1kx"]).dictionary_encode(),
            "partition_index": pa.array([1, 2, None], pa.int32()),
            "value": pa.array([None, b"v", b"w"], pa.large_binary()),
        }
    )
    pq.write_table(odd, f"{verified.root}/some rows/odd.parquet")
    settings = ExamineSettings(Placement(8, 4), 8, AT_S)
    assert uri.startswith("file:")
    by_spark, by_tasks = ParquetRows(verified.spark), ParquetRows(verified.spark, uri)
    spread = [{where: (one.rows, one.bytes) for where, one in reader.tally(uri, settings).items()}
              for reader in (by_spark, by_tasks)]  # fmt: skip
    assert spread[0] == spread[1]
    details = [reader.details(uri, settings, range(8), list(RowKind)).drop("digest").collect()
               for reader in (by_spark, by_tasks)]  # fmt: skip
    assert sorted(map(repr, details[0])) == sorted(map(repr, details[1]))
    path = next((verified.root / "some rows").glob("*.parquet"))
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 255
    path.write_bytes(data[:-9])
    with pytest.raises(UsageError, match=r"some rows/\S+ is not a whole Parquet file; export it again"):
        by_tasks.tally(uri, settings)


def test_the_second_reading_opens_only_the_partitions_that_it_needs(verified: Verified) -> None:
    uri = f"file:{verified.root}/parts"
    for index in range(8):
        written([row for row in WHOLE if row.index == index], verified.root / "parts" / str(index), files=1)
    settings = ExamineSettings(Placement(8, 4), 8, AT_S, 16)
    by_tasks, by_spark = ParquetRows(verified.spark, uri), ParquetRows(verified.spark)
    tallies = by_tasks.tally(uri, settings)
    buckets = {place.bucket for place in tallies if place.bucket % 8 == 3}
    places = compare_sums("t", 8, {}, tallies).places(AFTER, buckets, ())
    assert len(buckets) > 8
    assert places == {3, 7}
    everywhere, there, spark = (
        sorted(map(repr, reader.details(uri, settings, buckets, (), only).drop("digest").collect()))
        for reader, only in ((by_tasks, None), (by_tasks, places), (by_spark, places))
    )
    assert everywhere == there == spark
    assert len(there) == 2 * sum(partition_index(key_hash(row.key), 8) == 3 for row in TABLE if row.key)
    (other,) = (verified.root / "parts" / "5").iterdir()
    data = other.read_bytes()
    other.write_bytes(data[:4] + bytes(len(data) // 2) + data[4 + len(data) // 2 :])  # its footer is whole
    assert len(by_tasks.details(uri, settings, buckets, (), places).collect()) == len(there)
    with pytest.raises(UsageError, match="is not a whole Parquet file"):
        by_tasks.tally(uri, settings)


@pytest.mark.long
def test_files_that_change_between_the_two_readings_are_no_proof(verified: Verified) -> None:
    class Changing(ParquetRows):
        """Somebody exports again while the job looks for the difference."""

        def details(
            self,
            uri: str,
            question: ExamineSettings,
            buckets: Collection[int],
            kinds: Collection[RowKind],
            places: Collection[int] | None = None,
        ) -> DataFrame:
            shutil.rmtree(verified.root / "after")
            written(WHOLE, verified.root / "after")
            return super().details(uri, question, buckets, kinds, places)

    less = [row for row in WHOLE if row.key != AFTER_ROW.key]
    before, after = written(TABLE, verified.root / "before"), written(less, verified.root / "after")
    request = VerifyRequest(
        "t", ComparedSide(before, Placement(4, 4)), ComparedSide(after, Placement(8, 4)), AT_S * 1000
    )
    run = split_run("split-verify", "c1", request.at_ms)
    with pytest.raises(UnavailableError, match="differ, but a second reading finds no difference: a file has changed"):
        split_verify(request, Changing(verified.spark, before, after), run, JobLake())


@pytest.mark.promise("split-loss-is-found")
def test_each_kind_of_difference_is_named(verified: Verified) -> None:
    gone, kept = row_of(4, "gone", value_of("x", expires_in=-1)), row_of(4, "kept", value_of("y", expires_in=1))
    foreign = row_of(8, "user10", value_of("x"))
    rows = [row for row in WHOLE if not is_row(row, "user1", owned=True)]  # its copy is left
    rows = [row for row in rows if row.key != row_of(8, "user2", b"").key]
    rows = set_value(rows, "user3", value_of("x"))
    rows = set_value(rows, "user4", value_of("x", at_us=OLD))
    rows = set_value(rows, "user5", value_of("x", at_us=NEW))
    rows = set_value(rows, "user6", value_of("value 6", expires_in=0))
    rows = set_value(rows, "user7", value_of("x", at_us=NEW), owned=False)
    rows += [
        row_of(8, "new", value_of("x")),
        row_of(8, "late", value_of("x"))._replace(index=(owner_of("late") + 4) % 8),
        foreign._replace(index=(foreign.index + 1) % 8),
        Row(3, b"\x00\x09short", value_of("x")),
        row_of(8, "headless", b"\x00"),
        row_of(8, "user8", value_of("value 8")),
        *split([kept], 4),
    ]
    code, result = verified.compare([*TABLE, gone, kept], rows)
    assert code == 3
    told = {}
    for one in result["shown"]:
        name = one["key"].removesuffix("sort").partition("\\x0")[2].lstrip("\\x0123456789")
        told[name, one["reason"], one["side"]] = one["detail"]
        if one["partition"] is not None:
            assert one["partition"] == int(one["key_hash"], 16) % 8
    for (name, reason, side), words in {
        ("user1", "lost", "after"): "a copy is left in partition",
        ("user2", "lost", "after"): "not in its partition after",
        ("new", "lost", "before"): "has come back",
        ("user3", "value", "after"): "no time of writing shows",
        ("user4", "value", "after"): "a write was undone",
        ("user4", "stale-newer", "after"): "the parent took a write",
        ("user5", "value", "before"): "written later",
        ("user6", "expired", "after"): "expired after",
        ("user7", "stale-newer", "after"): "the parent took a write",
        ("late", "stale-newer", "after"): "which does not own it",
        ("user10", "foreign", "after"): "never belonged",
        ("short", "malformed", "after"): "does not write such a key",
        ("headless", "malformed", "after"): "does not write such a key",
        ("user8", "malformed", "after"): "2 rows have this key",
    }.items():
        assert words in told.pop((name, reason, side))
    assert told == {}, "nothing else: what has expired may be gone"
    assert sum(one["rows"] for one in result["differences"]) == 14
    assert sum(one["before_expired"] for one in result["partitions"]) == 1
    codes = {one["code"] for one in result["findings"] if one["severity"] == "error"}
    assert codes == {f"SPLIT_D{number}" for number in (1, 2, 3, 5, 6)}


@pytest.mark.long
def test_after_compaction_no_copy_may_be_left(verified: Verified) -> None:
    compacted = split(TABLE, 4, copies=False)
    assert verified.compare(TABLE, compacted, "--compacted")[0] == 0
    left = [row for row in WHOLE if is_row(row, NAME, owned=False)]
    code, result = verified.compare(TABLE, [*compacted, *left], "--compacted")
    assert code == 3
    assert [(one["reason"], one["after_index"]) for one in result["shown"]] == [("stale", (owner_of(NAME) + 4) % 8)]


@pytest.mark.long
def test_the_split_of_a_table_without_a_power_of_two_loses_what_the_filter_takes(verified: Verified) -> None:
    table = table_of(3, 300)
    masked = [row for row in split(table, 3) if row.key and key_hash(row.key) & 5 == row.index]
    code, result = verified.compare(table, masked, "--before-partitions", "3", "--after-partitions", "6")
    assert code == 3
    lost = sum(one["rows"] for one in result["differences"] if (one["reason"], one["side"]) == ("lost", "after"))
    assert lost == 300 - sum(partition_index(key_hash(row.key), 6) == row.index for row in masked)
    assert 0.6 < lost / 300 < 0.75


@pytest.mark.long
def test_two_clusters_and_a_table_that_was_split_before(verified: Verified) -> None:
    other = split(table_of(4), 4, factor=4, copies=False)
    options = ("--before-partitions", "8", "--before-created-with", "4", "--after-partitions", "16")
    code, result = verified.compare(WHOLE, other, *options, "--after-created-with", "16")
    assert (code, len(result["partitions"]), result["is_equal"]) == (0, 16, True)
    code, result = verified.compare(WHOLE, other, "--before-partitions", "8", "--after-partitions", "16")
    assert code == 3, "without --before-created-with, copies of the split before are foreign"
    assert {(one["reason"], one["side"]) for one in result["differences"]} == {("foreign", "before")}


def test_the_copy_of_a_deleted_row_is_no_write_to_the_parent(verified: Verified) -> None:
    four = [row for row in split(table_of(2, 20), 2) if row.key != AFTER_ROW.key or row.index == AFTER_ROW.index % 4]
    deleted = [row._replace(index=(row.index + 2) % 4) if row.key == AFTER_ROW.key else row for row in four]
    counts = {"--before-partitions": 4, "--before-created-with": 2, "--after-partitions": 8, "--after-created-with": 2}
    options = [str(word) for pair in counts.items() for word in pair]
    assert verified.compare(deleted, split(deleted, 4), *options)[0] == 0
    late = row_of(8, "late", value_of("x"))
    written_late = late._replace(index=(late.index + 4) % 8)
    moves = next(row.key for row in four if row.key and partition_index(key_hash(row.key), 8) >= 4)
    assert moves != AFTER_ROW.key
    newer = value_of("x", at_us=NEW)  # the parent has had it since the first split; the second leaves an older one, too
    before = [
        row._replace(value=newer) if row.key == moves and key_hash(moves) % 4 != row.index else row for row in deleted
    ]
    code, result = verified.compare(before, [*split(before, 4), written_late], *options)
    assert (code, {one["reason"] for one in result["shown"]}) == (3, {"stale-newer"})
    assert sorted(one["after_index"] or -1 for one in result["shown"]) == [-1, partition_index(key_hash(moves), 8)]


@pytest.mark.long
def test_tables_are_written_once(verified: Verified) -> None:
    lake = verified.root / "lake"
    after = [row for row in WHOLE if not is_row(row, NAME, owned=True)]
    old, new = written(TABLE, verified.root / "old"), written(after, verified.root / "new")
    options = ("--before", old, "--before-partitions", "4", "--after", new, "--after-partitions", "8")
    for _ in range(2):
        assert verified.run(*options, "--lake", str(lake), "--cluster", "c1")[0] == 3
    assert len(lake_rows(str(lake / "split_verify"))) == 8
    (row,) = lake_rows(str(lake / "split_diff"))
    assert (row["reason"], row["cluster"], bytes(row["raw_key"])) == ("lost", "c1", AFTER_ROW.key)
    assert re.fullmatch(r"20260921T141320Z-[0-9a-f]{8}-split-verify", row["run_id"])


def test_what_is_no_table_is_named(verified: Verified, capsys: pytest.CaptureFixture[str]) -> None:
    good = written(TABLE, verified.root / "good")
    bad = verified.root / "bad"
    columns = {"partition_index": pa.array([1], pa.int32()), "key": pa.array([b"k"]), "value": pa.array([b"v"])}

    def refused(*options: str, table: dict[str, Any] | None = None, raw: bytes | None = None) -> str:
        bad.mkdir(exist_ok=True)
        for file in bad.iterdir():
            file.unlink()
        if table is not None:
            pq.write_table(pa.table(table), bad / "part.parquet")
        if raw is not None:
            (bad / "part.parquet").write_bytes(raw)
        given = {"--before": good, "--before-partitions": "4", "--after": f"file:{bad}", "--after-partitions": "8"}
        given.update(zip(options[::2], options[1::2], strict=True))
        capsys.readouterr()
        assert verified.run(*(word for pair in given.items() for word in pair))[0] == 2
        return capsys.readouterr().err

    assert "no such directory" in refused("--after", f"file:{bad}/none")
    assert "contains no Parquet file" in refused()
    assert "unknown column 'ttl'" in refused(table={**columns, "ttl": [1]})
    assert "no column 'value'" in refused(table={name: columns[name] for name in ("partition_index", "key")})
    assert "'key' is string, it must be binary" in refused(table={**columns, "key": ["k"]})
    assert "part.parquet is not a whole Parquet file" in refused(raw=b"PAR1 nothing PAR1")
    whole = (verified.root / "good" / "part-00000.parquet").read_bytes()
    assert "not a whole Parquet file" in refused(raw=whole[: len(whole) // 2])
    pq.write_table(pa.table(columns), verified.root / "summed.parquet", write_page_checksum=True, compression="none")
    summed = (verified.root / "summed.parquet").read_bytes()
    place = summed.index(b"\x01\x00\x00\x00v")  # a value, behind its length
    assert "not a whole Parquet file" in refused(raw=summed[: place + 4] + b"w" + summed[place + 5 :])
    few = refused("--before-partitions", "2", table=columns)
    assert "rows of partition 2, but the given partition count is 2" in few
    nothing = {**columns, "key": pa.array([None], pa.binary())}
    assert "without a partition_index, key or value (such as one of partition 1)" in refused(table=nothing)
    assert "was not created with 3" in refused("--after-created-with", "3", table=columns)
    assert "such as 2026-11-21T02:00:00Z" in refused("--at", "yesterday", table=columns)
    assert "Z is UTC" in refused("--at", "2026-11-21T02:00:00", table=columns)
