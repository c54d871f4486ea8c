"""What split-run does with data that RocksDB cannot give as they are: merges, deleted ranges, damage, encryption."""

import json
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest
import rocksdict
from pyspark.sql import SparkSession

from pipelines.common.errors import MalformedError, RefusedError, UsageError
from pipelines.files.file_reader import LocalFileReader
from pipelines.pegasus.domain.offline.model import created_with
from pipelines.pegasus.domain.offline.replica_info import AppInfo, parse_app_info, parse_app_metadata
from pipelines.pegasus.sources.cold_backup import backup_of
from pipelines.pegasus.sources.replica_db import opened_db
from tests.labs.pegasus.replicas import META, app_info, encrypted, keys, stored, write_db
from tests.labs.pegasus.split_tables import APP, OLD, Table, acknowledging, reopened

KEYS = sorted(keys(1, OLD, 2000))
HARMLESS = range(-43, -11)
"""In the footer of an SST: what fills it up, and the lowest byte of its version; 4 and 5 differ in filters only."""
ROWS: dict[bytes, bytes | None] = {key: stored(b"v" * 100) for key in KEYS}


def largest_sst(folder: Path) -> Path:
    return max(folder.glob("*.sst"), key=lambda path: path.stat().st_size)


def read(folder: Path) -> dict[bytes, bytes]:
    with opened_db(str(folder)) as database:
        return dict(chain.from_iterable(database.batches(7)))


