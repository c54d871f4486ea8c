"""The nightly DAG's own rules, without Airflow: configuration, what an answer means, a job apart from its task."""

import ast
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobs.cli.monitoring.alerts import alerts_of
from jobs.dags import walsafe_nightly_job as dag_job
from jobs.dags.walsafe_nightly_config import ConfigurationError, Nightly, parse_nightly, refuse_unfit
from pipelines.common import errors
from schemas.registry import CLEANUP_TABLES, DECISION_TABLES
from tests.labs.places import DOCS, PROJECT
from tests.labs.waiting import wait_until

DAGS = PROJECT / "jobs" / "dags"
EXAMPLE = PROJECT / "conf" / "walsafe-nightly.example.yaml"
RUN = "20261121T020000Z"


def nightly(**changes: object) -> Nightly:
    smallest = {"walsafe": "/opt/walsafe", "results": "/w/results/", "clusters": {"prod-a": "a.yaml"}}
    document = {key: value for key, value in {**smallest, **changes}.items() if value is not None}
    return parse_nightly(yaml.safe_dump(document), "nightly.yaml")


# ---- configuration


def test_the_smallest_configuration() -> None:
    found = nightly()
    assert (found.approval_timeout, found.job_timeout) == (timedelta(hours=12), timedelta(hours=6))
    assert (found.retries, found.pool, found.deferrable, found.approvers) == (1, "default_pool", True, [])
    assert (found.schedule, found.environment) == (None, {})
    assert nightly(environment={"N": 4, "R": 0.5, "NONE": None}).environment == {"N": "4", "R": "0.5"}
    assert nightly(run_timeout="25h").run_timeout == timedelta(hours=25)


