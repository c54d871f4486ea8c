"""split-audit-log on private logs of a small table: a good split, and every rule broken once."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from pipelines.common.errors import UsageError
from pipelines.pegasus.domain.audit_log.facts import ParentAndChild, SplitFacts
from pipelines.pegasus.domain.audit_log.files import check_files, judged_logs, without_broken
from pipelines.pegasus.domain.keys import key_hash
from pipelines.pegasus.domain.private_log.log_file import LogFile
from tests.labs.documented_commands import blocks
from tests.labs.job_answer import job_answer
from tests.labs.lake_rows import lake_rows
from tests.labs.pegasus import private_logs as made
from tests.labs.pegasus.logs import CHILD, CHILD_BALLOT, CHILDREN, NODES, PARENT, PARENTS, Logs, facts, replicas
from tests.labs.pegasus.private_logs import Entry
from tests.labs.pegasus.replicas import encrypted
from tests.labs.pegasus.split_tables import acknowledging
from tests.labs.places import DOCS

PAGE = DOCS / "split-audit-log.md"
N1 = NODES[0]
NODE = f"{N1}/replica/reps"


class Desk:
    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self.root = spark, root
        self.lake = root / "lake"

    def run(self, logs: Logs, *options: str, change: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        logs.write(self.root / "logs")
        return self.rerun(*options, change=change)

    def rerun(self, *options: str, change: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        inputs = ("--logs", f"{self.root}/logs", "--facts", str(facts(self.root, change)))
        return job_answer(JobContext("split-audit-log", spark=self.spark), self.root, *inputs, *options)


@pytest.fixture
def desk(spark: SparkSession, tmp_path: Path) -> Desk:
    return Desk(spark, tmp_path)


def codes(result: dict[str, Any]) -> set[tuple[str, str]]:
    return {(one["code"], one["subject"]) for one in result["findings"]}


@pytest.mark.long
@pytest.mark.promise("split-logs-may-go")
def test_a_good_split_has_no_finding_and_its_oldest_log_may_go(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = desk.run(Logs.good(), "--lake", f"file:{desk.lake}")
    assert (code, result["findings"]) == (0, []), result["findings"]
    assert (result["logs"], result["endings"], result["undecoded"]) == (10, {"WHOLE": 10}, 0)
    # the parents' second log holds decree 10, which is not durable; the children's copies of the log can be deleted
    assert result["deletable"] == [f"2.{index}@{node}/replica/reps/log.1.0" for node in NODES for index in (1, 5)]
    assert result["verdicts"] == {"DELETABLE NOT_NEEDED": 4, "HELD NEWEST_LOG": 4, "HELD NOT_DURABLE": 2}
    (example,) = blocks(PAGE, "text")
    assert capsys.readouterr().out == example
    mutations = lake_rows(f"{desk.lake}/split_mutations")
    assert len(mutations) == 2 * (10 + 8) == result["mutations"]
    (one,) = (row for row in mutations if (row["node"], row["partition"], row["decree"]) == (NODE, PARENT, 2))
    assert set(one["hashes"]) == {signed(key_hash(CHILDREN[0])), signed(key_hash(PARENTS[1]))}
    assert desk.rerun("--lake", f"file:{desk.lake}")[1]["run_id"] == result["run_id"]
    assert len(lake_rows(f"{desk.lake}/split_mutations")) == 36, "a repeated run replaces its rows"
    logs = lake_rows(f"{desk.lake}/split_logs")
    assert [row["foreign_mutations"] == row["foreign"] for row in logs] == [True] * 10


def signed(unsigned: int) -> int:
    return unsigned - (1 << 64) if unsigned >> 63 else unsigned


def only(decree: int, change: Callable[[Entry], Sequence[Entry]]) -> Callable[[Entry], Sequence[Entry]]:
    return lambda entry: change(entry) if entry.decree == decree else [entry]


MUTANTS: dict[str, tuple[int, Callable[[Entry], Sequence[Entry]], set[tuple[str, str]]]] = {
    "a copy is missing": (CHILD, only(5, lambda _: []), {("SPLIT_L2", "gap"), ("SPLIT_L3", "lacking")}),
    "a copy differs": (
        CHILD, only(5, lambda one: [replace(one, requests=(made.put(CHILDREN[1], b"x"),))]), {("SPLIT_L2", "other")},
    ),
    "copies end before the sync point": (
        CHILD,
        lambda one: [one] if one.decree < 6 or one.ballot == CHILD_BALLOT else [],
        {("SPLIT_L2", "gap"), ("SPLIT_L3", "lacking"), ("SPLIT_L3", "sync")},
    ),
    "a late write to the parent": (
        PARENT, only(10, lambda one: [replace(one, requests=(made.put(CHILDREN[5], b"x"),))]), {("SPLIT_L4", "late")},
    ),
    "a late write to the parent under its old ballot": (
        PARENT, only(9, lambda one: [replace(one, requests=(made.put(CHILDREN[6], b"x"),))]), {("SPLIT_L4", "late")},
    ),
    "the child takes a key of its parent": (
        CHILD, only(10, lambda one: [replace(one, requests=(made.put(PARENTS[5], b"x"),))]), {("SPLIT_L5", "strange")},
    ),
    "two mutations of one decree and ballot": (
        PARENT,
        only(9, lambda one: [one, replace(one, requests=(made.put(PARENTS[6], b"y"),))]),
        {("SPLIT_L6", "conflict")},
    ),
}  # fmt: skip


PLACES = {
    "a copy differs": 0, "two mutations of one decree and ballot": 0,
    "copies end before the sync point": 1, "a late write to the parent": 1,
    "a copy is missing": 2, "a late write to the parent under its old ballot": 2,
    "the child takes a key of its parent": 3,
}  # fmt: skip
"""The node of each mutant, of four: all of them share a run, and each has a replica of its own."""
FOUR = ("n1", "n2", "n3", "n4")


def test_each_mutant_has_a_replica_of_its_own() -> None:
    assert set(PLACES) == set(MUTANTS)
    assert len({(place, MUTANTS[name][0]) for name, place in PLACES.items()}) == len(MUTANTS)


@pytest.mark.long
@pytest.mark.promise("split-exit-code")
def test_every_mutant_is_caught(desk: Desk) -> None:
    logs, expected = Logs.good(FOUR), set()
    for name, place in PLACES.items():
        partition, change, broken = MUTANTS[name]
        logs.edit(FOUR[place], partition, change)
        expected |= {(rule, f"2.{partition}@{FOUR[place]}/replica/reps/{kind}") for rule, kind in broken}
    durable = {"replicas": replicas(FOUR)}
    code, result = desk.run(logs, change=durable)
    assert (code, codes(result)) == (3, expected), result["findings"]
    assert (result["deletable"], result["verdicts"]["HELD RULE_BROKEN"]) == ([], 8), "the repair may need them"
    known_keys = acknowledging(desk.root, [one["key"] for one in result["findings"]])
    code, known = desk.rerun(*known_keys, change=durable)
    assert (code, len(known["deletable"]), "HELD RULE_BROKEN" in known["verdicts"]) == (0, 8, False)


@pytest.mark.long
def test_damage_of_files_is_caught(desk: Desk) -> None:
    Logs.good().write(desk.root / "logs")
    folder = desk.root / "logs" / NODE / f"2.{PARENT}.pegasus" / "plog"
    second = sorted(folder.iterdir())[1]
    data = bytearray(second.read_bytes())
    data[100] ^= 1
    second.write_bytes(data)
    code, result = desk.rerun()
    assert code == 3
    rules = {(one["code"], one["subject"].rpartition("/")[2]) for one in result["findings"]}
    assert ("SPLIT_L1", second.name) in rules
    assert result["endings"] == {"CORRUPT": 1, "WHOLE": 9}
    second.unlink()
    code, result = desk.rerun()
    assert "order" in {one["subject"].rpartition("/")[2] for one in result["findings"]}
    assert result["verdicts"]["HELD NEWEST_LOG"] == 4


@pytest.mark.long
def test_encrypted_logs_are_refused(desk: Desk) -> None:
    Logs({key: files for key, files in Logs.good().entries.items() if key == (N1, PARENT)}).write(desk.root / "logs")
    first = desk.root / "logs" / NODE / f"2.{PARENT}.pegasus" / "plog" / "log.1.0"
    first.write_bytes(encrypted(first.read_bytes()))
    code, result = desk.rerun("--lake", f"file:{desk.lake}")
    assert code == 3
    said = result["error"]["message"]
    assert said.startswith(f"1 of 3 logs are encrypted (encrypt_data_at_rest), for example 2.{PARENT}@{NODE}/log.1.0.")
    assert "mlog_dump" in said, "the way out"
    assert not desk.lake.exists(), "nothing is said of the others"


def test_a_replica_that_has_learned_has_no_gap(desk: Desk) -> None:
    for node in NODES:
        folder = desk.root / "logs" / node / "replica" / "reps" / f"2.{PARENT}.pegasus" / "plog"
        folder.mkdir(parents=True)
        write = Entry(1, (made.put(PARENTS[0], b"a"),))
        first = made.LogWriter(2, PARENT).add(*([write] if node == N1 else []), Entry(2), Entry(3))
        second = made.LogWriter(2, PARENT, first.end, 8, first.end if node == N1 else 0).add(Entry(9), Entry(10))
        for index, log in enumerate((first, second), 1):
            (folder / f"log.{index}.{log.start}").write_bytes(log.data)
    journal = desk.root / "acks.jsonl"  # its write is only in a log that no longer counts
    journal.write_text(
        f'{{"ts": 1, "client": "c", "kind": "write", "hash": "{key_hash(PARENTS[0]):016x}", "pidx": {PARENT}, '
        '"version": 7, "code": "ERR_OK", "decree": 1}'
    )
    code, result = desk.rerun("--journal", str(journal), change={"replicas": []})
    assert (code, codes(result)) == (3, {("SPLIT_L2", f"2.{PARENT}@{NODES[1]}/replica/reps/gap")})


def test_a_replica_that_has_learned_may_go_back_to_a_lower_ballot() -> None:
    before = LogFile("n", 2, 1, "log.1.0", 1, 0, 100, max_ballot=5)
    log = LogFile("n", 2, 1, "log.2.100", 2, 100, 100, min_ballot=4)
    assert [one.code for one in check_files([before, log])] == ["SPLIT_L2"]
    assert list(check_files([before, replace(log, valid_offset=100)])) == []
    back = [replace(before, ballots_back=1), replace(log, valid_offset=0)]
    assert [one.subject for one in check_files(back)] == ["2.1@n/log.1.0/ballot", "2.1@n/log.2.100/ballot"]
    newest = LogFile("n", 2, 1, "log.3.200", 3, 200, 100, valid_offset=200)
    assert list(check_files([*back, newest])) == [], "only the newest header has learned of it"


@pytest.mark.long
def test_a_copy_under_the_parents_number_and_a_ballot_that_goes_back(desk: Desk) -> None:
    logs = Logs.good().edit(N1, CHILD, only(4, lambda one: [replace(one, gpid=(2, PARENT))]))
    code, result = desk.run(logs.edit(NODES[1], PARENT, only(5, lambda one: [replace(one, ballot=2)])))
    assert code == 3
    kinds = {one["subject"].rpartition("/")[2] for one in result["findings"]}
    assert {"gpid", "ballot"} <= kinds


@pytest.mark.promise("split-logs-may-go")
@pytest.mark.parametrize(
    ("change", "held"),
    [
        ({"groups": {}}, "CHILD_NOT_REGISTERED"),
        ({"groups": {1: ParentAndChild(1)}}, "CHILD_NOT_REGISTERED"),
        ({"duplicating": None}, "DUPLICATION_UNKNOWN"),
        ({"duplicating": True}, "DUPLICATION_UNKNOWN"),
        ({"duplicating": True, "confirmed": {1: 3}}, "DUPLICATION_PENDING"),
        ({"durable": {}}, "DURABLE_UNKNOWN"),
        ({"durable": {("n", 1): 3}}, "NOT_DURABLE"),
        ({"old_count": None}, "SPLIT_UNKNOWN"),
        ({"duplicating": True, "confirmed": {1: 4}}, "NOT_NEEDED"),
        ({}, "NOT_NEEDED"),
    ],
)
def test_doubt_holds(change: dict[str, Any], held: str) -> None:
    known = SplitFacts("c", 2, 4, {1: ParentAndChild(1, 4)}, {("n", 1): 9}, duplicating=False)
    log = LogFile("n", 2, 1, "log.1.0", 1, 0, 100, max_decree=4)
    rest = [
        replace(log, log=f"log.{index}.0", log_index=index, start_offset=100 * (index - 1), max_decree=9)
        for index in (2, 3)
    ]
    found = judged_logs([*rest, log], replace(known, **change))
    assert (found[0].reason, found[0].verdict) == (held, "DELETABLE" if held == "NOT_NEEDED" else "HELD")
    assert found[2].reason == "NEWEST_LOG"
    broken = judged_logs([replace(log, ending="CORRUPT"), *rest], known)
    assert [file.reason for file in broken] == ["BROKEN_LOG", "OLDER_LOG_HELD", "NEWEST_LOG"]
    torn = replace(log, ending="TORN")
    assert judged_logs([torn, *rest], known)[0].reason == "NOT_NEEDED", (
        "a server begins the next where it could read to"
    )
    for hidden in (replace(torn, length=60), replace(log, log_index=0), replace(log, length=101)):
        assert judged_logs([hidden, *rest], known)[0].reason == "BROKEN_LOG"
    told = [replace(rest[0], max_decree_before=10), rest[1]]
    assert judged_logs([torn, *told], known)[0].reason == "NOT_DURABLE", "the next log's header knows of decree 10"
    empty = judged_logs([replace(log, max_decree=None), *rest], known)
    assert empty[0].reason == "DECREES_UNKNOWN"


@pytest.mark.promise("split-logs-may-go")
@pytest.mark.parametrize(("partition", "number"), [(1, 2), (5, 2), (2, 0), (13, 2)])
def test_a_broken_rule_holds_the_logs_of_parent_and_child(partition: int, number: int) -> None:
    groups = {index: ParentAndChild(index, 4) for index in range(4)}
    durable = {("n", index): 9 for index in (1, 5)}
    known = SplitFacts("c", 2, 4, groups, durable, duplicating=False)
    logs = [
        LogFile("n", 2, index, f"log.{number}.{number}", number, number, 1, max_decree=4)
        for index in (1, 5)
        for number in (1, 2)
    ]
    errors = list(check_files([LogFile("other", 2, partition, "log.1.0", 1, 0, foreign=3)]))
    found = without_broken(judged_logs(logs, known), errors, known)
    assert [one.reason for one in found].count("RULE_BROKEN") == number
    assert [one.verdict for one in found].count("DELETABLE") == 2 - number
    assert [one.reason for one in found].count("NEWEST_LOG") == 2
    unplaced = [replace(one, subject="temp") for one in errors]
    assert all(one.verdict == "HELD" for one in without_broken(judged_logs(logs, known), unplaced, known))


@pytest.mark.promise("split-logs-may-go")
def test_the_facts_of_an_earlier_split_are_refused() -> None:
    groups = {index: ParentAndChild(index, 4) for index in range(4)}
    known = SplitFacts("c", 2, 4, groups, {("n", 9): 9}, duplicating=False)
    logs = [LogFile("n", 2, 9, f"log.{index}.{index}", index, index, 1, max_decree=4) for index in (1, 2)]
    with pytest.raises(UsageError, match=r"2\.9@n/log\.1\.1 is of partition 9, .* from 4 to 8 partitions"):
        judged_logs(logs, known)
    other = [replace(log, app_id=3) for log in logs]
    assert judged_logs(other, known)[0].reason == "DURABLE_UNKNOWN", "they say nothing of another table"


@pytest.mark.long
def test_an_acknowledged_write_that_is_nowhere(desk: Desk) -> None:
    lines = [
        {"ts": 1, "client": "c", "kind": "write", "hash": f"{key_hash(key):016x}", "pidx": pidx, "version": 7,
         "code": code, "decree": decree}
        for key, pidx, decree, code in (
            (CHILDREN[3], CHILD, 10, "ERR_OK"),
            (CHILDREN[4], CHILD, 10, "ERR_OK"),
            (PARENTS[3], PARENT, 9, "ERR_OK"),
            (PARENTS[7], PARENT, 3, "ERR_OK"),
            (CHILDREN[4], CHILD, 77, "ERR_TIMEOUT"),
        )
    ]  # fmt: skip
    journal = desk.root / "acks.jsonl"
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, result = desk.run(Logs.good(), "--journal", str(journal))
    assert code == 3
    (finding,) = result["findings"]
    assert (finding["code"], finding["evidence"]) == ("SPLIT_L6", {"decrees": 1, "first": 10, "last": 10})
    journal.write_text('{"ts": 1, "client": "c", "kind": "write", "hash": "00", "pidx": 1, "code": "ERR_OK"}\n')
    code, result = desk.rerun("--journal", str(journal))
    assert (code, "acks.jsonl, line 1: 'hash' must be 16" in result["error"]["message"]) == (2, True), result


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"fromat": 1}, "unknown key 'fromat'"),
        ({"app_id": 9}, "no log belongs to table 9"),
        ({"old_count": 3}, "'old_count': 3 is no power of two"),
        ({"groups": [{"parent": 4}]}, "'groups': 'parent' 4 is not below 'old_count'"),
        ({"groups": [{"parent": 1, "ballot": 3}]}, "unknown key 'groups.0.ballot'"),
        ({"replicas": [{"node": "n", "pidx": 1, "last_durable_decree": 9}] * 2}, "'replicas': ('n', 1) is given twice"),
        (
            {"duplicating": True, "duplication": [{"pidx": 1, "confirmed_decree": 9}] * 2},
            "'duplication': 1 is given twice",
        ),
        (
            {"duplicating": False, "duplication": [{"pidx": 1, "confirmed_decree": 3}]},
            "'duplicating' is false, but 'duplication' has confirmed decrees",
        ),
        ({"format": 2}, "'format' must be 1"),
    ],
)
def test_bad_input_is_named(desk: Desk, change: dict[str, Any], words: str) -> None:
    logs = Logs({key: files for key, files in Logs.good().entries.items() if key == (N1, PARENT)})
    code, result = desk.run(logs, change=change)
    assert (code, words in result["error"]["message"]) == (2, True), result


def test_no_log_no_answer(desk: Desk) -> None:
    (desk.root / "logs" / "2.1.pegasus.gar" / "plog").mkdir(parents=True)
    (desk.root / "logs" / "2.1.pegasus.gar" / "plog" / "log.1.0").write_bytes(b"")
    (desk.root / "logs" / "2.1.pegasus" / "plog").mkdir(parents=True)
    (desk.root / "logs" / "2.1.pegasus" / "plog" / "log.1.0.removed").write_bytes(b"")
    code, result = desk.rerun()
    assert (code, "contains no private log" in result["error"]["message"]) == (2, True)
