"""Who is told what after a job, with a real HTTP server as the webhook."""

import json
import logging
from argparse import Namespace
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobs.cli import entry
from jobs.cli.config.configuration import parse_config
from jobs.cli.config.sections import NotifySection
from jobs.cli.context import JobContext, SystemClock
from jobs.cli.monitoring.alerts import alerts_of
from jobs.cli.monitoring.notify import alertmanager_alerts, send, slack_message
from jobs.cli.registry import JOBS
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UsageError
from pipelines.common.job_result import JobResult
from tests.labs.webhook import webhook

FINDING = {
    "key": "QUEUE_STALLED:2", "code": "QUEUE_STALLED", "severity": "error", "message": "no progress <since> Monday",
    "remedy": "look at peer 2", "is_new": True, "acknowledged": False,
}  # fmt: skip
CLUSTER = {"cluster": "prod-a", "run_id": "r1", "status": "DONE", "findings": [FINDING]}
RECONCILED = {"clusters": [CLUSTER]}


def told(result: Mapping[str, object], code: int = 0, job: str = "reconcile") -> list[tuple[str, str, str]]:
    return [(alert.name, alert.cluster, alert.code) for alert in alerts_of(job, code, result)]


def with_finding(**changed: object) -> dict[str, object]:
    return {"clusters": [{**CLUSTER, "findings": [{**FINDING, **changed}]}]}


def test_a_new_error_is_told_and_no_other_finding() -> None:
    assert told(RECONCILED, 5) == [("NEW_ERROR", "prod-a", "QUEUE_STALLED")]
    for changed in ({"is_new": False}, {"severity": "warning"}, {"acknowledged": True}):
        assert told(with_finding(**changed)) == []


def test_refusals_are_told() -> None:
    refused = {"clusters": [{"cluster": "prod-a", "run_id": "r1", "status": "REFUSED", "reason": "out of order"}]}
    assert told(refused, 3) == [("REFUSED", "prod-a", "")]
    changed = {"clusters": [{**refused["clusters"][0], "condition": "MASTER_CHANGED"}]}
    assert told(changed, 3) == [("REFUSED", "prod-a", "MASTER_CHANGED")]
    error = {"error": {"kind": "RefusedError", "message": "paused", "condition": "CLEANUP_PAUSED"}}
    assert told(error, 3, "clean") == [("REFUSED", "", "CLEANUP_PAUSED")]
    assert told({"error": {"message": "no such file", "condition": "USAGE"}}, 2, "clean") == []


def test_a_refusal_without_an_error_is_told_too() -> None:
    assert told({"cluster": "prod-a", "status": "STOPPED", "reason": "the list has ended"}, 3, "clean") == [
        ("REFUSED", "prod-a", "")
    ]
    partly = {"cluster": "prod-a", "error": {"message": "run x: refused", "condition": "PEER_ADDED"}}
    assert told(partly, 5, "purge") == [("FAILED", "prod-a", "PEER_ADDED")]


def night(*jobs: Mapping[str, object], why: str | None = None, approved: bool = False) -> dict[str, object]:
    return {"cluster": "prod-a", "run_id": "r1", "approved": approved, "why": why, "jobs": list(jobs)}


def test_a_night_tells_of_all_its_jobs() -> None:
    reconciled = {"job": "reconcile", "exit_code": 5, **RECONCILED}
    rehearsed = {"job": "clean", "exit_code": 0, "status": "REHEARSAL", "done_files": 7, "executed": False}
    executed = {"job": "clean", "exit_code": 0, "status": "DONE", "done_files": 7, "executed": True}
    new = ("NEW_ERROR", "prod-a", "QUEUE_STALLED")
    assert told(night(reconciled, rehearsed), 5, "night") == [new, ("APPROVAL_WAITS", "prod-a", "")]
    assert told(night(reconciled, rehearsed, executed, approved=True), 5, "night") == [new]
    assert told(night(reconciled, rehearsed, approved=True), 5, "night") == [new]  # in the part decide
    assert told(night({**rehearsed, "done_files": 0}), 0, "night") == []
    for part, remedy in ((None, "start it with --execute"), ("decide", "approve it in the scheduler")):
        (waits,) = alerts_of("night", 0, {**night(rehearsed), "part": part})
        assert waits.summary == f"clean would move 7 files; a person has to {remedy}"