def test_the_example_is_taken_and_has_every_key() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert set(parse_nightly(text, str(EXAMPLE)).clusters) == {"prod-a", "prod-b"}
    # with every line that is commented out, too
    whole = re.sub(r"^(\s*)# (?=[\w]+: )", r"\1", text, flags=re.MULTILINE)
    parse_nightly(whole, str(EXAMPLE))
    keys = set(Nightly.model_fields)
    assert set(yaml.safe_load(whole)) == keys
    page = (DOCS / "airflow.md").read_text(encoding="utf-8")
    assert [key for key in sorted(keys) if f"| `{key}`" not in page] == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"aproval": "manual"}, "key 'aproval' is unknown; docs/airflow.md"),
        ({"results": None}, "key 'results' is missing"),
        ({"walsafe": 7}, "key 'walsafe': must be a valid string, found 7"),
        ({"walsafe": " "}, "key 'walsafe': String should have at least 1 character"),
        ({"clusters": {}}, "key 'clusters': Dictionary should have at least 1 item"),
        ({"clusters": {"a/b": "x"}}, "key 'clusters.a/b.[key]': String should match"),
        ({"clusters": {"a": {"config": "x"}}}, "key 'clusters.a': must be a valid string"),
        ({"approval_timeout": "12"}, "key 'approval_timeout': must be a duration"),
        ({"run_timeout": "36501d"}, "key 'run_timeout': must be at most a hundred years"),
        ({"approval_timeout": "999999999d"}, "key 'approval_timeout': must be at most a hundred years"),
        (
            {"approval_timeout": "18h"},
            "key 'run_timeout' must be longer than 'approval_timeout' and twice 'job_timeout'",
        ),
        ({"environment": {"YES": True}}, "key 'environment.YES': must be a text or a number, found True"),
        ({"environment": {"MANY": [1]}}, "key 'environment.MANY': must be a text or a number, found [1]"),
        ({"environment": {"SOME": {"a": 1}}}, "key 'environment.SOME': must be a text or a number"),
        ({"environment": ["A=b"]}, "key 'environment': must be a valid dictionary"),
        ({"notifiers": [{"name": "Slack"}]}, "key 'notifiers.0.name'"),
        ({"notifiers": [{"name": "a.B", "args": {}}]}, "key 'notifiers.0.args' is unknown"),
        ({"deferrable": "yes"}, "key 'deferrable': must be a valid boolean"),
        ({"retries": -1}, "key 'retries': must be greater than or equal to 0"),
    ],
)
def test_a_wrong_configuration_is_refused_by_file_and_key(changes: Mapping[str, object], says: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^nightly\.yaml: ") as refused:
        nightly(**changes)
    assert says in str(refused.value)


def test_a_file_without_keys_is_refused() -> None:
    for text in ("", "[]", "walsafe"):
        with pytest.raises(ConfigurationError, match=r"nightly\.yaml: key 'walsafe' is missing"):
            parse_nightly(text, "nightly.yaml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("clusters: {a: x.yaml", r": not valid YAML: while parsing"),
        ("schedule: 2026-99-99", r": a value does not fit its type: month must be in"),
        ("pool: a\npool: b", r", line 2: key 'pool' is given twice \(first on line 1\)"),
        (
            "clusters:\n  prod-a: a.yaml\n  prod-a: b.yaml",
            r", line 3: key 'prod-a' is given twice \(first on line 2\)",
        ),
    ],
)
def test_what_is_not_the_yaml_that_somebody_meant_is_refused(text: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^nightly\.yaml{says}"):
        parse_nightly(text, "nightly.yaml")


def test_null_is_no_value_and_hides_no_unknown_key() -> None:
    text = "{walsafe: /w, results: /r, clusters: {a: a.yaml}, approvers: null"
    assert parse_nightly(f"{text}}}", "nightly.yaml").approvers == []
    with pytest.raises(ConfigurationError, match="key 'aprovers' is unknown"):
        parse_nightly(f"{text}, aprovers: null}}", "nightly.yaml")


def test_a_key_beside_a_merged_one_is_given_once() -> None:
    text = "{walsafe: /w, results: /r, clusters: &a {a: a.yaml, b: b.yaml}, environment: {<<: *a, a: other}}"
    assert parse_nightly(text, "nightly.yaml").environment == {"a": "other", "b": "b.yaml"}


@pytest.mark.parametrize("version", ["3.3.0", "3.3.2", "3.10.1", "3.4.0rc1"])
def test_the_airflow_that_fits(version: str) -> None:
    refuse_unfit(version)


@pytest.mark.promise("other-airflow-is-refused")
@pytest.mark.parametrize("version", ["2.11.0", "3.0.6", "3.2.9", "4.0.0"])
def test_another_airflow_is_refused_in_one_sentence(version: str) -> None:
    with pytest.raises(RuntimeError, match=f"fits Airflow 3.3 and later 3.x, and this is Airflow {version}$"):
        refuse_unfit(version)


# ---- answers


@pytest.mark.promise("exit-0")
def test_exit_codes_are_those_of_the_jobs() -> None:
    ours = (dag_job.DONE, dag_job.UNAVAILABLE, dag_job.NEW_ERROR)
    assert ours == (errors.EXIT_DONE, errors.EXIT_UNAVAILABLE, errors.EXIT_PARTIAL)


def test_a_logical_date_has_one_run_id_in_utc() -> None:
    east = timezone(timedelta(hours=2))
    assert dag_job.night_id(datetime(2026, 11, 21, 4, tzinfo=east)) == RUN
    assert dag_job.night_id(datetime(2026, 11, 21, 2, tzinfo=UTC)) == RUN


FINDING = {"code": "C", "key": "k", "severity": "error", "is_new": True, "acknowledged": False}
FINDING |= {"message": "It stands.", "remedy": "Enable it."}
REHEARSED = {"job": "clean", "exit_code": 0, "done_files": 7, "list_sha256": "abc", "text": "Would move 7 files\n"}


def decided(*findings: Mapping[str, object], **changes: object) -> dict[str, Any]:
    cluster = {"cluster": "prod-a", "findings": findings, "report_uri": "hdfs://ns1/walsafe/pages/prod-a/x.html"}
    jobs = [{"job": "capture", "exit_code": 0}, {"job": "reconcile", "exit_code": 0, "clusters": [cluster]}, REHEARSED]
    result: dict[str, Any] = {"cluster": "prod-a", "run_id": RUN, "approved": False, "jobs": jobs, **changes}
    result["alerts"] = [asdict(alert) for alert in alerts_of("night", 0, result)]
    return dag_job.decision(result, "https://ops/walsafe/")


def test_the_person_reads_the_rehearsal() -> None:
    found = decided()
    assert found["text"] == "```\nWould move 7 files\n```"
    assert found["page"] == "https://ops/walsafe/prod-a/x.html"
    assert dag_job.page("file:/w/prod-a/x.html", None) == "file:/w/prod-a/x.html"
    assert dag_job.page(None, "https://ops") == ""


@pytest.mark.parametrize(
    ("changes", "told"),
    [({}, 1), ({"severity": "warning"}, 0), ({"is_new": False}, 0), ({"acknowledged": True}, 0)],
)
def test_only_a_new_error_finding_that_nobody_acknowledged_is_one(changes: Mapping[str, object], told: int) -> None:
    assert decided({**FINDING, **changes})["new_errors"] == ["C k: It stands. Enable it."] * told


@pytest.mark.promise("approval-is-a-persons")
@pytest.mark.parametrize("chosen", [[], ["Reject"], ["Approve", "Reject"], ["approve"], None])
def test_only_that_one_word_approves_and_only_the_list_that_was_shown(chosen: object) -> None:
    assert dag_job.approved_list({"chosen_options": chosen}, "abc", decided()) is None
    assert dag_job.approved_list({"chosen_options": ["Approve"]}, "shown", decided()) == "shown"
    assert dag_job.approved_list(None, "abc", decided()) is None


def test_nobody_is_asked_in_vain() -> None:
    assert dag_job.why_nobody_is_asked(decided(), rehearse_only=False) == ""
    assert "rehearse_only" in dag_job.why_nobody_is_asked(decided(), rehearse_only=True)
    automatic, empty = decided(approved=True), decided(jobs=[])
    assert "automatic" in dag_job.why_nobody_is_asked(automatic, rehearse_only=False)
    assert dag_job.approved_list(None, None, automatic) == "abc"
    assert "nothing to clean" in dag_job.why_nobody_is_asked(empty, rehearse_only=False)
    assert dag_job.approved_list(None, None, {**empty, "automatic": True}) is None


def test_the_list_of_another_cluster_is_shown_to_nobody() -> None:
    said = "is of cluster prod-a, not prod-b: correct 'clusters' in the configuration"
    assert dag_job.another_cluster({"cluster": "prod-a"}, "prod-b") == said
    assert dag_job.another_cluster({"cluster": "prod-a"}, "prod-a") == dag_job.another_cluster({}, "prod-a") == ""


def alert(name: str, summary: str) -> dict[str, str]:
    return {"name": name, "summary": summary}


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ({"error": {"message": "no such key"}}, "no such key"),
        ({"alerts": [alert("FAILED", "purge: no lease"), alert("REFUSED", "paused")]}, "purge: no lease; paused"),
        ({"alerts": [alert("NEW_ERROR", "it stands"), alert("REFUSED", "paused")]}, "paused"),
        ({"alerts": [alert("APPROVAL_WAITS", "clean would move 7 files")]}, "2\n3\n4\n5\n6"),
        ({}, "2\n3\n4\n5\n6"),
    ],
)
def test_a_failure_has_its_reason(result: Mapping[str, Any], says: str) -> None:
    assert dag_job.reason(result, list("123456")) == says
    assert dag_job.reason({}, []) == "it said nothing"


