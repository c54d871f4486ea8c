"""A night in one application: which jobs run after which exit code, and the night's own."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobs.cli import command_line, entry
from jobs.cli.config.configuration import parse_config
from jobs.cli.entry import _failed
from jobs.night.night import Night, run_night
from jobs.night.plan import Command, NightPlan, NightRequest, night_plan, plan_result
from pipelines.cleanup.pause_checks import say_pause_first
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError, UsageError
from pipelines.common.job_result import JobResult
from pipelines.decide.gate.gate import SHARE
from pipelines.reconcile.pause import unknown_pause
from tests.labs.places import PROJECT
from tests.labs.small_cluster import At

RUN = "20261121T020000Z"
EXAMPLE = PROJECT / "conf" / "production.example.yaml"
BEFORE = _failed("clean", RefusedError(Condition.LIST_ALREADY_CLEANED, "run x was cleaned"))
EXPIRED = _failed("clean", RefusedError(Condition.LIST_EXPIRED, "the list is valid until yesterday"))
RESTORED = _failed("clean", RefusedError(Condition.LIST_RESTORED_OR_PURGED, "files of run x were restored"))
UNTIL_CLEAN = ["capture", "reconcile", "clean"]
AFTER = ["purge --execute", "maintain --execute"]


AT_TWO = At(1_795_226_400_000)


def planned(text: str = "", run_id: str | None = RUN, **wanted: Any) -> NightPlan:  # noqa: ANN401 - of NightRequest
    request = NightRequest(run_id, **wanted)
    return night_plan("a.yaml", parse_config(EXAMPLE.read_text() + text, "a.yaml"), request, AT_TWO)


def night(
    script: dict[str, list[JobResult | int]] | None = None,
    *,
    approved: bool = False,
    stop_after: str = "",
    part: str | None = None,
    limits: str = "",
) -> tuple[JobResult, list[str], list[int]]:
    """The answer, the jobs that ran, and the waits between them; a job that the script does not name does well."""
    answers = {key: list(values) for key, values in (script or {}).items()}
    calls: list[str] = []
    waits: list[int] = []

    def start(command: Command) -> JobResult:
        short = " ".join([command[0], *(word for word in ("--execute", "--resume") if word in command)])
        calls.append(short)
        answer: JobResult | int = answers[short].pop(0) if answers.get(short) else 0
        return answer if isinstance(answer, JobResult) else JobResult(answer, {"of": short}, f"text of {short}")

    plan = replace(planned(), approved=approved, tries=3, part=part)
    plan = replace(plan, clean=(*plan.clean, *limits.split()))
    stopped = Night(plan, start, waits.append, lambda: bool(stop_after) and stop_after in calls)
    return run_night(stopped), calls, waits


@pytest.mark.promise("approval-is-a-persons", "nothing-without-execute")
def test_without_approval_it_rehearses_and_says_how_to_go_on() -> None:
    outcome, calls, _ = night()
    assert (outcome.exit_code, calls) == (0, [*UNTIL_CLEAN, *AFTER])
    assert "Nothing was moved. If you agree with the rehearsal above:\n  ./spark-submit.sh clean " in outcome.text
    for option in ("--execute", "--resume"):
        rehearsed = JobResult(0, {"status": "REHEARSAL", "done_files": 7, "option": option}, "")
        outcome, calls, _ = night({"clean": [rehearsed]})
        assert (outcome.exit_code, calls) == (0, [*UNTIL_CLEAN, *AFTER])
        assert re.search(rf"^  ./spark-submit.sh clean .* {option}$", outcome.text, re.MULTILINE)
        (alert,) = outcome.result["alerts"]  # type: ignore[misc]
        assert f"start it with {option}" in alert["summary"]


@pytest.mark.promise("nothing-without-execute")
def test_with_approval_it_cleans() -> None:
    outcome, calls, _ = night(approved=True)
    assert (outcome.exit_code, calls) == (0, [*UNTIL_CLEAN, "clean --execute", *AFTER])
    jobs = outcome.result["jobs"]
    assert isinstance(jobs, list)
    assert [(one["job"], one["exit_code"], one["of"]) for one in jobs] == [(one.split()[0], 0, one) for one in calls]


@pytest.mark.parametrize(("answer", "goes_on"), [(0, True), (5, True), (3, False), (2, False), (1, False)])
def test_reconciles_exit_code_is_the_gate(answer: int, goes_on: bool) -> None:
    outcome, calls, _ = night({"reconcile": [answer]})
    assert outcome.exit_code == answer
    assert calls == ([*UNTIL_CLEAN, *AFTER] if goes_on else ["capture", "reconcile"])


def test_a_new_error_finding_is_the_nights_exit_code_unless_a_later_job_stops_it() -> None:
    outcome, _, _ = night({"reconcile": [5]}, approved=True)
    assert outcome.text.endswith("ended with exit code 5: an error finding is new: see reconcile")
    outcome, _, _ = night({"reconcile": [5], "purge --execute": [3]})
    assert (outcome.exit_code, outcome.result["why"]) == (3, "purge stopped it")


@pytest.mark.parametrize("code", [2, 3, 5])
def test_a_run_that_purge_refuses_keeps_no_night_from_maintaining(code: int) -> None:
    """Not even if there is no other run."""
    answer = JobResult(code, {"runs": [{"run_id": "n1", "status": "REFUSED"}]}, "")
    outcome, calls, _ = night({"purge --execute": [answer]}, approved=True)
    assert (outcome.exit_code, calls) == (5, [*UNTIL_CLEAN, "clean --execute", *AFTER])
    assert outcome.result["why"] == "purge refused quarantined runs: see purge"
    outcome, calls, _ = night({"reconcile": [5], "purge --execute": [answer]})
    assert outcome.text.endswith("5: an error finding is new: see reconcile; purge refused quarantined runs: see purge")
    assert night({"purge --execute": [answer], "maintain --execute": [4] * 3})[0].exit_code == 4


@pytest.mark.parametrize("limits", ["", "--max-files 5"])
def test_a_file_that_cannot_be_moved_keeps_no_night_from_purging_and_maintaining(limits: str) -> None:
    """The same file fails every night; perhaps only purge makes the room that it needs."""
    stuck = JobResult(4, {"status": "DONE", "left": [], "left_files": 1}, "1 files could not be moved")
    outcome, calls, _ = night({"clean --execute": [stuck]}, approved=True, limits=limits)
    assert (outcome.exit_code, calls) == (4, [*UNTIL_CLEAN, "clean --execute", *AFTER])
    assert outcome.result["why"] == "some files could not be moved: see clean"
    (alert,) = outcome.result["alerts"]  # type: ignore[misc]
    assert (alert["name"], "some files could not be moved" in alert["summary"]) == ("FAILED", True)
    lost = JobResult(4, {"left": [], **_failed("clean", UnavailableError("no answer")).result}, "")
    assert night({"clean --execute": [lost] * 3}, approved=True)[1][-1] == "clean --execute"


def test_a_file_that_cannot_be_deleted_keeps_no_night_from_maintaining() -> None:
    stuck = JobResult(4, {"runs": [{"run_id": "n1", "status": "DONE"}]}, "")
    outcome, calls, _ = night({"reconcile": [5], "purge --execute": [stuck] * 3})
    assert (outcome.exit_code, calls) == (4, [*UNTIL_CLEAN, *[AFTER[0]] * 3, AFTER[1]])
    assert outcome.text.endswith(
        "4: an error finding is new: see reconcile; purge could not finish every run: see purge"
    )
    failed = _failed("purge", UnavailableError("no answer of ZooKeeper")).result
    outcome, _, _ = night({"purge --execute": [JobResult(4, {**stuck.result, **failed}, "")] * 3})
    (alert,) = outcome.result["alerts"]  # type: ignore[misc]
    assert alert["summary"] == "purge: no answer of ZooKeeper", "and it is not told twice"


def test_the_result_says_what_a_person_should_know() -> None:
    refused = JobResult(3, {"clusters": [{"cluster": "prod-a", "status": "REFUSED", "reason": "the master moved"}]}, "")
    alerts = night({"reconcile": [refused]})[0].result["alerts"]
    assert isinstance(alerts, list)
    (alert,) = alerts
    assert (alert["name"], alert["cluster"], alert["summary"]) == ("REFUSED", "prod-a", "reconcile: the master moved")
    assert night()[0].result["alerts"] == []


def test_a_bug_in_an_alert_hides_no_answer(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("jobs.night.night.alerts_of", lambda *_: {}["a bug"])
    outcome = night()[0]
    assert (outcome.exit_code, outcome.result["alerts"]) == (0, [])
    assert outcome.result["jobs"]
    assert "no alert is told" in caplog.text


@pytest.mark.parametrize(
    ("job", "code"),
    [(job, code) for job in ("capture", "clean", "maintain --execute") for code in (1, 2, 3, 5, 130)]
    + [("purge --execute", code) for code in (1, 2, 3, 130)],
)
def test_any_other_failure_ends_the_night(job: str, code: int) -> None:
    outcome, calls, waits = night({job: [code]})
    assert (outcome.exit_code, calls[-1], waits) == (code, job, [])


def test_only_4_is_tried_again_and_only_so_often() -> None:
    outcome, calls, waits = night({"capture": [4, 4, 0], "purge --execute": [4, 4, 4]})
    assert outcome.exit_code == 4
    assert calls == ["capture", "capture", *UNTIL_CLEAN, *["purge --execute"] * 3]
    assert waits == [600_000] * 4


def test_without_spark_nothing_is_tried_again() -> None:
    """Another try in the same application would wait ten minutes, and fail again."""
    ended = _failed("capture", UnavailableError("no JVM", condition=Condition.SPARK_ENDED))
    outcome, calls, waits = night({"capture": [ended]})
    assert (outcome.exit_code, calls, waits) == (4, ["capture"], [])
    purged = JobResult(4, {"runs": [{"run_id": "n1", "status": "FAILED"}], **ended.result}, "")
    outcome, calls, waits = night({"purge --execute": [purged]})
    assert (outcome.exit_code, calls, waits) == (4, [*UNTIL_CLEAN, AFTER[0]], [])
    assert outcome.result["why"] == "purge stopped it"


@pytest.mark.parametrize("limits", ["--max-files 5", "--max-bytes 5"])
def test_within_limits_clean_is_started_once(limits: str) -> None:
    """Each try would move as much again as was approved, and after an error nobody knows how much was moved."""
    lost = _failed("clean", UnavailableError("the lake does not answer"))
    outcome, calls, waits = night({"clean --execute": [lost]}, approved=True, limits=limits)
    assert (outcome.exit_code, calls, waits) == (4, [*UNTIL_CLEAN, "clean --execute"], [])
    outcome, calls, _ = night({"clean --execute": [BEFORE]}, approved=True, limits=limits)
    assert (outcome.exit_code, calls) == (0, [*UNTIL_CLEAN, "clean --execute", "clean --resume", *AFTER])


@pytest.mark.parametrize("limits", ["", "--max-files 5"])
def test_the_lease_of_a_night_that_died_is_waited_for(limits: str) -> None:
    held = _failed("clean", UnavailableError("another job is at work", condition=Condition.LEASE_HELD))
    outcome, calls, waits = night({"clean --execute": [held, BEFORE]}, approved=True, limits=limits)
    cleans = ["clean --execute", "clean --execute", "clean --resume"]
    assert (outcome.exit_code, calls, len(waits)) == (0, [*UNTIL_CLEAN, *cleans, *AFTER], 1)


def test_a_clean_that_was_begun_is_resumed() -> None:
    outcome, calls, _ = night({"clean --execute": [4, BEFORE]}, approved=True)
    cleans = ["clean --execute", "clean --execute", "clean --resume"]
    assert (outcome.exit_code, calls) == (0, [*UNTIL_CLEAN, *cleans, *AFTER])


def test_a_night_that_died_goes_on_with_what_is_there() -> None:
    exists = _failed("capture", UsageError("it exists", condition=Condition.SNAPSHOT_EXISTS))
    outcome, calls, _ = night({"capture": [exists], "clean --execute": [BEFORE]}, approved=True)
    assert (outcome.exit_code, calls) == (0, [*UNTIL_CLEAN, "clean --execute", "clean --resume", *AFTER])


@pytest.mark.parametrize("tries", [[EXPIRED], [4, EXPIRED]])
def test_a_clean_up_that_had_begun_and_whose_list_has_expired_lets_the_night_go_on_and_is_told(
    tries: list[JobResult | int],
) -> None:
    """An operator starts the part again on the next day; nobody knows whether files of the list are left."""
    script: dict[str, list[JobResult | int]] = {"clean --execute": [BEFORE], "clean --resume": tries}
    outcome, calls, _ = night(script, approved=True, part="finish")
    assert (outcome.exit_code, calls[-2:], calls[-3]) == (5, AFTER, "clean --resume")
    assert "has expired, so files of it may be left: see clean" in outcome.text
    assert [(one["name"], one["code"]) for one in outcome.result["alerts"]] == [("REFUSED", "LIST_EXPIRED")]  # type: ignore[attr-defined]
    outcome, calls, _ = night({"clean --execute": [EXPIRED]}, approved=True, part="finish")
    assert (outcome.exit_code, calls) == (3, ["clean --execute"])


@pytest.mark.parametrize("answer", [3, RESTORED])
def test_a_clean_that_is_refused_ends_the_night(answer: JobResult | int) -> None:
    outcome, calls, _ = night({"clean --execute": [answer]}, approved=True)
    assert (outcome.exit_code, calls) == (3, [*UNTIL_CLEAN, "clean --execute"])


@pytest.mark.parametrize("approved", [True, False])
def test_a_finding_that_pauses_the_clean_up_stops_the_night_before_it(approved: bool) -> None:
    pause = unknown_pause("prod-a", "r", "was REFUSED", "the master moved")
    rehearsed = say_pause_first(JobResult(0, {"done_files": 7}, "Would move"), pause)
    outcome, calls, _ = night({"clean": [rehearsed]}, approved=approved)
    assert (outcome.exit_code, calls) == (3, UNTIL_CLEAN)
    assert "a finding pauses the clean-up" in outcome.text
    free = say_pause_first(JobResult(0, {"done_files": 7}, "Would move"), None)
    assert night({"clean": [free]}, approved=True)[1] == [*UNTIL_CLEAN, "clean --execute", *AFTER]


def test_who_asks_it_to_stop_is_told_how_to_go_on() -> None:
    outcome, calls, _ = night(approved=True, stop_after="clean --execute")
    assert (outcome.exit_code, calls) == (130, [*UNTIL_CLEAN, "clean --execute"])
    assert f"stopped before purge; start it again with --run-id {RUN}" in outcome.text


def test_who_stops_it_while_it_waits_is_told_what_it_waited_for() -> None:
    lost = _failed("capture", UnavailableError("nn1 does not answer"))
    outcome, calls, waits = night({"capture": [lost, lost]}, stop_after="capture")
    assert (outcome.exit_code, calls, waits) == (130, ["capture"], [600_000])
    (alert,) = outcome.result["alerts"]  # type: ignore[misc]
    assert (alert["name"], alert["summary"]) == ("FAILED", "capture: nn1 does not answer")
    assert f"stopped before capture; start it again with --run-id {RUN}" in outcome.text


def test_every_command_is_one_that_its_job_takes() -> None:
    plan = planned()
    for command in plan.commands():
        command_line.parse(command)
    assert plan.capture[-1] == f"hdfs://ns1/walsafe/snapshots/prod-a/{RUN}"
    assert planned(run_id=None).run_id == RUN
    assert not any("--before-grace" in command for command in plan.commands())


def test_limits_and_approval_are_the_configurations() -> None:
    text = EXAMPLE.read_text().replace("\nnight:\n", "\nnight:\n  approval: automatic\n  max_files: 5\n")
    plan = night_plan("a.yaml", parse_config(text, "a.yaml"), NightRequest(RUN), AT_TWO)
    assert plan.approved
    assert [one[one.index("--max-files") + 1] for one in plan.commands() if one[0] == "clean"] == ["5", "5"]


DIGEST = "0123456789abcdef" * 4
OLD = JobResult(0, {"clusters": [{"cluster": "prod-a", "status": "DONE", "list_uri": None}]}, "")


def test_the_parts_of_a_night_together_are_the_night() -> None:
    outcome, calls, _ = night({"reconcile": [5]}, part="decide")
    assert (outcome.exit_code, calls) == (5, UNTIL_CLEAN)
    outcome, calls, _ = night(approved=True, part="finish")
    assert (outcome.exit_code, calls) == (0, ["clean --execute", *AFTER])
    outcome, calls, _ = night(part="finish")
    assert (outcome.exit_code, calls) == (0, AFTER)


@pytest.mark.promise("approval-is-a-persons")
def test_a_part_cleans_only_the_list_whose_digest_it_is_given() -> None:
    text = EXAMPLE.read_text().replace("\nnight:\n", "\nnight:\n  approval: automatic\n")
    config = parse_config(text, "a.yaml")
    rejected = night_plan("a.yaml", config, NightRequest(RUN, "finish"), AT_TWO)
    assert [one[0] for one in rejected.commands()] == ["purge", "maintain"]
    approved = planned(part="finish", approved=DIGEST)
    assert [one[0] for one in approved.commands()] == ["clean", "purge", "maintain"]
    clean = command_line.parse(approved.commands()[0]).args
    assert (clean.execute, clean.list_sha256, clean.run_id) == (True, DIGEST, RUN)
    assert [one[0] for one in planned(part="decide").commands()] == UNTIL_CLEAN


@pytest.mark.parametrize(
    ("run_id", "wanted", "says"),
    [
        (None, {"part": "finish"}, "--part finish needs the --run-id of the part decide"),
        (RUN, {"approved": DIGEST}, "--approved needs --part finish"),
        (RUN, {"approved": DIGEST, "part": "decide"}, "--approved needs --part finish"),
        (
            RUN,
            {"accept": ((SHARE, "we know"),), "part": "finish"},
            "--accept is for reconcile, which --part finish does",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(run_id: str | None, wanted: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        planned(run_id=run_id, **wanted)


def test_an_acceptance_goes_to_reconcile() -> None:
    plan = planned(accept=((SHARE, "we = know"),))
    assert command_line.parse(plan.reconcile).args.accept == [(SHARE, "we = know")]
    assert "--accept" not in [word for one in plan.commands() if one[0] != "reconcile" for word in one]


@pytest.mark.parametrize("accept", [((SHARE, "a"), (SHARE, "b")), (("x", "y"),)])
def test_an_acceptance_that_reconcile_would_refuse_is_refused_before_the_capture(
    accept: tuple[tuple[str, str], ...],
) -> None:
    with pytest.raises(UsageError, match="--accept"):
        planned(accept=accept)


def test_an_acceptance_without_a_reason_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        command_line.parse(["night", "--config", str(EXAMPLE), "--accept", SHARE])
    assert left.value.code == 2
    assert "must be EXPECTATION=REASON" in capsys.readouterr().err


@pytest.mark.parametrize("approved", [True, False])
def test_a_snapshot_that_is_too_old_for_a_list_fails_no_night(approved: bool) -> None:
    outcome, calls, _ = night({"reconcile": [OLD]}, approved=approved)
    assert (outcome.exit_code, calls) == (0, ["capture", "reconcile", *AFTER])


@pytest.mark.parametrize("approved", [True, False])
@pytest.mark.parametrize(
    ("refused", "why"),
    [(EXPIRED, "the list has expired"), (RESTORED, "files of the list were restored or purged already")],
)
def test_a_list_that_is_over_before_the_rehearsal_fails_no_night(refused: JobResult, why: str, approved: bool) -> None:
    """A night is started again on the next day; on call may have restored a file meanwhile."""
    outcome, calls, _ = night({"clean": [refused]}, approved=approved)
    assert (outcome.exit_code, calls) == (0, [*UNTIL_CLEAN, *AFTER])
    assert f"There is nothing to clean: {why}." in outcome.text
    assert outcome.result["alerts"] == []
    outcome, _, _ = night({"clean --execute": [EXPIRED]}, approved=True)
    assert outcome.exit_code == 3
    assert [one["code"] for one in outcome.result["alerts"]] == ["LIST_EXPIRED"]  # type: ignore[attr-defined]


def test_a_missing_key_is_named() -> None:
    with pytest.raises(UsageError, match=r"a\.yaml: a night needs 'wal_root', 'capture', 'lake', "):
        night_plan("a.yaml", parse_config("cluster: prod-a\nlists: /x\n", "a.yaml"), NightRequest(), AT_TWO)


def test_what_the_clean_up_would_refuse_is_refused_before_the_capture() -> None:
    inside = re.sub(r"^wal_root: .*$", "wal_root: hdfs://ns1/walsafe", EXAMPLE.read_text(), flags=re.MULTILINE)
    with pytest.raises(UsageError, match=r"clean\.quarantine .* overlap"):
        night_plan("a.yaml", parse_config(inside, "a.yaml"), NightRequest(RUN), AT_TWO)


def test_what_maintain_would_refuse_is_refused_before_the_capture() -> None:
    short = re.sub(
        r"^maintain:$", "maintain:\n  keep: {tables: {no_table: 9d}}", EXAMPLE.read_text(), flags=re.MULTILINE
    )
    with pytest.raises(UsageError, match="there is no table 'no_table'"):
        night_plan("a.yaml", parse_config(short, "a.yaml"), NightRequest(RUN), AT_TWO)


def test_a_night_of_exported_sources_only_decides() -> None:
    exported = {"files": {"source": "ls", "path": "/e/files.txt"}, "queues": {"source": "export"}}
    exported |= {"state": {"source": "export"}, "export": {"path": "/e"}}
    places = "cluster: c\nwal_root: hdfs://ns1/hbase\nlake: /l\nlists: /s\nsnapshots: /n\n"
    text = f"{places}capture: {json.dumps(exported)}\n"
    assert not night_plan("a.yaml", parse_config(text, "a.yaml"), NightRequest(RUN), AT_TWO).clean
    text += "clean: {quarantine: 'hdfs://ns1/walsafe/quarantine'}\n"
    with pytest.raises(UsageError, match=r"answer of earlier.*leave out the section clean"):
        night_plan("a.yaml", parse_config(text, "a.yaml"), NightRequest(RUN), AT_TWO)


def test_without_a_section_clean_nothing_is_cleaned_or_purged() -> None:
    section = re.search(r"^clean:\n(?:[ #].*\n|\n)+", EXAMPLE.read_text(), re.MULTILINE)
    assert section is not None
    config = parse_config(EXAMPLE.read_text().replace(section[0], ""), "a.yaml")
    plan = night_plan("a.yaml", config, NightRequest(RUN), AT_TWO)
    calls: list[str] = []

    def start(command: Command) -> JobResult:
        calls.append(command[0])
        return JobResult(0, {}, "")

    assert run_night(Night(plan, start)).exit_code == 0
    assert calls == [command[0] for command in plan.commands()] == ["capture", "reconcile", "maintain"]
    assert "no section clean" in plan_result(plan).text
    with pytest.raises(UsageError, match="--approved needs 'clean'"):
        night_plan("a.yaml", config, NightRequest(RUN, part="finish", approved="0" * 64), AT_TWO)


@pytest.mark.parametrize("run_id", ["../x", "a/b", "", "x" * 65])
def test_a_run_id_that_is_no_name_is_refused_before_the_capture(run_id: str) -> None:
    with pytest.raises(UsageError, match="must be letters"):
        planned(run_id=run_id)


def test_the_plan_starts_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(EXAMPLE.read_text())
    assert entry.main(["night", "--config", str(file), "--run-id", RUN, "--plan"]) == 0
    shown = capsys.readouterr().out.splitlines()
    jobs = [line.split()[1] for line in shown if line.startswith("  ./spark-submit.sh ")]
    assert jobs == [*UNTIL_CLEAN, "purge", "maintain"]
    assert "night.approval is manual" in shown[-1]
