"""split-run on replicas made with RocksDB: every row is where its hash wants it, and nothing else happens."""

import errno
import hashlib
import json
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.cli.entry import main
from jobs.split.split_tasks import SplitInputs, finished_parts
from pipelines.common.errors import UnavailableError, UsageError
from pipelines.pegasus.domain.keys import key_hash
from pipelines.pegasus.domain.offline.merge import merged_rows
from pipelines.pegasus.domain.offline.model import OfflineSplitOptions, OldPartition, PartitionResult
from pipelines.pegasus.domain.offline.ranges import SplitTask
from pipelines.pegasus.domain.private_log.names import Gpid
from pipelines.pegasus.sinks.part_files import PartitionFiles, SstWriter
from pipelines.pegasus.sinks.split_output import SplitOutput
from pipelines.pegasus.sources.parquet_rows import check_rows, opened_rows
from pipelines.pegasus.sources.replica_logs import ReplicaLogs
from tests.labs.documented_commands import blocks
from tests.labs.lake_rows import lake_rows
from tests.labs.pegasus import private_logs as made
from tests.labs.pegasus.private_logs import Entry
from tests.labs.pegasus.replicas import EXPIRED, FLUSHED, keys, stored, write_log
from tests.labs.pegasus.split_tables import APP, OLD, Table, reopened
from tests.labs.places import DOCS

PAGE = DOCS / "split-run.md"


@pytest.mark.promise("split-offline")
def test_every_row_is_where_its_hash_wants_it(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table(spark, tmp_path)
    before = table.inputs()
    code, result = table.run("--lake", f"file:{tmp_path}/lake", new=16)
    text = capsys.readouterr().out.replace(f"{tmp_path}/out", "/data/bulk_load")
    assert code == 0
    assert reopened(table, 16) == table.live
    assert table.inputs() == before, "nothing of the inputs was altered or added"
    assert (result["rows"], result["stale"], result["empty"], result["malformed"]) == (len(table.live), 12, 4, 0)
    assert result["logged"] == 4 * 4
    (example,) = blocks(PAGE, "text")
    size = re.compile(r"[\d.]+ KiB")  # SSTs hold the time and the place of their making
    assert size.sub("N KiB", text) == size.sub("N KiB", example)
    assert sum(row["rows"] for row in lake_rows(f"{tmp_path}/lake/split_manifest")) == len(table.live)
    again, told = table.run()
    assert (again, told["resumed"], told["rows"]) == (0, 4, len(table.live)), "it is there already"
    assert "an earlier run has written all of this" in capsys.readouterr().out
    code, told = table.run(new=8)
    assert (code, "made of other inputs" in told["error"]["message"]) == (2, True)


@pytest.mark.long
def test_expired_rows_by_option_and_parquet(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    code, result = table.run("--drop-expired", "--format", "parquet", new=8)
    assert (code, result["expired"]) == (0, len(table.expired))
    rows = ds.dataset(sorted(table.output().rglob("*.parquet"))).to_table().to_pylist()
    assert {row["key"]: row["value"] for row in rows} == {
        key: value for key, value in table.live.items() if key not in table.expired
    }
    assert all(key_hash(row["key"]) & 7 == row["partition_index"] for row in rows)
    assert not list(table.output().rglob("bulk_load*"))
    stale = ["split-stale", "--table", "temp", "--rows", f"file:{table.output()}", "--partitions", "8"]
    stale += ["--created-with", "8", "--validate-env", "true", "--result", f"{tmp_path}/stale.json"]
    assert main(stale, context=JobContext("split-stale", spark=spark)) == 0
    told = json.loads((tmp_path / "stale.json").read_text())
    assert sum(row["rows"] for row in told["fates"]) == len(rows), "split-stale reads what split-run writes"
    table.old = 8
    code, result = table.run("--rows", str(table.output()), new=32, out="again")
    assert (code, result.get("stale")) == (0, 0), result
    unexpired = {key: value for key, value in table.live.items() if key not in table.expired}
    assert reopened(table, 32, "again") == unexpired, "Parquet is split again, into SSTs"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({"partition_index": [0], "key": [b"k"]}, "column 'value' must be binary, found no such column"),
        ({"partition_index": ["0"], "key": [b"k"], "value": [b"v"]}, "column 'partition_index' must be int32"),
        ({"partition_index": [0], "key": [b"k"], "value": [b"v"], "x": [1]}, "unknown column 'x'"),
        ({"partition_index": [4], "key": [b"k"], "value": [b"v"]}, "a row belongs to partition 4, but the table has 4"),
        (
            {"partition_index": [-2, 1], "key": [b"k", b"l"], "value": [b"v", b"v"]},
            "a row belongs to partition -2, but",
        ),
        (
            {"partition_index": [1, 1], "key": [b"k", b"k"], "value": [b"v", b"w"]},
            "1 keys of partition 1 occur more",
        ),
        ({"partition_index": [1], "key": [None], "value": [b"v"]}, "has no key or no value"),
        (None, "contains no Parquet files"),
    ],
)
def test_bad_parquet_is_named(tmp_path: Path, rows: dict[str, Any] | None, words: str) -> None:
    folder = tmp_path / "rows"
    folder.mkdir()
    if rows is not None:
        key_type = [("key", pa.binary())] if rows["key"] == [None] else []
        table = pa.table(rows)
        for name, kind in key_type:
            table = table.set_column(1, name, table.column(1).cast(kind))
        pq.write_table(table, folder / "part.parquet")
    else:
        (folder / "part.parquet").write_bytes(b"no parquet")
    with pytest.raises(UsageError) as error:  # noqa: PT012 - either of the two may say it
        check_rows(str(folder), 4, 1)
        with opened_rows(str(folder), 1) as found:
            list(found.batches(100))
    assert words in str(error.value)


