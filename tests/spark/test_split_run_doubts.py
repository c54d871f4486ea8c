"""split-run emits nothing that may lack rows: each such doubt is an error with samples, until a person overrules it."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pipelines.pegasus.domain.keys import key_hash
from tests.labs.pegasus import private_logs as made
from tests.labs.pegasus.private_logs import Entry, LogWriter
from tests.labs.pegasus.replicas import FLUSHED, add_rows, keys, stored, write_log
from tests.labs.pegasus.split_tables import APP, OLD, TARGET, Table, acknowledging, reopened
from tests.labs.pegasus.states import SHELL


def errors(result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {f"{one['code']}:{one['subject']}": one for one in result["findings"] if one["severity"] == "error"}


@pytest.mark.promise("split-offline")
def test_a_wrong_number_of_partitions_loses_no_row(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path, old=4)
    rows = [
        {"partition_index": key_hash(key) % 4, "key": key, "value": value} for key, value in sorted(table.live.items())
    ]
    (tmp_path / "rows").mkdir()
    schema = pa.schema([("partition_index", pa.int32()), ("key", pa.binary()), ("value", pa.binary())])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), tmp_path / "rows" / "0.parquet")
    table.old = 8
    given = ("--rows", str(tmp_path / "rows"), "--data-version", "1")
    code, result = table.run(*given[:2], new=16)
    assert (code, "give --data-version" in result["error"]["message"]) == (2, True), "another program wrote them"
    code, result = table.run(*given, new=16)
    assert code == 3, result
    found = errors(result)
    lost = sum(key_hash(key) % 8 >= 4 for key in table.live)
    assert {f"SPLIT_D1:temp/{lost}", "SPLIT_D7:temp/empty/4"} <= set(found)
    assert found[f"SPLIT_D1:temp/{lost}"]["evidence"]["rows"] == lost > 0
    assert found[f"SPLIT_D1:temp/{lost}"]["evidence"]["samples"], "keys to look at"
    fewer = {f"SPLIT_D1:temp/{lost - 1}", *found} - {f"SPLIT_D1:temp/{lost}"}
    assert table.run(*given, *acknowledging(tmp_path, fewer), new=16)[0] == 3
    assert not table.output().exists(), "nothing is emitted"
    assert (result["location"], result["rows"]) == (None, 0)
    code, result = table.run(*given, *acknowledging(tmp_path, found), new=16)
    assert (code, result["resumed"]) == (0, 8), "a person overruled each by name, and no partition is split again"
    assert len(reopened(table, 16)) == len(table.live) - lost


@pytest.mark.promise("split-offline")
def test_half_of_the_partitions_is_not_taken_for_the_whole_table(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path, old=8)
    for partition in range(8):
        replica = table.reps / f"{APP}.{partition}.pegasus"
        if partition < 4:
            (replica / ".app-info").unlink()
        else:
            shutil.rmtree(replica)
    table.old = 4  # each row is where its hash says, also those of the partitions that are missing
    for code, result in (table.run(new=8), table.export()):
        assert (code, set(errors(result))) == (3, {"SPLIT_R1:temp/4"}), result
        assert errors(result)["SPLIT_R1:temp/4"]["evidence"] == {"files": 4}
    assert not table.output().exists()
    assert not table.output("export").exists()


def rewrite_log(table: Table, partition: int, entries: list[Entry], cut: int = 0) -> None:
    folder = table.reps / f"{APP}.{partition}.pegasus" / "plog"
    (folder / "log.1.0").unlink()
    folder.rmdir()
    write_log(folder, APP, partition, entries)
    log = folder / "log.1.0"
    log.write_bytes(log.read_bytes()[: len(log.read_bytes()) - cut])


@pytest.mark.long
@pytest.mark.promise("split-offline")
def test_every_doubt_about_a_replica_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    mine = {partition: keys(partition, OLD, 60) for partition in range(OLD)}
    # copies of rows that partition 2 owns lie in partition 0, one of them newer; partition 1 never had rows of 2
    rdb = {partition: table.reps / f"{APP}.{partition}.pegasus" / "data" / "rdb" for partition in range(OLD)}
    add_rows(rdb[0], {mine[2][50]: stored(b"newer", 0, 99)})
    add_rows(rdb[1], {mine[2][51]: stored(b"old")})
    after = FLUSHED + 1
    rewrite_log(table, 0, [Entry(after), Entry(after + 1)], cut=5)
    rewrite_log(table, 1, [Entry(after, committed=FLUSHED), Entry(after + 2, committed=FLUSHED)])
    rewrite_log(table, 2, [Entry(after, committed=FLUSHED), Entry(after, (made.put(b"\0\1x", b"y"),), gpid=(APP, 3))])
    plog = table.reps / f"{APP}.3.pegasus" / "plog"
    (plog / f"log.2.{(plog / 'log.1.0').stat().st_size}").write_bytes(b"")
    code, result = table.run("--created-with", "2")
    assert code == 3
    found = errors(result)
    node = f"@{table.reps}"
    assert set(found) == {
        f"SPLIT_L1:{APP}.0{node}/log.1.0",
        "SPLIT_L2:temp/1/1",
        f"SPLIT_L1:{APP}.2{node}/log.1.0/gpid",
        f"SPLIT_L1:{APP}.3{node}/log.2.{(plog / 'log.1.0').stat().st_size}",
        "SPLIT_D3:temp/1",
        "SPLIT_D5:temp/1",
    }
    assert "is TORN" in found[f"SPLIT_L1:{APP}.0{node}/log.1.0"]["message"]
    assert found["SPLIT_L2:temp/1/1"]["evidence"]["left_out"] == [after + 2]
    assert not table.output().exists()
    code, result = table.run("--created-with", "2", *acknowledging(tmp_path, list(found)[1:]))
    assert (code, table.output().exists()) == (3, False), "one that nobody acknowledged is enough"
    assert table.run("--created-with", "2", *acknowledging(tmp_path, found))[0] == 0
    assert table.output().exists()


@pytest.mark.promise("split-offline")
def test_rows_that_pegasus_does_not_write_are_left_out_only_if_a_person_says_so(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = Table(spark, tmp_path, malformed=True)
    add_rows(table.reps / f"{APP}.2.pegasus" / "data" / "rdb", {keys(2, OLD, 1, "short")[0]: b"short"})
    code, result = table.run()
    found = errors(result)
    assert (code, set(found)) == (3, {f"SPLIT_D6:temp/{OLD + 1}"}), result
    assert found[f"SPLIT_D6:temp/{OLD + 1}"]["evidence"] == {"partitions": [0, 1, 2, 3], "rows": OLD + 1}
    assert not table.output().exists()
    assert table.run(*acknowledging(tmp_path, [f"SPLIT_D6:temp/{OLD}"]))[0] == 3, "one more row is another finding"
    code, result = table.run(*acknowledging(tmp_path, found))
    assert (code, result["malformed"], result["resumed"]) == (0, OLD + 1, OLD), result
    assert reopened(table, 16) == table.live


@pytest.mark.long
@pytest.mark.promise("split-offline")
def test_the_operators_decree_is_for_one_partition(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    prepared = [key for key, value in table.live.items() if value.endswith(b"prepared")]
    assert len(prepared) == OLD
    code, result = table.run("--committed-decree", f"2={FLUSHED + 3}")
    assert code == 0, result
    assert set(table.live) - set(reopened(table, 16)) == {key for key in prepared if key_hash(key) % OLD == 2}
    for value, words in (
        (f"2={FLUSHED - 1}", f"the data are flushed up to decree {FLUSHED}"),
        (f"1={FLUSHED + 1}", f"the log states {FLUSHED + 3}"),
        ("4=30", "the table has 4 partitions"),
        ("30", "give a partition and a number"),
    ):
        code, result = table.run("--committed-decree", value, out="other")
        assert (code, words in result["error"]["message"]) == (2, True), result


@pytest.mark.long
def test_what_was_learned_again_does_not_come_back(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    log = table.reps / f"{APP}.1.pegasus" / "plog" / "log.1.0"
    writer = LogWriter(APP, 1)
    ghost = keys(1, OLD, 1, "ghost")[0]
    writer.add(Entry(FLUSHED + 1, (made.put(ghost, b"of a life before"),), ballot=4))
    valid_from = writer.end
    writer.add(Entry(FLUSHED + 1, (made.put(keys(1, OLD, 3, "logged")[0], b"a"),), ballot=4))
    log.write_bytes(writer.data)
    info = log.parent.parent / ".init-info"
    info.write_text(json.dumps({"init_ballot": 4, "init_durable_decree": 0, "init_offset_in_shared_log": 0,
                                "init_offset_in_private_log": valid_from}))  # fmt: skip
    code, result = table.run()
    assert code == 0, result
    assert ghost not in reopened(table, 16)
    info.write_text("{}")
    code, result = table.run(out="other")
    assert (code, ".init-info: it is not a replica_init_info" in result["error"]["message"]) == (2, True), result


def test_a_replica_whose_server_died_while_it_learned_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    info = table.reps / f"{APP}.1.pegasus" / ".init-info"
    told = {"init_ballot": 4, "init_offset_in_shared_log": 0, "init_offset_in_private_log": 0}
    info.write_text(json.dumps({**told, "init_durable_decree": FLUSHED + 480}))
    for code, result in (table.run(), table.export()):
        assert (code, result["error"]["condition"]) == (3, "DECREE_MISSING"), result
        assert f".init-info demands decree {FLUSHED + 480}" in result["error"]["message"]
    assert not table.output().exists()
    assert not table.output("export").exists()
    info.write_text(json.dumps({**told, "init_durable_decree": FLUSHED}))
    assert table.run()[0] == 0
    info.write_text(json.dumps(told))
    code, result = table.run(out="other")
    assert (code, ".init-info: it is not a replica_init_info" in result["error"]["message"]) == (2, True), result


def test_a_replica_without_its_small_files_is_found(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    for partition in (1, 3):
        (table.reps / f"{APP}.{partition}.pegasus" / ".init-info").unlink()
    (table.reps / f"{APP}.2.pegasus" / ".app-info").unlink()
    for code, result in (table.run(), table.export()):
        found = errors(result)
        assert (code, set(found)) == (3, {"SPLIT_R4:temp/2", f"SPLIT_R1:temp/{OLD}"}), result
        assert f"{APP}.2.pegasus/.app-info: there is no" in found[f"SPLIT_R1:temp/{OLD}"]["message"]
    assert not table.output().exists()
    assert not table.output("export").exists()
    known = acknowledging(tmp_path, ["SPLIT_R4:temp/2", f"SPLIT_R1:temp/{OLD}"])
    for code, result in (table.run(*known), table.export(*known)):
        assert (code, result["resumed"]) == (0, OLD), result


def test_a_log_that_states_more_than_there_is_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    first = table.reps / f"{APP}.3.pegasus" / "plog" / "log.1.0"
    start = first.stat().st_size
    first.unlink()
    (first.parent / f"log.2.{start}").write_bytes(LogWriter(APP, 3, start, FLUSHED + 4).data)
    for code, result in (table.run(), table.export()):
        assert (code, result["error"]["condition"]) == (3, "DECREE_MISSING"), result
        assert f"log.2.{start} states that earlier logs go up to decree {FLUSHED + 4}" in result["error"]["message"]
    assert not table.output().exists()
    assert not table.output("export").exists()
    code, result = table.run("--committed-decree", f"3={FLUSHED}")
    assert (code, result["logged"]) == (0, 3 * 4), "the operator knows better"


@pytest.mark.long
def test_the_target_is_checked(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    target = tmp_path / "target.json"
    said = {**SHELL, "general": {**SHELL["general"], "app_id": str(TARGET), "partition_count": "16"}}
    target.write_text(json.dumps(said))
    for options, words in (
        (("--target-id", str(APP)), "is the table that is split"),
        (("--target-id", "0"), "the ids of tables begin with 1"),
        (
            ("--target", str(target), "--target-id", "9"),
            f"--target-id of this table is {TARGET}, but",
        ),
        (("--target", str(target), "--to", "8"), "--to of this table is 16, but --to 8 is given"),
        (("--target", str(target), "--app", "other"), "--app of this table is temp, but --app other is given"),
        (("--target", str(tmp_path / "none.json")), f"no such file: {tmp_path}/none.json"),
    ):
        code, result = table.run(*options)
        assert (code, words in result["error"]["message"]) == (2, True), result
    assert table.run("--target", str(target))[0] == 0
    reopened(table, 16)
