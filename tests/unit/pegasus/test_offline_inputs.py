"""An offline split takes over a finished part only for the same inputs, and tells which logs it had."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from unittest.mock import Mock

import pytest

from jobs.cli.command_line import parse
from jobs.cli.context import JobContext
from jobs.split import audit_config, audit_log, demo, export, plan, preflight, route, run, stale, verify
from jobs.split.offline_wiring import place_of
from jobs.split.options import instant_ms, local_directory
from jobs.split.split_tasks import fingerprint
from pipelines.common.errors import RefusedError, UnavailableError, UsageError
from pipelines.files.file_reader import LocalFileReader
from pipelines.lake.findings import ERROR
from pipelines.pegasus.domain.offline.copies import CopyProblem
from pipelines.pegasus.domain.offline.doubts import doubts_of, input_doubts
from pipelines.pegasus.domain.offline.merge import row_batches
from pipelines.pegasus.domain.offline.model import (
    OfflineSplitOptions,
    OldPartition,
    PartitionCounts,
    PartitionResult,
    UnprovenCopies,
    backup_began,
)
from pipelines.pegasus.domain.offline.ranges import SplitTask
from pipelines.pegasus.domain.private_log.log_file import LogFile
from pipelines.pegasus.domain.private_log.names import Gpid
from pipelines.pegasus.domain.values import EPOCH_S
from pipelines.pegasus.sinks.part_files import PartitionFiles
from pipelines.pegasus.sinks.split_output import SplitOutput, StagedPart
from pipelines.pegasus.sources.cold_backup import backup_of
from pipelines.pegasus.sources.private_logs import PrivateLogs
from pipelines.pegasus.sources.replica_db import ReplicaDb, opened_db
from pipelines.pegasus.sources.replica_logs import ReplicaLogs
from pipelines.pegasus.sources.replica_tree import find_old_partitions
from pipelines.pegasus.use_cases.offline_partition import split_partitions
from pipelines.pegasus.use_cases.open_partition import OpenPartition, PartitionTools
from tests.labs.pegasus.private_logs import Entry, LogWriter
from tests.labs.pegasus.replicas import write_db, write_infos

RULES = OfflineSplitOptions(now_s=0)
PRINTS = {0: "a", 2: "b", 4: "c"}
FLUSHED = 10


@pytest.mark.parametrize(
    ("prints", "taken_over"),
    [
        (PRINTS, True),
        ({**PRINTS, 3: "of a partition that does not matter"}, True),
        ({**PRINTS, 4: "the owner of a copy changed"}, False),
        ({0: "a", 2: "b"}, False),  # a right --from after one that was too high
    ],
)
def test_a_part_is_taken_over_only_for_the_same_inputs(
    tmp_path: Path, prints: Mapping[int, str], taken_over: bool
) -> None:
    output = SplitOutput(str(tmp_path), "onebox", "temp", "inputs")
    assert output.begin() is None
    task = SplitTask(range(0, 4, 2), b"a", b"q", 3)
    folder = output.part(task.name)
    parts = [PartitionResult(0, owners=(4,)), PartitionResult(2)]
    output.keep(folder, task, parts, PRINTS)
    again = StagedPart(folder.name, [replace(part, resumed=True) for part in parts])
    assert output.kept(task, prints) == (again if taken_over else None)
    for other in (replace(task, begin=b""), replace(task, end=None), replace(task, number=4)):
        assert output.kept(other, prints) is None


def test_the_offset_from_which_logs_count_is_an_input(tmp_path: Path) -> None:
    source = OldPartition(0, str(tmp_path), str(tmp_path))
    first = fingerprint(source, RULES, [])
    assert fingerprint(source, replace(RULES, now_s=9), []) == first
    assert fingerprint(replace(source, valid_offset=1), RULES, []) != first


def test_what_init_info_demands_is_an_input(tmp_path: Path) -> None:
    source = OldPartition(0, str(tmp_path), str(tmp_path))
    assert fingerprint(replace(source, durable_decree=1), RULES, []) != fingerprint(source, RULES, [])


@pytest.mark.parametrize("demanded", [0, FLUSHED - 1, FLUSHED, FLUSHED + 1, 500])
def test_data_that_a_server_would_not_open_are_refused(demanded: int) -> None:
    database = Mock(data_version=1, flushed=FLUSHED)
    source = OldPartition(1, "1/data/rdb", durable_decree=demanded)
    if demanded <= FLUSHED:
        assert OpenPartition(source, database, RULES, Mock()).tail.last == FLUSHED
        return
    said = f"^1/data/rdb: .* end at decree {FLUSHED}, and .init-info demands decree {demanded} .*"
    with pytest.raises(RefusedError, match=said):
        OpenPartition(source, database, RULES, Mock())


def without_log(committed: Mapping[int, int]) -> OpenPartition:
    database, rules = Mock(data_version=1, flushed=FLUSHED), replace(RULES, committed=committed)
    return OpenPartition(OldPartition(1, "checkpoint"), database, rules, Mock())


def test_the_operators_decree_is_checked_without_a_log_too() -> None:
    for committed in ({}, {1: FLUSHED}, {0: 99}):
        assert (without_log(committed).tail.last, without_log(committed).logs) == (FLUSHED, ())
    with pytest.raises(UsageError, match=f"the data are flushed up to decree {FLUSHED}"):
        without_log({1: FLUSHED - 1})
    with pytest.raises(RefusedError, match=f"decree {FLUSHED + 1} is in no private log"):
        without_log({1: FLUSHED + 2})


def with_log(folder: Path, log: LogWriter, valid_offset: int = 0, committed: int | None = None) -> OpenPartition:
    """Opens a replica whose first log is the second that its server has written."""
    (folder / f"log.2.{log.start}").write_bytes(log.data)
    source = OldPartition(1, "1/data/rdb", str(folder), valid_offset)
    rules = replace(RULES, committed={} if committed is None else {1: committed})

    def logs(one: OldPartition) -> AbstractContextManager[ReplicaLogs]:
        return nullcontext(ReplicaLogs(str(one.logs), Gpid(2, 1), one.valid_offset))

    tools = PartitionTools(Mock(), logs, Mock())
    return OpenPartition(source, Mock(data_version=1, flushed=FLUSHED), rules, tools)


@pytest.mark.parametrize("prepared", [0, 3])
def test_a_missing_first_log_is_refused_by_the_header_of_the_next(tmp_path: Path, prepared: int) -> None:
    log = LogWriter(2, 1, 900, FLUSHED + 4)
    for number in range(1, prepared + 1):
        log.add(Entry(FLUSHED + number, committed=FLUSHED))
    said = f"log.2.900 states that earlier logs go up to decree {FLUSHED + 4}, the data end at {FLUSHED}, and the logs "
    with pytest.raises(RefusedError, match=f"{said}at {FLUSHED + prepared}: a log is missing"):
        with_log(tmp_path, log)
    assert with_log(tmp_path, log, committed=FLUSHED).tail.last == FLUSHED, "the operator knows better"


def test_a_server_may_have_deleted_the_first_logs(tmp_path: Path) -> None:
    log = LogWriter(2, 1, 900, FLUSHED)
    assert with_log(tmp_path, log).tail.last == FLUSHED, "their decrees are in the data"
    again = LogWriter(2, 1, 900, FLUSHED + 4)
    for number in range(1, 5):
        again.add(Entry(FLUSHED + number, ballot=5, committed=FLUSHED))
    assert with_log(tmp_path, again).tail.last == FLUSHED + 4, "a new primary prepared them again"


def test_the_logs_of_a_learner_begin_with_what_it_has_learned(tmp_path: Path) -> None:
    discarded = LogWriter(2, 1, 900, FLUSHED + 4)
    assert with_log(tmp_path, discarded, valid_offset=901).tail.last == FLUSHED, "its header is older than the reset"
    learned = LogWriter(2, 1, 900, FLUSHED)
    assert with_log(tmp_path, learned, valid_offset=900).tail.last == FLUSHED, "on_partition_reset sets the decree"
    with pytest.raises(RefusedError, match="a log is missing"):
        with_log(tmp_path, discarded, valid_offset=900)


def test_a_replica_without_a_log_is_an_error() -> None:
    sources = [OldPartition(index, f"{index}/data/rdb", f"{index}/plog" if index else None) for index in range(3)]
    log = LogFile("n1", 2, 2, "log.1.0", 1, 0)
    parts = [PartitionResult(0), PartitionResult(1), PartitionResult(2, logs=(log,))]
    (found,) = input_doubts("temp", sources, parts, of_replicas=True)
    assert (found.severity, found.code) == (ERROR, "SPLIT_L6")
    assert "2 replicas without a log in plog, such as 0/data/rdb" in found.message
    assert not list(input_doubts("temp", sources, parts, of_replicas=False)), "a cold backup has no logs"


def test_a_replica_whose_init_info_was_not_copied_is_an_error() -> None:
    sources = [OldPartition(index, f"{index}/data/rdb", "plog", lacks_init_info=index > 0) for index in range(3)]
    parts = [PartitionResult(index, logs=(LogFile("n1", 2, index, "log.1.0", 1, 0),)) for index in range(3)]
    (found,) = input_doubts("temp", sources, parts, of_replicas=True)
    assert (found.severity, found.key) == (ERROR, "SPLIT_R4:temp/2")
    assert "2 replicas without .init-info, such as that of 1/data/rdb" in found.message


def test_a_file_with_the_number_of_partitions_counts_once() -> None:
    sources = [OldPartition(index, "checkpoint", unread="app_metadata: there is no such file") for index in range(8)]
    (found,) = input_doubts("temp", sources, [PartitionResult(0)], of_replicas=False)
    assert (found.severity, found.key) == (ERROR, "SPLIT_R1:temp/8")
    assert "Table temp: 1 file could not be read" in found.message


def test_an_acknowledged_doubt_does_not_cover_a_greater_one() -> None:
    def keys(left_out: int, empty: int, crowded: int, malformed: int) -> set[str]:
        parts = [
            PartitionResult(0, owned=1, left_out=tuple(range(left_out)), malformed=malformed),
            *(PartitionResult(1 + index) for index in range(empty)),
            *(PartitionResult(4 + index, stale=2, owned=1) for index in range(crowded)),
        ]
        found = list(doubts_of("temp", [], parts, of_replicas=False))
        assert {one.severity for one in found} == {ERROR}
        return {one.key for one in found}

    found = keys(2, 1, 1, 5)
    assert found == {"SPLIT_L2:temp/0/2", "SPLIT_D7:temp/empty/1", "SPLIT_D7:temp/stale/1", "SPLIT_D6:temp/5"}
    assert not keys(3, 2, 2, 6) & found


def test_what_an_online_split_leaves_until_a_compaction_has_a_way_out() -> None:
    copies = tuple(UnprovenCopies(problem, 1, ("k",)) for problem in CopyProblem)
    parts = [PartitionResult(0, owned=1, stale=3, copies=copies)]
    remedies = {one.code: one.remedy for one in doubts_of("temp", [], parts, of_replicas=False)}
    compact = {code for code, remedy in remedies.items() if "pegasus_manual_compact.sh" in remedy}
    assert compact == {"SPLIT_D1", "SPLIT_D7"}
    assert set(remedies) - compact == {"SPLIT_D3", "SPLIT_D5"}


def test_large_rows_make_short_lists() -> None:
    value = bytes(1 << 20)
    rows = [(b"\0\1k%04d" % number, value) for number in range(100)]
    database = Mock()
    database.items.side_effect = lambda **_: iter(rows)
    database.iter.return_value.valid.return_value = False
    found = OpenPartition(
        OldPartition(1, "checkpoint"), ReplicaDb(1, FLUSHED, database, "checkpoint", "clone"), RULES, Mock()
    )
    for tail in ({}, {rows[0][0]: value}):
        found.tail = replace(found.tail, rows=tail)
        batches = list(found.batches(SplitTask(range(1, 2))))
        assert list(chain.from_iterable(batches)) == rows
        assert max(sum(len(value) for _, value in batch) for batch in batches) <= 48 << 20
    assert [len(batch) for batch in row_batches([(b"", b"")] * 8_001, 8_000)] == [8_000, 1]


def test_only_names_that_pegasus_reads_are_logs(tmp_path: Path) -> None:
    log = LogWriter(2, 1)
    log.add(Entry(FLUSHED + 1))
    for name in ("log.1.0", "log.1.0.removed", "log.old", "log.2", "log.tmp.3.0"):
        (tmp_path / name).write_bytes(log.data)
    logs = ReplicaLogs(str(tmp_path), Gpid(2, 1))
    assert [one.decree for one in logs] == [FLUSHED + 1]
    assert [file.log for file in logs.files] == ["log.1.0"]


def test_values_without_a_whole_header_are_malformed_and_not_expired(tmp_path: Path) -> None:
    whole = [b"\0" * 12, b"\x82" + b"\0" * 12, b"\x7f\xff\xff\xff" + b"\0" * 8 + b"data"]
    short = [b"", b"xyz", b"\0\0\0\1", b"\0" * 11, b"\x82", b"\x82" + b"\0" * 11]
    for version, added in ((1, []), (0, [b"\0" * 4])):
        values = [*whole, *(one for one in short if version or one[:1] == b"\x82" or len(one) < 4), *added]
        rows = {b"\0\1k%d" % number: value for number, value in enumerate(values)}
        write_db(tmp_path / f"rdb{version}", [rows], version=version)
        sink = PartitionFiles(tmp_path / f"out{version}", 0, 1 << 20, parquet=True)
        tools = PartitionTools(lambda source: opened_db(source.database), Mock(), sink)
        (done,) = split_partitions(
            SplitTask(range(1)), [OldPartition(0, str(tmp_path / f"rdb{version}"))], PartitionCounts(1, 2),
            replace(RULES, now_s=EPOCH_S + (1 << 30), drop_expired=True, parquet=True), tools,
        )  # fmt: skip
        left_out = len(values) - len(whole) - len(added)
        assert (done.read, done.malformed, done.expired, done.rows) == (
            len(values), left_out, 0, len(whole) + len(added),
        ), version  # fmt: skip


def test_two_jobs_never_write_one_output(tmp_path: Path) -> None:
    first, second = (SplitOutput(str(tmp_path), "onebox", "temp", "inputs") for _ in range(2))
    with first.lock():
        with pytest.raises(UnavailableError, match="another job is writing this output"), second.lock():
            pass
        with SplitOutput(str(tmp_path), "onebox", "other", "inputs").lock():
            pass
    with second.lock():
        pass
    with pytest.raises(RefusedError), first.lock():
        without_log({1: FLUSHED + 2})
    with second.lock():
        pass


@pytest.mark.parametrize(
    ("root", "began"),
    [
        ("/backup/daily/1700000000000", 1_700_000_000_000),
        ("hdfs://ns1/pegasus/backup/1700000000000", 1_700_000_000_000),
        ("1700000000000", 1_700_000_000_000),
        (".", None),
        ("/backup/daily", None),
        ("/backup/17", None),
    ],
)
def test_the_id_of_a_backup_says_when_it_began(root: str, began: int | None) -> None:
    sources = [OldPartition(index, f"{root}/temp_2/{index}/chkpt_10.0.0.1_34801") for index in range(2)]
    assert backup_began(sources) == began
    assert backup_began([*sources, OldPartition(2, "/other/1700000000001/temp_2/2/chkpt")]) is None
    assert backup_began([OldPartition(0, "data/rdb")]) is None


def test_directories_of_other_file_systems_are_refused_with_the_way_out() -> None:
    given = ["/data/pegasus", "file:/data", "file:///data", None]
    assert [local_directory("--out", one) for one in given] == ["/data/pegasus", "/data", "/data", None]
    for option, uri in (("--rows", "hdfs://ns1/pegasus"), ("--out", "hdfs:/out"), ("--out", "s3a://b/out")):
        with pytest.raises(UsageError, match=f"^{option} {uri}: .*Mount .* or copy .*local directory$"):
            local_directory(option, uri)


def test_executors_get_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert local_directory("--out", "out") == str(tmp_path / "out")
    assert place_of(Mock(), "replicas")[1] == str(tmp_path / "replicas")


@pytest.mark.parametrize(
    ("given", "app_id", "replicas_said", "backup_said"),
    [
        ("none", 2, "none: no such directory; give one above the replica", "none: no such directory; give that of a b"),
        ("n*", 2, "n[*]: no such directory", "n[*]: no such directory"),
        (
            "n1",
            5,
            "n1 has no replica of table 5; there are those of 2, 34",
            "n1 contains no directory <app>_5 of ",
        ),
        ("b", 5, "b contains no replica directory .* --backup$", "there are .*/b/17/temp_2: give the --app-id of one$"),
        ("rows", 2, "rows contains no replica directory", r"rows contains no directory <app>_2 of .*\(docs.*\)$"),
    ],
)
def test_a_folder_without_the_table_says_what_it_has(
    tmp_path: Path, given: str, app_id: int, replicas_said: str, backup_said: str
) -> None:
    for folder in ("n1/2.0.pegasus", "n1/34.1.pegasus", "b/17/temp_2/meta", "b/17/temp_2/0/chkpt_1_34801", "rows/0"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "b/17/temp_2/meta/app_backup_status").touch()
    with pytest.raises(UsageError, match=replicas_said):
        find_old_partitions(LocalFileReader(), str(tmp_path / given), app_id, 4)
    with pytest.raises(UsageError, match=backup_said):
        backup_of(LocalFileReader(), str(tmp_path / given), app_id, 4)
    if not (tmp_path / given).exists():
        with pytest.raises(UsageError, match=r"no such directory; give one above the replica directories$"):
            PrivateLogs(Mock(), LocalFileReader(), Mock()).decode(str(tmp_path / given))


def test_a_directory_too_far_above_its_replicas_is_refused(tmp_path: Path) -> None:
    (tmp_path / "/".join("abcdefghijklm") / "2.0.pegasus").mkdir(parents=True)
    with pytest.raises(UsageError, match="more than 12 directories below the given one; give one that has only"):
        find_old_partitions(LocalFileReader(), str(tmp_path), 2, 1)
    with pytest.raises(UsageError, match="more than 12 directories below the given one; give one that has only"):
        PrivateLogs(Mock(), LocalFileReader(), Mock()).decode(str(tmp_path))


def test_a_wrong_number_of_partitions_names_the_options(tmp_path: Path) -> None:
    (tmp_path / "2.0.pegasus").mkdir()
    (tmp_path / "2.1.pegasus").mkdir()
    for count, has_info in ((1, False), (4, False), (4, True)):
        if has_info:
            write_infos(tmp_path / "2.0.pegasus", 2, 2)
        with pytest.raises(UsageError, match=r"correct --app-id or the number of partitions now \(--from of "):
            find_old_partitions(LocalFileReader(), str(tmp_path), 2, count)


def test_a_replica_without_its_data_is_named(tmp_path: Path) -> None:
    data = tmp_path / "2.0.pegasus" / "data"
    data.mkdir(parents=True)
    with pytest.raises(UsageError, match=r"2\.0\.pegasus/data/rdb: no such directory; copy the replica with its data"):
        find_old_partitions(LocalFileReader(), str(tmp_path), 2, 1)
    (data / "rdb").mkdir()
    assert len(find_old_partitions(LocalFileReader(), str(tmp_path), 2, 1)) == 1


def test_an_instant_that_no_run_can_have_is_refused() -> None:
    assert instant_ms("2026-11-21T02:00:00Z", 0) == 1_795_226_400_000
    for text in ("9999-12-31T23:59:59-05:00", "1969-12-31T23:59:59Z", "0001-01-01T00:00:00+01:00"):
        with pytest.raises(UsageError, match="give an instant such as 2026"):
            instant_ms(text, 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("split-verify --most -1", r"--most -1: give the number of differences .* 0 or more"),
        ("split-verify --before-created-with 0", "a table of 2 partitions was not created with 0"),
        ("split-verify --after-created-with 0", "a table of 4 partitions was not created with 0"),
        ("split-run --created-with 0", "a table of 2 partitions was not created with 0"),
        ("split-run --created-with -2", "a table of 2 partitions was not created with -2"),
        ("split-route --hash 5", "--hash needs --from COUNT"),
    ],
)
def test_an_impossible_number_is_refused_before_any_work(tmp_path: Path, words: str, said: str) -> None:
    others = {
        "split-verify": "--table t --before b --before-partitions 2 --after a --after-partitions 4",
        "split-run": f"--cluster c --app-id 2 --app t --rows r --from 2 --to 4 --format parquet --out {tmp_path}/out",
        "split-route": "--journal requests.jsonl",
    }
    name, *options = words.split()
    invocation = parse([name, *others[name].split(), *options])
    spark = Mock()
    with pytest.raises(UsageError, match=said):
        invocation.job.run(invocation.args, JobContext(name, spark=spark))
    assert spark.mock_calls == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "created_with"),
    [("", 4), ("--before-created-with 2", 2), ("--before-created-with 2 --after-created-with 8", 8)],
)
def test_after_a_second_split_the_copies_of_both_are_expected(
    monkeypatch: pytest.MonkeyPatch, words: str, created_with: int
) -> None:
    asked = Mock()
    monkeypatch.setattr("jobs.split.wiring.run_split_verify", asked)
    sides = "--table t --before b --before-partitions 4 --after a --after-partitions 8"
    invocation = parse(["split-verify", *sides.split(), *words.split()])
    invocation.job.run(invocation.args, JobContext("split-verify", spark=Mock()))
    assert asked.call_args.args[1].after.placement.created_with == created_with


def test_every_split_job_says_when_an_operator_would_reach_for_it() -> None:
    for job in (audit_config, audit_log, demo, export, plan, preflight, route, run, stale, verify):
        assert "\nUse it when " in job.DESCRIPTION, job.__name__