def test_a_night_that_fails_is_told_whatever_failed() -> None:
    failed = {"job": "capture", "exit_code": 4, "error": {"message": "no master", "condition": "UNAVAILABLE"}}
    assert told(night(failed, why="capture stopped it"), 4, "night") == [("FAILED", "prod-a", "UNAVAILABLE")]
    exists = {"job": "capture", "exit_code": 2, "error": {"message": "there", "condition": "SNAPSHOT_EXISTS"}}
    assert told(night(exists), 0, "night") == []
    expired = {"job": "clean", "exit_code": 3, "error": {"message": "of yesterday", "condition": "LIST_EXPIRED"}}
    assert told(night(exists, {**expired, "executed": False}), 0, "night") == []
    for ended in (3, 5):
        assert told(night({**expired, "executed": True}), ended, "night") == [("REFUSED", "prod-a", "LIST_EXPIRED")]
    assert told(night(why="a finding pauses the clean-up"), 3, "night") == [("REFUSED", "prod-a", "")]
    assert told(night(why="purge stopped it"), 1, "night") == [("FAILED", "prod-a", "")]
    waits = {"job": "clean", "exit_code": 0, "status": "REHEARSAL", "done_files": 7}
    assert told(night(waits, why="stopped before purge"), 130, "night")[-1] == ("FAILED", "prod-a", "")
    partly = {"job": "purge", "exit_code": 5, "error": {"message": "run x: refused", "condition": "PEER_ADDED"}}
    maintained = {"job": "maintain", "exit_code": 4, "errors": [{"message": "no answer"}]}
    for name, job in (("FAILED", partly), ("REFUSED", {**expired, "executed": True})):
        first, last = told(night(job, maintained, why="maintain stopped it"), 4, "night")
        assert (first[0], last) == (name, ("FAILED", "prod-a", ""))
    stuck = {"job": "clean", "exit_code": 4, "left_files": 1}
    purged = {"job": "purge", "exit_code": 4, "error": {"message": "no answer", "condition": "UNAVAILABLE"}}
    ended = {"job": "maintain", "exit_code": 0}
    assert told(night(purged, ended, why="purge"), 4, "night") == [("FAILED", "prod-a", "UNAVAILABLE")]
    assert told(night(exists, {**purged, "exit_code": 2}), 2, "night") == [("FAILED", "prod-a", "UNAVAILABLE")]
    of_both = [("FAILED", "prod-a", "UNAVAILABLE"), ("FAILED", "prod-a", "")]
    assert told(night(stuck, purged, ended, why="clean; purge"), 4, "night") == of_both
    (wrong,) = alerts_of("night", 2, {"error": {"message": "key 'lake' is missing"}})
    assert wrong.summary == "the night ended with exit code 2: key 'lake' is missing"


def test_a_night_whose_clean_up_is_paused_says_so_and_asks_for_no_approval() -> None:
    pause = {"text": "Clean-up is paused: QUEUE_TABLE_REWOUND"}
    rehearsed = {"job": "clean", "exit_code": 0, "status": "REHEARSAL", "done_files": 7, "paused": pause}
    (alert,) = alerts_of("night", 3, night(rehearsed, why="nothing is cleaned"))
    assert (alert.name, alert.code, alert.summary) == ("REFUSED", "CLEANUP_PAUSED", pause["text"])


def test_slack_gets_one_message() -> None:
    with webhook() as (url, got):
        section = NotifySection.model_validate({"webhook": "$HOOK", "token": "$TOKEN"})
        assert send(alerts_of("reconcile", 5, RECONCILED), section, SystemClock(), {"HOOK": url, "TOKEN": "t"})
        assert send([], section, SystemClock(), {})
    (request,) = got
    assert (request["path"], request["token"]) == ("/secret", "Bearer t")
    assert request["body"] == {
        "text": "*walsafe prod-a r1* needs a person\n"
        "• NEW_ERROR QUEUE_STALLED:2: no progress &lt;since&gt; Monday → look at peer 2"
    }