# ---- a job apart from its task


def job(folder: Path, body: str) -> list[str]:
    script = folder / "spark-submit.sh"
    script.write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
    script.chmod(0o755)
    return [str(script), "night"]


def end_of(folder: Path) -> Any:  # noqa: ANN401 - JSON
    return wait_until(lambda: dag_job.ended(folder), "the job has ended")


def run(folder: Path, body: str, *, timeout_s: float = 600, patience_s: float = 0) -> Path:
    dag_job.start(folder / "job", job(folder, body), {"MORE": "x"}, timeout_s=timeout_s, patience_s=patience_s)
    return folder / "job"


SLEEPS = """trap 'echo got INT; exit 130' INT; trap 'echo got TERM; exit 143' TERM
echo begun; while :; do sleep 0.1; done"""


def test_a_job_answers_by_code_result_and_log(tmp_path: Path) -> None:
    folder = run(tmp_path, 'echo "words $MORE" >&2; echo "text $*"; echo \'{"a": 1}\' >"${@: -1}"; exit 3')
    assert end_of(folder) == {"exit_code": 3, "why": None}
    assert dag_job.result(folder) == {"a": 1}
    assert dag_job.log_lines(folder) == ["words x", f"text night --result {folder / 'result.json'}"]
    assert not dag_job.is_running(folder)


def test_what_an_earlier_job_left_is_not_read(tmp_path: Path) -> None:
    folder = run(tmp_path, 'echo "{}" >"${@: -1}"')
    end_of(folder)
    run(tmp_path, "kill -9 $$")
    assert end_of(folder) == {"exit_code": 137, "why": None}
    assert dag_job.result(folder) == {}


