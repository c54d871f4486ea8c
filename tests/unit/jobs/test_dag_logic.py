"""The nightly DAG's own rules, without Airflow: configuration, commands, what an exit code and an answer mean."""

import ast
import logging
import re
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobs.cli.entry import _failed, parse
from jobs.dags import walsafe_nightly_logic as logic
from jobs.dags.walsafe_nightly_config import ConfigurationError, Nightly, NightlyCluster, NightlyFile, parse_nightly
from jobs.dags.walsafe_nightly_logic import NextStep
from jobs.dags.walsafe_nightly_process import read_result, run_job
from jobs.reconcile import DESCRIPTION as RECONCILE
from pipelines.cleanup import list_checks
from pipelines.cleanup.deletions import CleanupAction
from pipelines.cleanup.pause_checks import say_pause_first
from pipelines.common import errors
from pipelines.common.job_result import JobResult
from pipelines.reconcile.pause import unknown_pause
from pipelines.snapshot import target
from tests.labs.places import DOCS, PROJECT

DAGS = PROJECT / "jobs" / "dags"
EXAMPLE = PROJECT / "conf" / "walsafe-nightly.example.yaml"
RUN = "20261121T020000Z"


def document(**changes: object) -> dict[str, object]:
    smallest = {
        "walsafe": "/opt/walsafe",
        "lake": "/w/lake",
        "lists": "/w/lists",
        "snapshots": "/w/snapshots/",
        "results": "/w/results",
        "clusters": {"prod-a": {"config": "a.yaml"}},
    }
    return {key: value for key, value in {**smallest, **changes}.items() if value is not None}


def nightly(**changes: object) -> Nightly:
    return parse_nightly(document(**changes), "nightly.yaml")


TWO = {"prod-a": {"config": "a.yaml"}, "prod-b": {"config": "b.yaml", "max_files": 10}}


# ---- configuration


@pytest.mark.promise("approval-is-a-persons")
def test_the_smallest_configuration_asks_a_person_and_runs_one_job_at_a_time() -> None:
    found = nightly()
    assert (found.approval, found.approval_timeout) == ("manual", timedelta(hours=12))
    assert (found.retries, found.retry_delay, found.parallel) == (3, timedelta(minutes=10), 1)
    assert (found.maintain_config, found.fleet_config, found.schedule) == ("a.yaml", None, None)
    assert found.snapshots == "/w/snapshots"


def test_the_example_is_taken_and_has_every_key() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert parse_nightly(yaml.safe_load(text), str(EXAMPLE)).cluster("prod-b").max_files == 100_000
    # with every line that is commented out, too
    whole = yaml.safe_load(re.sub(r"^(\s*)# (?=[\w]+: )", r"\1", text, flags=re.MULTILINE))
    parse_nightly(whole, str(EXAMPLE))
    keys = set(NightlyFile.model_fields)
    assert set(whole) == keys
    assert set(whole["limits"]) == {"max_files", "max_bytes"}
    page = (DOCS / "airflow.md").read_text(encoding="utf-8")
    assert [key for key in sorted(keys) if f"| `{key}`" not in page] == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"aproval": "manual"}, "key 'aproval' is unknown; docs/airflow.md"),
        ({"lake": None}, "key 'lake' is missing"),
        ({"lake": 7}, "key 'lake': must be a valid string, found 7"),
        ({"lake": " "}, "key 'lake': must not be empty"),
        ({"clusters": {}}, "key 'clusters': Dictionary should have at least 1 item"),
        ({"clusters": {"a/b": {"config": "x"}}}, "'a/b' in key 'clusters' is no cluster's name"),
        ({"clusters": {"a": {}}}, "key 'clusters.a.config' is missing"),
        ({"clusters": {"a": "x.yaml"}}, "key 'clusters.a' must hold keys and values"),
        ({"clusters": {"a": {"config": "x", "limit": 1}}}, "key 'clusters.a.limit' is unknown"),
        ({"clusters": TWO}, "key 'maintain_config' is missing"),
        ({"approval": "never"}, "key 'approval': must be 'automatic' or 'manual', found 'never'"),
        ({"approval_timeout": "12"}, "key 'approval_timeout': must be a duration"),
        ({"limits": {"max_files": "many"}}, "key 'limits.max_files': must be a valid integer"),
        ({"limits": {"max_files": True}}, "key 'limits.max_files': must be a valid integer"),
        ({"limits": {"files": 1}}, "key 'limits.files' is unknown"),
        ({"retries": -1}, "key 'retries': must be greater than or equal to 0"),
    ],
)
def test_a_wrong_configuration_is_refused_by_file_and_key(changes: Mapping[str, object], says: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^nightly\.yaml: ") as refused:
        nightly(**changes)
    assert says in str(refused.value)


def test_a_file_without_keys_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="the file must hold keys and values"):
        parse_nightly(None, "nightly.yaml")