def test_a_damaged_file_is_no_early_end(tmp_path: Path) -> None:
    write_db(tmp_path / "rdb", [ROWS])
    assert read(tmp_path / "rdb") == ROWS
    path = largest_sst(tmp_path / "rdb")
    whole = path.read_bytes()
    given = set()
    for place in range(3, len(whole), len(whole) // 25):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        if place - len(whole) in HARMLESS:
            assert read(tmp_path / "rdb") == ROWS, "nobody looks at this byte"
            continue
        with pytest.raises((RefusedError, UsageError)) as error:
            read(tmp_path / "rdb")
        said = str(error.value)
        assert str(path) in said
        assert "take the replica of another server, or a cold backup" in said
        assert "/walsafe-replica-" not in said, "a link's name helps nobody"
        given.add("RocksDB returns 0 rows" in said)
    assert given == {True, False}, "the first block, and others"
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(UsageError, match="RocksDB cannot open it"):
            read(tmp_path / "rdb")


def test_a_range_is_read_whole_or_refused(tmp_path: Path) -> None:
    write_db(tmp_path / "rdb", [ROWS])
    path = largest_sst(tmp_path / "rdb")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 1]) + whole[len(whole) // 2 + 1 :])
    bounds = [b"", *KEYS[::400][1:], KEYS[-1] + b"\xff", None]
    refused = 0
    with opened_db(str(tmp_path / "rdb")) as database:
        for begin, end in pairwise(bounds):
            assert begin is not None
            mine = {key: row for key, row in ROWS.items() if begin <= key and (end is None or key < end)}
            try:
                assert dict(chain.from_iterable(database.batches(7, begin, end))) == mine
            except RefusedError:
                refused += 1
                assert mine, "an empty range has no damage"
    assert 1 <= refused <= 2, "only the ranges of the damaged block"


def test_deleted_ranges_are_resolved(tmp_path: Path) -> None:
    folder = tmp_path / "rdb"
    write_db(folder, [ROWS])
    options = rocksdict.Options(raw_mode=True)
    options.set_disable_auto_compactions(True)
    database = rocksdict.Rdict(str(folder), options=options, column_families={META: options})
    database.delete_range(KEYS[100], KEYS[900])
    database.flush()
    database[KEYS[500]] = stored(b"written again")
    database.flush()
    database.delete_range(KEYS[1990], KEYS[-1] + b"\xff")  # in RocksDB's own log alone
    database.close()
    left = {key: value for place, (key, value) in enumerate(ROWS.items()) if not 100 <= place < 900 and place < 1990}
    assert read(folder) == left | {KEYS[500]: stored(b"written again")}


class Merges:
    """RocksDB of Spark's own JVM, for rocksdict has no merge operator."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        jvm: Any = spark.sparkContext._jvm
        self._rocks = jvm.org.rocksdb
        self._rocks.RocksDB.loadLibrary()
        self._names, self._handles = jvm.java.util.ArrayList(), jvm.java.util.ArrayList()
        for name in (b"default", META.encode()):
            options = self._rocks.ColumnFamilyOptions().setMergeOperatorName("stringappend")
            self._names.add(self._rocks.ColumnFamilyDescriptor(name, options))
        self._folder = str(folder)

    def write(self, merges: dict[bytes, bytes], *, compact: bool) -> None:
        """Append operands to values; compaction resolves them."""
        rocks, handles = self._rocks, self._handles
        database = rocks.RocksDB.open(rocks.DBOptions(), self._folder, self._names, handles)
        for key, operand in merges.items():
            database.merge(handles.get(0), key, operand)
        database.flush(rocks.FlushOptions(), handles.get(0))
        if compact:
            database.compactRange(handles.get(0))
        for handle in handles:
            handle.close()
        database.close()


@pytest.mark.long
def test_merges_are_resolved_or_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    folder = table.reps / f"{APP}.1.pegasus" / "data" / "rdb"
    key = keys(1, OLD, 40)[35]
    assert table.live[key] == stored(b"old")
    Merges(spark, folder).write({key: b"more"}, compact=False)
    code, result = table.run()
    assert code == 3
    said = result["error"]["message"]
    assert str(folder) in said
    assert "let the program that wrote them compact the whole database first" in said
    assert not table.output().exists()
    Merges(spark, folder).write({}, compact=True)
    code, result = table.run()
    assert (code, result["resumed"]) == (0, 2), "another partition has rows of this one"
    assert reopened(table, 16) == table.live | {key: stored(b"old") + b",more"}


HIDDEN: dict[str, Callable[[Path], Path]] = {
    "RocksDB's CURRENT": lambda replica: replica / "data" / "rdb" / "CURRENT",
    "one SST": lambda replica: largest_sst(replica / "data" / "rdb"),
    "a private log": lambda replica: replica / "plog" / "log.1.0",
    ".app-info": lambda replica: replica / ".app-info",
}


def test_encrypted_directories_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    replica = table.reps / f"{APP}.1.pegasus"
    (replica / ".app-info").write_bytes(app_info(APP, "temp", OLD))
    for name, of in HIDDEN.items():
        path = of(replica)
        data = path.read_bytes()
        path.write_bytes(encrypted(data))
        code, result = table.run()
        assert code == 3, name
        assert f"{path} is encrypted by Pegasus" in result["error"]["message"]
        assert "docs/split-rows.md" in result["error"]["message"], "the way out"
        path.write_bytes(data)
    assert table.run()[0] == 0


def test_what_a_replica_says_of_its_table(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    told = table.reps / f"{APP}.2.pegasus" / ".app-info"
    for app, count in ((APP, 8), (7, OLD)):
        told.write_bytes(app_info(app, "temp", count))
        code, result = table.run()
        assert code == 2
        said = f"{told}: table {app} (temp) has {count} partitions, but table {APP} with {OLD} partitions is given"
        assert said in result["error"]["message"]
    told.write_bytes(b"{}")
    log = table.reps / f"{APP}.3.pegasus" / "plog"
    (log / "log.1.0").unlink()
    code, result = table.run()
    assert (code, table.output().exists()) == (3, False)
    found = sorted(result["findings"], key=lambda one: one["code"])
    assert [(one["code"], one["severity"]) for one in found] == [
        ("SPLIT_L6", "error"), ("SPLIT_R1", "error"),
    ]  # fmt: skip
    logs, counts = (one["message"] for one in found)
    assert f"{APP}.3.pegasus/data/rdb" in logs
    assert str(told) in counts


def test_foreign_rows_are_found_by_what_the_table_says_of_itself(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)  # partitions 0 and 2 have copies of each other, and so have 1 and 3
    infos = [table.reps / f"{APP}.{partition}.pegasus" / ".app-info" for partition in range(OLD)]
    for first, codes in ((2, set()), (-1, set()), (4, {"SPLIT_D3"})):
        for info in infos:
            info.write_bytes(app_info(APP, "temp", OLD, first))
        code, result = table.run(out=f"out{first}")
        assert ({one["code"] for one in result["findings"]}, code) == (codes, 3 if codes else 0), result
    (foreign,) = [one for one in result["findings"] if one["code"] == "SPLIT_D3"]
    assert foreign["evidence"]["rows"] == 12
    assert table.run("--created-with", "2", out="given")[0] == 0, "the option counts more"
    infos[1].write_bytes(app_info(APP, "temp", OLD, 2))
    assert table.run(out="disagree")[0] == 0, "no number that all state"
    infos[1].unlink()
    assert table.run(*acknowledging(tmp_path, [f"SPLIT_R1:temp/{OLD}"]), out="missing")[0] == 0
    for info in infos:
        info.write_bytes(app_info(APP, "temp", OLD, 3))
    code, result = table.run(out="wrong")
    said = "init_partition_count of the table's files: a table of 4 partitions was not created with 3"
    assert (code, said in result["error"]["message"]) == (2, True), result


def test_app_info_is_read_and_nothing_else_is() -> None:
    data = app_info(2, "temp", 8)
    assert parse_app_info(data) == AppInfo(2, "temp", 8, 4)
    for size in range(len(data)):
        with pytest.raises(MalformedError):
            parse_app_info(data[:size])
    znode = {"app_name": "temp", "app_id": 2, "partition_count": 8, "status": "app_status::AS_AVAILABLE"}
    assert parse_app_metadata(json.dumps(znode).encode()) == AppInfo(2, "temp", 8)
    wrong: Sequence[object] = ([], 5, {}, {**znode, "app_id": "2"}, {**znode, "partition_count": True}, None)
    for one in (*wrong, {**znode, "app_name": 4}, {**znode, "init_partition_count": "4"}):
        with pytest.raises(MalformedError):
            parse_app_metadata(json.dumps(one).encode())


def test_a_cold_backup_of_another_count(tmp_path: Path) -> None:
    folder = tmp_path / f"temp_{APP}"
    for partition in range(OLD):
        (folder / str(partition) / "chkpt_1").mkdir(parents=True)
        (folder / str(partition) / "current_checkpoint").write_text("chkpt_1")
    meta = folder / "meta"
    meta.mkdir()
    (meta / "app_backup_status").write_text("{}")
    metadata = meta / "app_metadata"
    metadata.write_text(json.dumps({"app_name": "temp", "app_id": APP, "partition_count": 2 * OLD}))
    with pytest.raises(UsageError, match=r"app_metadata: table 2 \(temp\) has 8 partitions"):
        backup_of(LocalFileReader(), str(tmp_path), APP, OLD)
    metadata.write_text(json.dumps({"app_name": "temp", "app_id": APP, "partition_count": OLD}))
    assert [source.unread for source in backup_of(LocalFileReader(), str(tmp_path), APP, OLD)] == [None] * OLD
    said = {"app_name": "temp", "app_id": APP, "partition_count": OLD, "init_partition_count": 2}
    metadata.write_text(json.dumps(said))
    assert created_with(backup_of(LocalFileReader(), str(tmp_path), APP, OLD)) == 2
    metadata.write_text("?")
    (unread,) = {source.unread for source in backup_of(LocalFileReader(), str(tmp_path), APP, OLD)}
    assert unread is not None
    assert str(metadata) in unread
    (folder / "0" / "current_checkpoint").write_text("chkpt_2")
    with pytest.raises(UsageError, match="but there is no such directory"):
        backup_of(LocalFileReader(), str(tmp_path), APP, OLD)