@pytest.mark.parametrize(
    ("user", "token", "sent"), [("", "$TOKEN", "Bearer t"), ("", None, None), ("me:too@", None, "Basic bWU6dG9v")]
)
def test_no_password_of_netrc_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: str, token: str | None, sent: str | None
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login other password s3cret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with webhook() as (url, got):
        section = NotifySection.model_validate({"webhook": url.replace("//", f"//{user}"), "token": token})
        assert send(alerts_of("reconcile", 5, RECONCILED), section, SystemClock(), {"TOKEN": "t"})
    assert [request["token"] for request in got] == [sent]


def test_slack_shows_what_ended_the_night_however_many_errors_are_new() -> None:
    pause = {"text": "Clean-up is paused: QUEUE_TABLE_REWOUND"}
    rehearsed = {"job": "clean", "exit_code": 0, "status": "REHEARSAL", "done_files": 7, "paused": pause}
    findings = [{**FINDING, "key": f"QUEUE_STALLED:{number}"} for number in range(12)]
    reconciled = {"job": "reconcile", "exit_code": 5, "clusters": [{**CLUSTER, "findings": findings}]}
    message = slack_message(alerts_of("night", 3, night(reconciled, rehearsed)))
    lines = str(message["text"]).splitlines()
    assert lines[1] == f"• REFUSED CLEANUP_PAUSED: {pause['text']}"
    assert [line.split(":")[1] for line in lines[2:11]] == [str(number) for number in range(9)]
    assert lines[11:] == ["… and 3 more"]


def test_slack_names_the_cluster_of_each_alert_of_a_fleet() -> None:
    refused = {"cluster": "prod-b", "run_id": "r2", "status": "REFUSED", "reason": "out of order"}
    message = slack_message(alerts_of("reconcile", 5, {"clusters": [CLUSTER, refused]}))
    assert str(message["text"]).splitlines() == [
        "*walsafe* needs a person",
        "• prod-b REFUSED: reconcile: out of order",
        "• prod-a NEW_ERROR QUEUE_STALLED:2: no progress &lt;since&gt; Monday → look at peer 2",
    ]


def test_alertmanager_gets_alerts_that_last_until_the_next_night() -> None:
    with webhook() as (url, got):
        section = NotifySection.model_validate({"webhook": url, "form": "alertmanager"})
        assert send(alerts_of("reconcile", 5, RECONCILED) * 2, section, SystemClock(), {})
    ((first, _second),) = [request["body"] for request in got]
    assert first["labels"] == {
        "alertname": "walsafe_new_error",
        "walsafe_job": "reconcile",
        "cluster": "prod-a",
        "code": "QUEUE_STALLED",
        "key": "QUEUE_STALLED:2",
    }
    assert first["annotations"]["remedy"] == "look at peer 2"
    assert first["endsAt"] > first["startsAt"]


def test_alertmanager_keeps_the_failures_of_two_jobs_of_one_night() -> None:
    error = {"message": "no answer", "condition": "UNAVAILABLE"}
    failed = [{"job": job, "exit_code": 4, "error": error} for job in ("purge", "maintain")]
    sent = alertmanager_alerts(alerts_of("night", 4, night(*failed)), datetime(2026, 12, 1, tzinfo=UTC))
    labels = [one["labels"] for one in sent]
    assert len(labels) == 2
    assert labels[0] != labels[1]


def test_what_cannot_be_sent_is_a_warning_without_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    alerts = alerts_of("reconcile", 5, RECONCILED)
    with webhook(500) as (url, _), caplog.at_level(logging.WARNING):
        for address in (url, "$NOT_SET", "http://127.0.0.1:1/secret", "http://[secret"):
            assert not send(alerts, NotifySection.model_validate({"webhook": address}), SystemClock(), {})
    assert len(caplog.records) == 4
    assert "the webhook answered 500" in caplog.text
    assert "NOT_SET is not set" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("status", [301, 302, 304, 307])
def test_a_redirect_delivers_nothing(status: int, caplog: pytest.LogCaptureFixture) -> None:
    with webhook(status) as (url, _), caplog.at_level(logging.WARNING):
        section = NotifySection.model_validate({"webhook": url})
        assert not send(alerts_of("reconcile", 5, RECONCILED), section, SystemClock(), {})
    assert f"the webhook answered {status}" in caplog.text


