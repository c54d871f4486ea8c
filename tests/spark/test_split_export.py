"""split-export: every row as it lies, and the other split jobs read it."""

import json
import re
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.cli.entry import main
from pipelines.common.errors import RefusedError, UsageError
from pipelines.files.file_reader import file_reader_for
from pipelines.pegasus.sources.parquet_rows import check_rows
from pipelines.pegasus.sources.written_rows import hadoop_sizes, written_rows_of
from tests.labs.documented_commands import blocks
from tests.labs.lake_rows import lake_rows
from tests.labs.pegasus import private_logs as made
from tests.labs.pegasus.private_logs import Entry
from tests.labs.pegasus.replicas import FLUSHED, keys, stored, write_log
from tests.labs.pegasus.split_tables import APP, OLD, Clock, Table, acknowledging
from tests.labs.places import DOCS

Rows = dict[tuple[int, bytes], bytes]


def as_they_lie(table: Table) -> Rows:
    """Returns what the lab put into each partition: its live rows, and what no reader counts as a row of its own."""
    found: Rows = {}
    for partition in range(OLD):
        mine = [*keys(partition, OLD, 60), *keys(partition, OLD, 3, "logged")]
        found |= {(partition, key): table.live[key] for key in mine if key in table.live}
        copies = keys((partition + OLD // 2) % OLD, OLD, 60)[45:48]
        found |= {(partition, key): table.as_version_1(partition, stored(b"old")) for key in copies}
        found |= {(partition, key): table.as_version_1(partition, value) for key, value in table.malformed.items()}
        found[partition, b""] = b"\0" * 12
    return found


def rows_in(folder: Path) -> Rows:
    rows = ds.dataset(sorted(folder.rglob("*.parquet"))).to_table().to_pylist()
    found = {(row["partition_index"], row["key"]): row["value"] for row in rows}
    assert len(found) == len(rows)
    return found


def verified(table: Table) -> tuple[int, set[tuple[str, str]]]:
    """Compares the export with the Parquet of a split to 8; returns the exit code, and each code with its severity."""
    verify = ["split-verify", "--table", "temp", "--before", f"file:{table.output('export')}"]
    verify += ["--before-partitions", str(OLD), "--before-created-with", "2"]
    verify += ["--after", f"file:{table.output()}", "--after-partitions", "8"]
    verify += ["--result", f"{table.root}/verify.json"]
    code = main(verify, context=JobContext("split-verify", clock=Clock(), spark=table.spark))
    told = json.loads((table.root / "verify.json").read_text())
    return code, {(one["code"], one["severity"]) for one in told["findings"]}


@pytest.mark.long
def test_every_row_as_it_lies_and_read_by_the_others(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table(spark, tmp_path, malformed=True)
    before = table.inputs()
    code, result = table.export("--lake", f"file:{tmp_path}/lake")
    text = capsys.readouterr().out.replace(str(tmp_path), "")
    assert (code, result["findings"]) == (0, [])
    exported = table.output("export")
    assert rows_in(exported) == as_they_lie(table)
    assert result["rows"] == len(as_they_lie(table))
    assert table.inputs() == before, "nothing of the inputs was altered or added"
    (example,) = (block for block in blocks(DOCS / "split-rows.md", "text") if block.startswith("table temp"))
    size = re.compile(r"[\d.]+ KiB")
    assert size.sub("N KiB", text) == size.sub("N KiB", example)
    assert sum(row["rows"] for row in lake_rows(f"{tmp_path}/lake/split_manifest")) == result["rows"]
    assert table.export()[1]["resumed"] == OLD, "it is there already"

    known = acknowledging(tmp_path, [f"SPLIT_D6:temp/{OLD}"])
    assert table.run("--format", "parquet", *known, new=8)[0] == 0
    assert verified(table) == (0, {("SPLIT_D6", "warning")}), "malformed keys"
    table.live = {key: value for key, value in table.live.items() if key not in table.expired}
    options = ("--rows", str(exported), "--format", "parquet", "--drop-expired", *known)
    again, split = table.run(*options, new=8, out="again")
    assert (again, split["stale"], split["empty"], split["malformed"]) == (0, 12, 4, 4)
    assert {key: value for (_, key), value in rows_in(table.output("again")).items()} == table.live


def test_no_job_reads_rows_of_which_a_file_is_missing_or_cut(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    assert table.export()[0] == 0
    folder, count = table.output("export"), str(OLD)
    sizes = {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    assert hadoop_sizes(spark, f"file://{folder}") == sizes, "as on HDFS"
    assert hadoop_sizes(spark, f"file://{folder}-none") == {}
    given = f"file://{folder}"
    readers = (
        ("split-stale", "--table", "t", "--rows", given, "--partitions", count, "--created-with", "2",
         "--validate-env", "true"),
        ("split-verify", "--table", "t", "--before", given, "--before-partitions", count, "--before-created-with", "2",
         "--after", given, "--after-partitions", count),
        ("split-plan", "--rows", given, "--partitions", count),
    )  # fmt: skip
    for job, *options in readers:
        pattern = [one.replace("/temp", "/te*") for one in options]
        doubled = ["8" if one == count else one for one in options]
        for words, said in (
            (doubled, f"{folder}: walsafe has written these rows as those of 4 partitions"),
            (pattern, f"{given.replace('/temp', '/te*')}: give one directory, not a pattern of names"),
            ([*options, "--data-version", "0"], f"{folder}: walsafe has written these rows with data version 1"),
        ):
            if job != "split-plan" or "--data-version" not in words:
                arguments = [job, *words, "--result", f"{tmp_path}/read.json"]
                assert main(arguments, context=JobContext(job, clock=Clock(), spark=spark)) == 2, job
                assert said in json.loads((tmp_path / "read.json").read_text())["error"]["message"], job
    file = next(iter(sorted(folder.rglob("*.parquet"))))
    whole = file.read_bytes()

    def refused(said: str) -> None:
        code, result = table.run("--rows", str(folder))
        assert (code, result["error"]["condition"]) == (3, "ROWS_INCOMPLETE"), result
        for job, *options in readers:
            arguments = [job, *options, "--result", f"{tmp_path}/read.json"]
            assert main(arguments, context=JobContext(job, clock=Clock(), spark=spark)) == 3, job
            message = json.loads((tmp_path / "read.json").read_text())["error"]["message"]
            assert f"{file} {said}" in message, job
            assert "Copy the folder again" in message

    file.unlink()
    refused("is missing")
    file.write_bytes(whole[:-1])
    refused(f"has {len(whole) - 1} bytes")
    with pytest.raises(RefusedError, match=r"has .* bytes"):
        written_rows_of(given, hadoop_sizes(spark, given), file_reader_for(spark, given).read)


def test_a_log_that_might_lack_rows_refuses_the_export(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    log = table.reps / f"{APP}.1.pegasus" / "plog"
    (log / "log.1.0").unlink()
    log.rmdir()
    put = (made.put(keys(1, OLD, 1)[0], b"v"),)
    write_log(log, APP, 1, [Entry(FLUSHED + 1, put), Entry(FLUSHED + 3, committed=FLUSHED)])
    code, result = table.export()
    assert code == 3
    assert [(one["code"], one["severity"]) for one in result["findings"]] == [("SPLIT_L2", "error")]
    assert result["location"] is None
    assert not table.output("export").exists()
    code, result = table.export("--committed-decree", "4=1")
    assert (code, "partitions, numbered from 0" in result["error"]["message"]) == (2, True)
    code, result = table.export("--partitions", "1048577")
    assert (code, "--partitions 1048577: a number from 1 to 1048576" in result["error"]["message"]) == (2, True)


@pytest.mark.slow("an export, a split and a comparison of its rows, one job after the other")
def test_values_of_version_0_become_version_1_as_in_a_split(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path, version_0={1, 3})
    code, result = table.export()
    assert (code, result["findings"]) == (0, [])
    exported = rows_in(table.output("export"))
    assert exported == as_they_lie(table)
    assert any(value[4:12] == bytes(8) and value[12:] == b"new" for value in exported.values())
    with pytest.raises(
        UsageError, match="written these rows with data version 1, also those of a table with version 0"
    ):
        check_rows(str(table.output("export")), 4, data_version=0)
    assert table.run("--format", "parquet", new=8)[0] == 0
    assert {key: value for (_, key), value in rows_in(table.output()).items()} == table.live
    assert verified(table) == (0, set())
