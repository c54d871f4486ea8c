"""The state of a cluster, from lakes that deltalake wrote: no JVM."""

from dataclasses import replace
from pathlib import Path

import pytest

from jobs.cli import command_line
from jobs.cli.context import JobContext
from jobs.cli.registry import JOBS
from pipelines.common.errors import UsageError
from pipelines.common.instants import DAY_MS, HOUR_MS
from pipelines.lake.findings import Acknowledgement, finding
from pipelines.lake.run_summary import PinnedRow, table_row
from pipelines.reconcile.explain.runs import Since
from pipelines.reconcile.explain.state import StateSettings
from schemas.cleanups import CLEANUPS
from schemas.deletions import DELETIONS
from schemas.findings import FINDINGS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.runs import RUNS
from tests.labs.explained_nights import (
    FIRST,
    GIB,
    H1,
    H3,
    LAST,
    ask,
    at,
    four_nights,
    identity,
    key,
    verdict,
    write_night,
)
from tests.labs.plain_lake import append, reader
from tests.labs.small_cluster import At


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """See `four_nights`."""
    return four_nights(tmp_path_factory.mktemp("nights"))


@pytest.mark.promise("explain-state")
def test_the_state_of_a_cluster_is_on_one_screen(lake: Path) -> None:
    result, text = ask(lake, settings=StateSettings(capacity_bytes=100 * GIB))
    state = result["state"]
    assert (state["run_id"], state["age_ms"]) == ("night-3", HOUR_MS)
    assert [(one["verdict"], one["files"], one["bytes"]) for one in state["verdicts"]] == [
        ("HELD", 4, 12 * GIB),
        ("DELETABLE", 1, GIB),
    ]
    assert [(one["peer_id"], one["bytes"], one["remedy"]) for one in state["peers"]] == [
        ("2", 12 * GIB, "enable_peer '2'")
    ]
    assert [(one["server"], one["bytes"]) for one in state["servers"]] == [(H3, 9 * GIB), (H1, 3 * GIB)]
    assert [one["key"] for one in state["changes"]["new_findings"]] == [f"ORPHAN_QUEUE:{H3}"]
    assert state["changes"]["since_run_id"] == "night-2"
    assert (state["approval"]["run_id"], state["approval"]["files"]) == ("night-3", 1)
    (rest,) = state["quarantine"]
    assert (rest["run_id"], rest["files"], rest["bytes"], rest["grace_is_over"]) == ("night-2", 1, 5 * GIB, False)
    forecast = state["forecast"]
    # 7, 8, 9 GiB, then 13 below oldWALs and 5 in the quarantine
    assert (forecast["bytes"], forecast["growth_per_day"]) == (18 * GIB, round(3.4 * GIB))
    assert "By peer, and what would free it:" in text
    assert "peer 2 (DISABLED); frees 12.0 GiB: enable_peer '2'" in text
    assert "Waits for approval until 2024-10-08 02:00 UTC: 1 file, 1.0 GiB of run night-3" in text
    assert "In the quarantine: 1 file, 5.0 GiB of run night-2; purge may delete them from 2024-10-13 03:00 UTC" in text
    assert "The disk is full 24 d 2 h after the listing, on 2024-10-31: 18.0 GiB of 100.0 GiB are used." in text
    assert "  walsafe clean --config FILE --run-id night-3 --execute" in text
    assert len(text.splitlines()) <= 45
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.promise("a-date-is-one-night")
def test_a_date_with_several_runs_is_one_night(tmp_path: Path) -> None:
    """The second day has a run by hand after its night, and the third, the newest, is itself a run by hand."""
    for night, size in ((0, 1), (1, 2), (1.5, 3), (2, 7), (2.5, 4)):
        file = verdict(night, "a.1", "PENDING", size=size * GIB)
        write_night(tmp_path, night, [{**file, "wal_group": "g", "wal_timestamp": 9}])
    now = at(2.5) + HOUR_MS
    result, text = ask(tmp_path, now=now)
    state = result["state"]
    assert (state["run_id"], state["changes"]["since_run_id"], state["changes"]["bytes"]) == (
        "night-2.5",
        "night-1.5",
        GIB,
    )
    assert "New since 2024-10-05 14:00 UTC (run night-1.5):" in text
    assert state["forecast"]["nights"] == 3
    (holder,) = ask(tmp_path, "a.1", now=now)[0]["files"][0]["holders"]
    assert (holder["nights"], holder["since"][:13]) == (3, "2024-10-04T02")
    trend = ask(tmp_path, peer="2", now=now)[0]["peer"]["trend"]
    assert [one["bytes"] // GIB for one in trend] == [1, 3, 4]


@pytest.mark.promise("answer-before-the-pause")
def test_an_answer_comes_before_the_pause(tmp_path: Path) -> None:
    write_night(tmp_path, 0, [verdict(0, "a.1", "PENDING")])
    refused = {"job": "reconcile", "mode": "NIGHTLY", "status": "REFUSED", "reason": "order of steps"}
    append(tmp_path, RUNS, [identity(1) | refused | {"files_started_at": at(1), "at": at(1) + 9}])
    for text in (ask(tmp_path, "a.1")[1], ask(tmp_path, peer="2")[1], ask(tmp_path, server="h1")[1]):
        answer, _, pause = text.rstrip("\n").rpartition("\n\n")
        assert answer.startswith(("oldWALs/a.1\n", "peer 2\n", f"server {H1}\n"))
        assert "Clean-up is paused" not in answer
        assert pause.startswith("Clean-up is paused: the newest run of cluster prod-a, night-1, was REFUSED")
        assert pause.endswith("explain without a peer, server or file shows what to do.")
        assert "\n" not in pause


def test_the_cause_of_a_pause_is_as_wide_as_the_screen_and_not_cut(tmp_path: Path) -> None:
    write_night(tmp_path, 0, [verdict(0, "a.1", "PENDING")])
    reason = "the capture listed the files before it had read the queues, so a queue may have moved since"
    refused = {"job": "reconcile", "mode": "NIGHTLY", "status": "REFUSED", "reason": reason}
    times = {"files_started_at": FIRST + DAY_MS, "at": FIRST + DAY_MS + 9}
    append(tmp_path, RUNS, [identity(1) | refused | times])
    result, text = ask(tmp_path)
    head = result["state"]["paused"]["text"].partition("\n")[0]
    assert len(head) > 100
    told = text.partition("\n\n")[0]
    assert " ".join(told.split()) == head
    assert max(map(len, text.splitlines())) <= 100


def test_an_acknowledgement_of_the_configuration_ends_the_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, config = tmp_path / "lake", tmp_path / "a.yaml"
    write_night(lake, 0, [verdict(0, "a.1", "PENDING")])
    moved = {"before": "w:9", "now": "w:3", "stood": {"need": 5, "wal": "w", "offset": 9}}
    rewound = finding("QUEUE_TABLE_REWOUND", "error", "2", "Peer 2 is back.", "Compare.", peer_id="2", **moved)
    append(lake, FINDINGS, [table_row(key(0), rewound)])
    context = JobContext("explain", At(LAST))
    monkeypatch.setattr(context, "lake", lambda _uri: reader(lake))
    for known, paused in (("OTHER", True), (rewound.key, False)):
        config.write_text(f"findings: {{acknowledged: [{{key: '{known}', reason: restored, until: 2024-12-31}}]}}\n")
        args = command_line.parse(["explain", "--lake", str(lake), "--config", str(config), "--peer", "2"]).args
        assert ("Clean-up is paused" in JOBS["explain"].load().run(args, context).text) == paused


def test_a_finding_that_the_configuration_acknowledges_is_not_open(tmp_path: Path) -> None:
    write_night(tmp_path, 0, [verdict(0, "a.1", "PENDING")], alarm=H3)
    known = Acknowledgement(f"ORPHAN_QUEUE:{H3}", "known", LAST + DAY_MS)
    for now, errors in ((LAST, "0 errors"), (LAST + 2 * DAY_MS, "1 error")):
        result, text = ask(tmp_path, acknowledged=[known], now=now)
        assert result["state"]["findings"][0]["acknowledged"] == (errors == "0 errors")
        assert f"Open findings: {errors}, 1 warning" in text


def test_without_a_section_clean_nothing_waits_for_approval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake, config = tmp_path / "lake", tmp_path / "a.yaml"
    write_night(lake, 0, [verdict(0, "a.1", "REPLICATED")])
    context = JobContext("explain", At(FIRST + HOUR_MS))
    monkeypatch.setattr(context, "lake", lambda _uri: reader(lake))
    quarantine = "clean: {quarantine: 'hdfs://ns1/quarantine'}\n"
    for text, waits in ((quarantine, True), ("cluster: prod-a\n", False), (None, True)):
        config.write_text(text or "")
        words = ["explain", "--lake", str(lake), *(("--config", str(config)) if text else ())]
        answer = JOBS["explain"].load().run(command_line.parse(words).args, context)
        assert ("Waits for approval" in answer.text) == waits, text


def test_the_configuration_decides_what_waits_and_when_purge_may_begin(lake: Path) -> None:
    _, text = ask(lake, settings=StateSettings(grace_ms=HOUR_MS, automatic=True))
    told = (
        "1 file, 1.0 GiB of run night-3 may be cleaned until 2024-10-08 02:00 UTC. The next night lists these files "
        "again; to clean them now: walsafe clean --config FILE --run-id night-3 --execute"
    )
    assert told in " ".join(text.split())
    assert "purge may delete them now" in text
    assert "No forecast of a full disk: the key capacity of the configuration is not set." in text
    result, text = ask(lake, now=LAST + 2 * DAY_MS)
    assert result["state"]["approval"] is None, "the list has expired"
    assert "Waits for approval" not in text


def test_a_new_error_comes_before_a_new_warning(tmp_path: Path) -> None:
    write_night(tmp_path, 0, [verdict(0, "a.1", "PENDING")], growth=False)
    write_night(tmp_path, 1, [verdict(1, "a.1", "PENDING")], alarm=H3)
    result, text = ask(tmp_path)
    assert [one["code"] for one in result["state"]["changes"]["new_findings"]] == ["ORPHAN_QUEUE", "GROWTH"]
    assert "  + error ORPHAN_QUEUE" in text
    assert "  + warning GROWTH" not in text


def test_findings_of_a_run_come_back_as_every_output_has_them(tmp_path: Path) -> None:
    write_night(tmp_path, 0, [verdict(0, "a.1", "PENDING")], alarm=H3)
    (found,) = reader(tmp_path).findings([key(0)]).values()
    assert [row.code for row in found] == ["ORPHAN_QUEUE", "GROWTH"], "an error comes first, also in a night repeated"


def test_the_biggest_holder_keeps_its_remedy_and_one_that_frees_nothing_has_none(tmp_path: Path) -> None:
    write_night(tmp_path, 0, [verdict(0, "a.1", "PENDING")])
    remedy = " ".join(f"word{number}" for number in range(60))
    for number, (size, freed) in enumerate([(9, 1), (8, 0), (7, 1), (2, 1)], start=3):
        row = PinnedRow("peer", str(number), "ENABLED", None, None, None, 1, size * GIB, 0, 0, freed, freed)
        append(tmp_path, PINNED_BYTES, [table_row(key(0), replace(row, remedy=remedy))])
    result, text = ask(tmp_path)
    told = " ".join(text.split())
    assert len(result["state"]["peers"]) == 5
    assert "By peer, and what would free it (3 of 5 shown):" in told
    assert f"peer 3; frees 1 B: {remedy}" in told, "not cut"
    assert "peer 4; frees nothing alone 7.0 GiB" in told
    assert "peer 5; frees 1 B: word0" in told
    assert told.count("word59") == 1, "the others are cut"
    for peer, frees in (("3", "What frees 1 file, 1 B: word0"), ("4", "Frees nothing alone. To let it go on: word0")):
        _, text = ask(tmp_path, peer=peer)
        assert frees in " ".join(text.split())


def test_a_first_night_has_a_state_too(tmp_path: Path) -> None:
    write_night(tmp_path, 0, [verdict(0, "a.1", "PENDING")])
    result, text = ask(tmp_path)
    assert result["state"]["changes"] is None
    assert "It is the first night" in text
    assert "1 night is too few" in text
    assert result["state"]["approval"] is None, "nothing is deletable"
    with pytest.raises(UsageError, match="no two DONE runs"):
        ask(tmp_path, since=Since(0, is_day=True))


def test_of_a_cluster_that_was_never_decided_nobody_knows_the_findings(tmp_path: Path) -> None:
    write_night(tmp_path, 0, [verdict(0, "a.1", "PENDING")])
    (tmp_path / RUNS.name).rename(tmp_path / "runs-of-another-lake")
    refused = {"job": "reconcile", "mode": "NIGHTLY", "status": "REFUSED", "reason": "order of steps"}
    append(tmp_path, RUNS, [identity(0) | refused | {"files_started_at": at(0), "at": at(0) + 9}])
    result, text = ask(tmp_path)
    assert result["state"]["status"] == "REFUSED"
    assert "Findings: not looked for, because this snapshot was not decided.\n" in text
    assert "No open finding" not in text
    assert "first night" not in text


def test_an_unfinished_clean_is_said_and_waits_for_nobody(tmp_path: Path) -> None:
    write_night(tmp_path, 0, [verdict(0, "a.1", "REPLICATED")])
    started = identity(0) | {"action": "CLEAN", "attempt": "x", "status": "STARTED", "at": FIRST + HOUR_MS}
    append(tmp_path, CLEANUPS, [started])
    append(tmp_path, DELETIONS, [identity(0) | {"action": "CLEAN", "phase": "INTENT", "path": "a.1"}])
    result, text = ask(tmp_path)
    assert result["state"]["approval"] is None
    assert "Not finished: clean of run night-0, STARTED since 2024-10-04 03:00 UTC" in text
    append(tmp_path, CLEANUPS, [started | {"attempt": "y", "status": "REFUSED", "at": FIRST + 2 * HOUR_MS}])
    assert "Not finished: clean of run night-0, STARTED since 2024-10-04 03:00 UTC" in ask(tmp_path)[1]


def test_a_clean_that_stopped_is_said_of_the_newest_run_alone(tmp_path: Path) -> None:
    """With night.max_files each night's clean stops, and the newer list has the files that are left."""
    for night in range(2):
        write_night(tmp_path, night, [verdict(night, "a.1", "REPLICATED")])
        for action in ("CLEAN", "RESTORE") if night == 0 else ("CLEAN",):
            step = {"action": action, "attempt": f"{action} {night}", "status": "STOPPED", "at": at(night) + HOUR_MS}
            append(tmp_path, CLEANUPS, [identity(night) | step | {"done_files": 1}])
    unfinished = ask(tmp_path)[0]["state"]["unfinished"]
    assert {(one["action"], one["run_id"]) for one in unfinished} == {("RESTORE", "night-0"), ("CLEAN", "night-1")}


def test_a_clean_that_failed_without_moving_a_file_is_said_of_the_newest_run_alone(tmp_path: Path) -> None:
    write_night(tmp_path, 1, [verdict(1, "a.1", "REPLICATED")])
    for night in range(2):
        step = {"action": "CLEAN", "attempt": str(night), "status": "FAILED", "at": at(night) + HOUR_MS}
        append(tmp_path, CLEANUPS, [identity(night) | step])
    assert [one["run_id"] for one in ask(tmp_path)[0]["state"]["unfinished"]] == ["night-1"]


def test_the_newest_of_many_unfinished_attempts_are_on_the_screen(tmp_path: Path) -> None:
    write_night(tmp_path, 4, [verdict(4, "a.1", "REPLICATED")])
    for night in range(5):
        step = {"action": "CLEAN", "attempt": str(night), "status": "STARTED", "at": at(night) + HOUR_MS}
        append(tmp_path, CLEANUPS, [identity(night) | step])
        text = ask(tmp_path)[1]
        assert ("  … and 1 earlier\n" in text) == (night == 3)
    assert [line.split()[5] for line in text.splitlines() if line.startswith("Not finished")] == [
        f"night-{night}," for night in (2, 3, 4)
    ]
    assert "  … and 2 earlier\n" in text


@pytest.mark.parametrize("ended", ["REFUSED", "STOPPED", "FAILED", "DONE"])
def test_a_list_whose_clean_ended_before_it_touched_a_file_still_waits(tmp_path: Path, ended: str) -> None:
    write_night(tmp_path, 0, [verdict(0, "a.1", "REPLICATED")])
    step = identity(0) | {"action": "CLEAN", "attempt": "x"}
    times = [("STARTED", FIRST + HOUR_MS), (ended, FIRST + HOUR_MS + 1)]
    append(tmp_path, CLEANUPS, [step | {"status": status, "at": at_} for status, at_ in times])
    result, text = ask(tmp_path, now=FIRST + 2 * HOUR_MS)
    assert result["state"]["approval"]["run_id"] == "night-0"
    assert len(result["state"]["unfinished"]) == (ended == "FAILED")
    assert "Waits for approval" in text