def test_a_clusters_own_limits_come_first() -> None:
    found = nightly(clusters=TWO, fleet_config="f.yaml", limits={"max_files": 5, "max_bytes": 6})
    assert [(one.max_files, one.max_bytes) for one in found.clusters] == [(5, 6), (10, 6)]


def test_clusters_are_decided_together_only_with_a_configuration_for_all() -> None:
    assert nightly(clusters=TWO, fleet_config="f.yaml").runs_of_reconcile() == [["prod-a", "prod-b"]]
    assert nightly(clusters=TWO, maintain_config="m.yaml").runs_of_reconcile() == [["prod-a"], ["prod-b"]]


# ---- commands


def test_a_logical_date_has_one_run_id_in_utc() -> None:
    east = timezone(timedelta(hours=2))
    assert logic.night_id(datetime(2026, 11, 21, 4, tzinfo=east)) == RUN
    assert logic.night_id(datetime(2026, 11, 21, 2, tzinfo=timezone.utc)) == RUN


def commands(settings: Nightly) -> list[list[str]]:
    return [
        logic.capture_command(settings, "prod-b", RUN),
        logic.reconcile_command(settings, ["prod-a", "prod-b"], RUN),
        logic.clean_command(settings, "prod-b", RUN),
        logic.clean_command(settings, "prod-b", RUN, "--execute"),
        logic.clean_command(settings, "prod-b", RUN, "--resume"),
        logic.purge_command(settings, "prod-b"),
        logic.maintain_command(settings),
    ]


def test_every_command_is_taken_by_the_jobs_own_parser() -> None:
    full = nightly(clusters=TWO, fleet_config="f.yaml", reports="/r", metrics="/m", limits={"max_bytes": 9})
    for command in commands(full):
        invocation = parse([*command, "--output", "json", "--result", "/r.json"])
        assert invocation.name == command[0]
    reconcile = parse(commands(full)[1]).args
    assert reconcile.snapshot == [f"/w/snapshots/{name}/{RUN}" for name in ("prod-a", "prod-b")]
    assert (reconcile.run_id, reconcile.config) == (RUN, "f.yaml")
    clean = parse(commands(full)[2]).args
    assert (clean.config, clean.max_files, clean.max_bytes, clean.execute) == ("b.yaml", 10, 9, False)


def test_nothing_cuts_the_grace_short() -> None:
    assert not any("--before-grace" in command for command in commands(nightly(clusters=TWO, fleet_config="f")))
    assert "before-grace" not in "".join(file.read_text(encoding="utf-8") for file in DAGS.glob("*.py"))


# ---- answers


@pytest.mark.parametrize("job", ["capture", "reconcile", "clean", "purge", "maintain"])
@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 5, 130, 137, 143])
def test_only_4_is_tried_again_and_only_reconcile_goes_on_after_5(job: str, code: int) -> None:
    expected = NextStep.GO_ON if code == 0 or (job == "reconcile" and code == 5) else NextStep.STOP
    assert logic.decide(job, code) is (NextStep.RETRY if code == 4 else expected)


@pytest.mark.promise("exit-0")
def test_exit_codes_are_those_of_the_jobs() -> None:
    ours = (logic.DONE, logic.USAGE, logic.REFUSED, logic.UNAVAILABLE)
    assert ours == (errors.EXIT_DONE, errors.EXIT_USAGE, errors.EXIT_REFUSED, errors.EXIT_UNAVAILABLE)
    assert "refused" in RECONCILE


def failed(error: errors.WalsafeError) -> dict[str, Any]:
    """The result object of a job that ended with this error."""
    return dict(_failed("job", error).result)


def test_a_snapshot_that_stands_is_no_failure_and_any_other_wrong_usage_is() -> None:
    with pytest.raises(errors.UsageError) as refused:
        raise target._exists("/w/snapshots/prod-a/x")
    assert logic.already_captured(2, failed(refused.value))
    assert not logic.already_captured(4, failed(refused.value))
    assert not logic.already_captured(2, failed(errors.UsageError("a.yaml: key '--out' exists already")))
    assert not logic.already_captured(2, None)


def test_only_a_list_that_was_begun_is_resumed() -> None:
    with pytest.raises(errors.RefusedError, match="was cleaned before") as refused:
        list_checks.check_once(frozenset({CleanupAction.CLEAN}), "x", anew=True)
    assert logic.cleaned_before(3, failed(refused.value))
    assert not logic.cleaned_before(4, failed(refused.value))
    with pytest.raises(errors.RefusedError) as undone:
        list_checks.check_once(frozenset({CleanupAction.CLEAN, CleanupAction.RESTORE}), "x", anew=True)
    assert not logic.cleaned_before(3, failed(undone.value))
    assert not logic.cleaned_before(3, None)