@pytest.mark.parametrize("text", ["notify: {webhook: ftp://x}", "notify: {webhook: a, token: s3cret}", "notify: {}"])
def test_a_wrong_section_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"a\.yaml, line 1"):
        parse_config(text, "a.yaml")


def test_a_job_with_a_new_error_sends_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = JOBS["reconcile"].load()
    monkeypatch.setattr(job, "run", lambda _args, _context: JobResult(5, RECONCILED, ""))
    with webhook() as (url, got):
        config = tmp_path / "a.yaml"
        config.write_text("notify: {webhook: $HOOK}\n")
        monkeypatch.setenv("HOOK", url)
        words = ["reconcile", "--config", str(config), "--snapshot", "x", "--lake", "y", "--lists", "z"]
        assert entry.main(words) == 5
        monkeypatch.setattr(entry, "alerts_of", lambda *_: {}["a bug"])
        assert entry.main(words) == 5  # a bug in the message does not change what the job did
    assert len(got) == 1


@pytest.mark.parametrize(
    ("job", "options", "run_id"),
    [
        ("capture", ["--out", "x"], ""),
        ("clean", ["--cluster", "prod-a", "--lists", "x", "--run-id", "r1", "--lake", "y"], "r1"),
        ("clean", ["--cluster", "prod-a", "--lists", "x", "--run-id", "latest", "--lake", "y"], ""),
        ("purge", ["--cluster", "prod-a", "--lake", "y"], ""),
    ],
)
def test_a_refused_job_says_of_which_cluster_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str, options: list[str], run_id: str
) -> None:
    """Alertmanager would take the same refusal of two clusters for one alert."""

    def refuse(_args: Namespace, _context: JobContext) -> JobResult:
        raise RefusedError(Condition.MASTER_CHANGED, "the master moved")

    monkeypatch.setattr(JOBS[job].load(), "run", refuse)
    with webhook() as (url, got):
        config = tmp_path / "a.yaml"
        config.write_text(f"cluster: prod-a\nnotify: {{webhook: {url!r}, form: alertmanager}}\n")
        assert entry.main([job, "--config", str(config), *options]) == 3
    ((alert,),) = [request["body"] for request in got]
    labels = {"alertname": "walsafe_refused", "walsafe_job": job, "cluster": "prod-a", "code": "MASTER_CHANGED"}
    assert alert["labels"] == labels
    assert alert["annotations"]["run_id"] == run_id


def test_a_night_that_stops_at_its_configuration_names_its_cluster_in_message_and_result(tmp_path: Path) -> None:
    config, result = tmp_path / "a.yaml", tmp_path / "r.json"
    with webhook() as (url, got):
        config.write_text(f"cluster: prod-a\nnotify: {{webhook: {url!r}, form: alertmanager}}\n")
        assert entry.main(["night", "--config", str(config), "--run-id", "r1", "--result", str(result)]) == 2
        assert entry.main(["night", "--config", str(config), "--plan"]) == 2  # who asks for a plan reads its answer
    ((sent,),) = [request["body"] for request in got]
    assert sent["labels"] == {"alertname": "walsafe_failed", "walsafe_job": "night", "cluster": "prod-a"}
    document = json.loads(result.read_text())
    ((alert,), why) = document["alerts"], document["error"]["message"]
    assert (alert["name"], alert["cluster"], alert["run_id"]) == ("FAILED", "prod-a", "r1")
    assert alert["summary"] == sent["annotations"]["summary"] == f"the night ended with exit code 2: {why}"


def test_a_bug_in_an_alert_does_not_hide_why_a_night_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, result = tmp_path / "a.yaml", tmp_path / "r.json"
    config.write_text("cluster: prod-a\n")
    monkeypatch.setattr(entry, "alerts_of", lambda *_: {}["a bug"])
    assert entry.main(["night", "--config", str(config), "--result", str(result)]) == 2
    document = json.loads(result.read_text())
    assert document["alerts"] == []
    assert "key" in document["error"]["message"]