def test_parquet_that_split_run_wrote_is_never_read_wrong(tmp_path: Path) -> None:
    rows = {key: stored(hashlib.shake_256(key).digest(40)) for key in keys(1, OLD, 300)}
    sink = PartitionFiles(tmp_path / "rows", 1, 1 << 20, parquet=True)
    sink.put(1, sorted(rows.items()))
    sink.close()
    (path,) = (tmp_path / "rows").rglob("*.parquet")
    whole = path.read_bytes()

    def read() -> dict[bytes, bytes] | str:
        try:
            check_rows(str(path.parent), OLD, 1)
            with opened_rows(str(path.parent), 1) as found:
                return dict(chain.from_iterable(found.batches(7)))
        except UsageError as error:
            return str(error)

    assert read() == rows
    refused = 0
    for place in range(4, len(whole), len(whole) // 60):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        answer = read()
        assert answer == rows or str(path.parent) in answer, "or a byte that nobody looks at"
        refused += f"{path} is not a whole Parquet file" in answer
    assert refused > 50


def test_a_disk_that_refuses_is_unavailable(spark: SparkSession, tmp_path: Path) -> None:
    full, numbers = SstWriter(Path("/dev/full")), [b"%08d" % number for number in range(5_000)]
    with pytest.raises(UnavailableError, match=r"/dev/full cannot be written \(.*No space left on device"):
        full.put([(number, hashlib.shake_256(number).digest(1000)) for number in numbers])
    table = Table(spark, tmp_path)
    staged = table.output().with_name(".temp.staging")
    staged.mkdir(parents=True)
    (staged / "whole").write_bytes(b"in the way")
    code, result = table.run()
    assert (code, f"{staged}/whole: " in result["error"]["message"]) == (4, True), result
    (staged / "whole").unlink()
    code, result = table.run()
    assert (code, result["resumed"]) == (0, OLD)
    context, output = JobContext("split-run", spark=spark), SplitOutput(str(tmp_path), "onebox", "full", "inputs")

    def work(task: SplitTask, _: PartitionFiles) -> list[PartitionResult]:
        if task.group[0] == 1:
            raise OSError(errno.ENOSPC, "No space left on device", "/full/1-0.sst")
        return [PartitionResult(task.group[0])]

    sources = [OldPartition(partition, str(tmp_path)) for partition in range(2)]
    inputs = SplitInputs([range(1), range(1, 2)], sources, {0: "a", 1: "b"})
    with pytest.raises(UnavailableError, match=r"^/full/1-0.sst: No space left on device; start again"):
        finished_parts(context, output, inputs, OfflineSplitOptions(0), work)
    assert output.kept(SplitTask(range(1)), inputs.prints) is not None, "the other task goes on"


def test_a_table_whose_count_is_no_power_of_two(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path, old=3)
    assert table.run(new=8)[0] == 0
    assert reopened(table, 8) == table.live, "Pegasus's own split would delete two thirds of them"


def test_a_run_that_was_stopped_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    broken = table.reps / f"{APP}.3.pegasus" / "data" / "rdb" / "CURRENT"
    said = broken.read_bytes()
    broken.write_bytes(b"MANIFEST-999999\n")
    code, result = table.run()
    assert (code, "RocksDB cannot open it" in result["error"]["message"]) == (2, True), result
    assert not table.output().exists()
    staged = table.output().with_name(".temp.staging")
    kept = {path: path.stat().st_mtime_ns for path in staged.rglob("*.sst")}
    broken.write_bytes(said)
    (staged / "whole" / "1").mkdir(parents=True)
    (staged / "whole" / "1" / "9-9.sst").write_bytes(b"of an attempt that died while it brought files together")
    code, result = table.run()
    assert (code, result["resumed"]) == (0, 2), "rows of partition 1 depend on what partition 3 has"
    assert {path.stat().st_mtime_ns for path in table.output().rglob("*.sst")} >= set(kept.values())
    assert not staged.exists()
    assert reopened(table, 16) == table.live


def test_a_cold_backup(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(spark, tmp_path)
    backup = table.backup()
    options = ("--backup", str(backup.parent))
    ended = backup / "meta" / "app_backup_status"
    ended.unlink()
    code, result = table.run(*options)
    assert (code, "has not ended" in result["error"]["message"]) == (2, True)
    ended.write_text("{}")
    sst = next(backup.glob("2/chkpt*/*.sst"))
    whole = sst.read_bytes()
    sst.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    code, result = table.run(*options)
    assert (code, f"{sst}: it has" in result["error"]["message"]) == (3, True), result
    sst.write_bytes(whole)
    code, result = table.run(*options)
    assert (code, result["logged"]) == (0, 0)
    assert set(reopened(table, 16).values()) == {stored(b"old"), stored(b"new"), stored(b"gone", EXPIRED)}
    began = "\n  the cold backup began at 2023-11-14T22:13:20.000Z: it may lack later writes\n"
    assert (began in capsys.readouterr().out, result["backup_ms"]) == (True, 1_700_000_000_000)
    code, exported = table.export(*options)
    assert (code, exported["rows"]) == (0, result["read"]), "every row of the backup, and no log"
    assert (began in capsys.readouterr().out, exported["backup_ms"]) == (True, 1_700_000_000_000)
    code, result = table.run(*options, "--committed-decree", "1=99", out="other")
    assert (code, "is in no private log" in result["error"]["message"]) == (3, True)


def spoil(table: Table, entries: Sequence[Entry]) -> None:
    log = table.reps / f"{APP}.1.pegasus" / "plog"
    (log / "log.1.0").unlink()
    log.rmdir()
    write_log(log, APP, 1, entries)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([Entry(FLUSHED + 2), Entry(FLUSHED + 3)], "decree 21 is in no private log"),
        (
            [Entry(FLUSHED + 1, (made.incr(keys(1, OLD, 1)[0], 5),)), Entry(FLUSHED + 2)],
            "RPC_RRDB_RRDB_INCR, which the log alone cannot replay",
        ),
    ],
)
def test_logs_that_cannot_be_applied_are_refused(
    spark: SparkSession, tmp_path: Path, entries: list[Entry], words: str
) -> None:
    table = Table(spark, tmp_path)
    spoil(table, entries)
    code, result = table.run()
    assert (code, words in result["error"]["message"]) == (3, True), result
    log = table.reps / f"{APP}.1.pegasus" / "plog" / "log.1.0"
    data = bytearray(log.read_bytes())
    data[70] ^= 1
    log.write_bytes(data)
    code, result = table.run()
    assert (code, "is broken" in result["error"]["message"]) == (3, True), result
    log.unlink()
    assert list(ReplicaLogs(str(log.parent), Gpid(APP, 1))) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--from", "4", "--to", "12"), "must be a power of two above the old one"),
        (("--from", "4", "--to", "2097152"), "must be a power of two above the old one, at most 1048576"),
        (("--from", "4", "--to", "4"), "must be a power of two above the old one"),
        (("--from", "8"), "no data of partition 2.4 (4 of 8 are missing)"),
        (("--from", "2"), "there is a partition 2.2; the table has more than 2"),
        (("--cluster-id", "200"), "0 to 127"),
        (("--cluster", "a/b"), "cluster 'a/b'"),
        (("--out", "hdfs://ns1/bulk_load"), "--out hdfs://ns1/bulk_load: RocksDB's files are in local or mounted"),
    ],
)
def test_bad_usage_is_named(spark: SparkSession, tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    for partition in range(OLD):
        (tmp_path / "n1" / f"{APP}.{partition}.pegasus").mkdir(parents=True)
    arguments = ["split-run", "--app-id", "2", "--app", "temp", "--cluster", "onebox", "--from", "4", "--to", "16"]
    arguments += [
        "--out",
        f"{tmp_path}/out",
        "--replicas",
        f"{tmp_path}/n1",
        "--result",
        f"{tmp_path}/r.json",
        "--target-id",
        "7",
        *options,
    ]
    assert main(arguments, context=JobContext("split-run", spark=spark)) == 2
    assert words in json.loads((tmp_path / "r.json").read_text())["error"]["message"]
    (tmp_path / "n2" / f"{APP}.1.pegasus").mkdir(parents=True)
    arguments[arguments.index(f"{tmp_path}/n1")] = str(tmp_path)
    assert main(arguments, context=JobContext("split-run", spark=spark)) == 2


def test_rows_are_merged_like_a_dictionary() -> None:
    below = {b"b": b"1", b"d": b"2", b"f": b"3"}
    for tail in (
        {b"a": b"x", b"b": None, b"e": b"y", b"z": b"w"},
        {b"a": None},
        {b"d": b"n", b"f": None, b"g": None},
        {},
        {b"z": b"w"},
    ):
        both: dict[bytes, bytes | None] = {**below, **tail}  # type: ignore[dict-item]
        expected = sorted((key, value) for key, value in both.items() if value is not None)
        assert list(merged_rows(sorted(below.items()), tail)) == expected
    assert list(merged_rows([], {b"a": b"1", b"b": None})) == [(b"a", b"1")]