def test_who_passed() -> None:
    clusters = [
        {"cluster": "a", "status": "DONE", "list_uri": "l", "reason": None, "deletable_files": 3},
        {"cluster": "b", "status": "REFUSED", "reason": "the master moved", "list_uri": None},
    ]
    found = logic.verdicts({"clusters": clusters})
    assert logic.why_not_passed(found["a"]) is None
    assert logic.why_not_passed(found["b"]) == "refused: the master moved"
    assert "not captured" in str(logic.why_not_passed(None))
    assert logic.verdicts(None) == {}


def test_a_rehearsal_says_why_the_clean_up_is_paused_in_its_own_words() -> None:
    pause = unknown_pause("a", "r", "was REFUSED", "the master moved")
    rehearsed = say_pause_first(JobResult(0, {"done_files": 7}, "Would move"), pause)
    assert logic.why_paused(rehearsed.result) == pause.text != ""
    assert logic.why_paused(say_pause_first(JobResult(0, {}, ""), None).result) == ""
    assert logic.why_paused(None) == ""


@pytest.mark.parametrize(
    ("changes", "limits", "finished"),
    [
        ({}, (None, None), True),
        ({"executed": False}, (None, None), False),
        ({"exit_code": 4}, (None, None), False),
        ({"status": "STOPPED"}, (None, None), False),
        ({"status": "STOPPED"}, (8, None), False),
        ({"status": "STOPPED"}, (7, None), True),
        ({"status": "STOPPED"}, (None, 70), True),
        ({"status": "STOPPED"}, (None, 71), False),
    ],
)
def test_what_needs_no_second_clean(
    changes: Mapping[str, object], limits: tuple[int | None, int | None], finished: bool
) -> None:
    result = {"exit_code": 0, "status": "DONE", "executed": True, "done_files": 7, "done_bytes": 70, **changes}
    assert logic.is_finished(result, NightlyCluster("a", "a.yaml", *limits)) is finished
    assert not logic.is_finished(None, NightlyCluster("a", "a.yaml"))


@pytest.mark.parametrize("chosen", [[], ["Reject"], ["Approve", "Reject"], ["approve"], None])
def test_only_that_one_word_approves(chosen: object) -> None:
    assert not logic.is_approved({"chosen_options": chosen})
    assert logic.is_approved({"chosen_options": ["Approve"]})


# ---- processes


def job(folder: Path, body: str) -> Path:
    script = folder / "spark-submit.sh"
    script.write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
    script.chmod(0o755)
    return folder


def test_a_job_answers_by_code_result_text_and_last_words(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    body = 'printf "words %s\\n" 1 2 3 4 5 6 >&2; echo "text $MORE $*"; echo \'{"a": 1}\' >"${@: -1}"; exit 3'
    result = tmp_path / "new" / "r.json"
    with caplog.at_level(logging.INFO):
        answer = run_job(
            str(job(tmp_path, body)), ["clean"], str(result), {"MORE": "x"}, logging.getLogger("t"), output="text"
        )
    assert (answer.exit_code, answer.result) == (3, {"a": 1})
    assert answer.text == f"text x clean --output text --result {result}\n"
    assert answer.last_words.split("\n") == [f"words {number}" for number in (2, 3, 4, 5, 6)]
    assert "words 1" in caplog.text


def test_a_result_of_an_earlier_run_is_not_read(tmp_path: Path) -> None:
    result = tmp_path / "r.json"
    result.write_text('{"exit_code": 0}', encoding="utf-8")
    answer = run_job(str(job(tmp_path, "kill -9 $$")), ["clean"], str(result), {}, logging.getLogger("t"))
    assert (answer.exit_code, answer.result) == (137, None)


def test_a_result_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text("{", encoding="utf-8")
    assert read_result(str(tmp_path / "r.json")) is None
    (tmp_path / "r.json").write_text("[]", encoding="utf-8")
    assert read_result(str(tmp_path / "r.json")) is None


def test_the_dag_imports_nothing_of_walsafe_or_spark() -> None:
    allowed = {*sys.stdlib_module_names, "airflow", "yaml", "pydantic"} | {file.stem for file in DAGS.glob("*.py")}
    for file in DAGS.glob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        typing_only = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for statement in node.body
            for inner in ast.walk(statement)
        }
        for node in ast.walk(tree):
            if id(node) in typing_only or not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
            extra = {"airflow", "yaml"} if file.stem != "walsafe_nightly" else set()
            assert {name.split(".")[0] for name in names} <= allowed - extra, f"{file.name}: {names}"
