"""The frame of jobs, without a JVM: how findings are ordered and dated, and what follows for the answer."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from pipelines.common.errors import EXIT_DONE, EXIT_PARTIAL, EXIT_REFUSED
from pipelines.common.instants import DAY_MS
from pipelines.lake.findings import ERROR, INFO, WARNING, Acknowledgement, dated, finding, finding_lines
from pipelines.lake.job_run import JobLake, JobRun, default_run_id
from pipelines.lake.run_summary import RunKey, table_row
from schemas.findings import FINDINGS
from schemas.queue_audits import QUEUE_AUDITS
from tests.labs.plain_lake import append, reader

AT = 1_763_700_000_000
RUN = JobRun(RunKey.of("prod-a", f"{default_run_id(AT, 'abcdef0123')}-audit", AT), AT)
LOST = finding("LOST_WALS", ERROR, "1-h1", "Lost.", "Look.", size=5)


def test_the_run_id_has_the_time_and_the_digest_of_the_input() -> None:
    assert RUN.key.run_id == "20251121T044000Z-abcdef01-audit"


def test_errors_come_first_then_most_bytes_then_code_and_subject() -> None:
    found = [
        finding("C", INFO, "", "m", "r"),
        finding("R11", WARNING, "t", "m", "r"),
        finding("R1", WARNING, "u", "m", "r"),
        finding("R1", WARNING, "t", "m", "r"),
        finding("B", WARNING, "", "m", "r", size=7),
        LOST,
    ]
    keys = [row.key for row in RUN.record(JobLake(), [], found)]
    assert keys == ["LOST_WALS:1-h1", "B", "R1:t", "R1:u", "R11:t", "C"]


def test_of_several_acknowledgements_the_longest_counts() -> None:
    known = [Acknowledgement(LOST.key, "long", AT + 9), Acknowledgement(LOST.key, "short", AT + 1)]
    (row,) = dated([LOST], AT, {}, known)
    assert (row.acknowledged_reason, row.acknowledged_until) == ("long", AT + 9)


def test_the_text_of_an_error_has_the_key_by_which_a_person_acknowledges_it() -> None:
    found = dated([LOST, finding("R1", WARNING, "t", "m", "r")], AT, {}, [])
    heads = [line for line in finding_lines(found) if "-> " not in line and line.startswith("  ") and line[2] != " "]
    assert heads == ["  error    LOST_WALS:1-h1", "  warning  R1"]
    known = [Acknowledgement(heads[0].split()[1], "compared", AT)]
    assert [row.acknowledged for row in dated([LOST], AT, {}, known)] == [True]


@pytest.mark.parametrize(
    ("changes", "given", "code"),
    [
        ({}, None, EXIT_PARTIAL),
        ({"is_new": False}, None, EXIT_DONE),
        ({"acknowledged": True}, None, EXIT_DONE),
        ({"severity": WARNING}, None, EXIT_DONE),
        ({}, EXIT_REFUSED, EXIT_REFUSED),
    ],
)
def test_an_error_that_is_new_makes_exit_code_5_unless_the_job_has_its_own(
    changes: dict[str, object], given: int | None, code: int
) -> None:
    answer = RUN.answer({"queues": []}, ["first", "second"], [replace(LOST, **changes)], given)
    assert answer.exit_code == code
    assert answer.text == "first\nsecond\n"
    assert list(answer.result) == ["cluster", "run_id", "queues", "findings"]


def test_a_job_without_findings_has_none_in_its_answer() -> None:
    answer = RUN.answer({"peers": []}, ["all"])
    assert (answer.exit_code, list(answer.result)) == (EXIT_DONE, ["cluster", "run_id", "peers"])


def audit(day: int, digest: str = "abcdef01", job: str = "queues") -> RunKey:
    return RunKey.of("prod-a", f"{default_run_id(AT + day * DAY_MS, digest)}-{job}", AT + day * DAY_MS)


def test_what_the_newest_earlier_run_did_not_find_is_new_if_each_run_looks_at_the_whole_cluster(tmp_path: Path) -> None:
    for day, keys in ((0, ["LOST_WALS:1-h1", "B"]), (1, ["B"]), (2, []), (3, ["LOST_WALS:2-h1"])):
        append(tmp_path, QUEUE_AUDITS, [{**asdict(audit(day)), "queue": "1-h1"}] if keys != ["B"] else [])
        rows = [replace(LOST, key=key, nights=day + 1, first_seen=AT) for key in keys]
        append(tmp_path, FINDINGS, [table_row(audit(day), row) for row in rows])
    append(tmp_path, FINDINGS, [table_row(audit(3, job="wals"), replace(LOST, key="ELSE", first_seen=AT))])
    lake = reader(tmp_path)

    def before(key: RunKey) -> dict[str, tuple[int, int]]:
        return dict(lake.findings_before(key, "-queues", QUEUE_AUDITS))

    assert before(audit(1)) == {"LOST_WALS:1-h1": (AT, 1), "B": (AT, 1)}
    assert before(audit(2)) == {"B": (AT, 2)}, "an audit of no queue is known by its findings"
    assert before(audit(3)) == {}, "it came back: the audit before did not have it"
    assert before(audit(3, "0")) == before(audit(3, "ffffffff")) == {"LOST_WALS:2-h1": (AT, 4)}
    parts = lake.findings_before(audit(4), "-queues", None)
    assert parts == {"LOST_WALS:1-h1": (AT, 1), "B": (AT, 2), "LOST_WALS:2-h1": (AT, 1)}, "of any run"