def test_a_folder_is_a_clone_and_a_file_is_the_command_of_a_wheel(tmp_path: Path) -> None:
    assert dag_job.program(tmp_path) == f"{tmp_path}/spark-submit.sh"
    assert dag_job.program(tmp_path / "bin" / "walsafe") == f"{tmp_path}/bin/walsafe"


def test_a_program_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    dag_job.start(tmp_path, [str(tmp_path / "none")], {}, timeout_s=9, patience_s=0)
    assert end_of(tmp_path) == {"exit_code": 127, "why": None}
    assert "cannot be started" in dag_job.log_lines(tmp_path)[-1]


def test_a_job_that_could_not_be_started_leaves_nothing_to_wait_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next attempt would end the job that never was, in vain, and be the last."""

    def no_process(*_: object, **__: object) -> None:
        raise BlockingIOError("no process is left")

    monkeypatch.setattr(subprocess, "Popen", no_process)
    with pytest.raises(BlockingIOError):
        dag_job.start(tmp_path, ["job"], {}, timeout_s=9, patience_s=0)
    assert not dag_job.is_running(tmp_path)


def test_a_pulse_that_cannot_be_written_leaves_no_job_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dag_job, "_TICK_S", 0.05)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    (tmp_path / dag_job.PULSE).symlink_to("/dev/full")
    dag_job.main(tmp_path, 600, 0, job(tmp_path, "sleep 0.5; exit 3"))
    assert dag_job.ended(tmp_path) == {"exit_code": 3, "why": None}
    assert "cannot be started" not in capfd.readouterr().err


@pytest.mark.parametrize(("patience", "got", "code"), [(0, "TERM", 143), (600, "INT", 130)])
def test_a_job_that_is_asked_to_stop_gets_the_signal_of_its_part(
    tmp_path: Path, patience: float, got: str, code: int
) -> None:
    dag_job.ask_to_stop(tmp_path / "job")
    folder = run(tmp_path, SLEEPS, patience_s=patience)
    wait_until(lambda: "begun" in dag_job.log_lines(folder), "the job has begun")
    first = dag_job.pulse(folder)
    wait_until(lambda: dag_job.pulse(folder) != first, "the job gives a sign of life")
    assert dag_job.is_running(folder)
    dag_job.ask_to_stop(folder)
    assert end_of(folder) == {"exit_code": code, "why": "stopped"}
    assert dag_job.log_lines(folder) == ["begun", f"got {got}"]


def test_a_job_of_a_worker_that_ignores_ctrl_c_can_be_stopped(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        folder = run(tmp_path, SLEEPS, patience_s=600)
    finally:
        signal.signal(signal.SIGINT, before)
    wait_until(lambda: "begun" in dag_job.log_lines(folder), "the job has begun")
    dag_job.ask_to_stop(folder)
    assert end_of(folder) == {"exit_code": 130, "why": "stopped"}


def test_a_job_that_takes_too_long_is_ended_whether_or_not_airflow_runs(tmp_path: Path) -> None:
    folder = run(tmp_path, SLEEPS, timeout_s=0.5)
    assert end_of(folder) == {"exit_code": 143, "why": "timed out"}


def test_the_runner_leaves_the_session_of_the_task(tmp_path: Path) -> None:
    folder = run(tmp_path, "ps -o sid= -p $PPID; ps -o pid= -p $PPID")
    end_of(folder)
    session, runner = map(int, dag_job.log_lines(folder))
    assert session == runner != os.getsid(0)


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
            knows_airflow = file.stem in {"walsafe_nightly", "walsafe_nightly_operator"}
            extra = {"airflow": knows_airflow, "yaml": file.stem == "walsafe_nightly_config"}
            refused = {name for name, may in extra.items() if not may}
            assert {name.split(".")[0] for name in names} <= allowed - refused, f"{file.name}: {names}"


def test_the_assets_are_the_tables_of_a_night() -> None:
    """The DAG needs Airflow, which the tests have in another environment, so its text is read."""
    text = (DAGS / "walsafe_nightly.py").read_text(encoding="utf-8")
    (tables,) = (
        node.value
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TABLES"
    )
    assert isinstance(tables, ast.Dict)
    decide, finish = (ast.literal_eval(value) for value in tables.values)
    assert set(decide) == {table.name for table in DECISION_TABLES}
    assert set(finish) == {table.name for table in CLEANUP_TABLES}
