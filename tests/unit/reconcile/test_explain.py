"""The state of a cluster and what changed since, from lakes that deltalake wrote: no JVM."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable

from jobs.cli import command_line
from jobs.cli.context import JobContext
from jobs.cli.registry import JOBS
from pipelines.common.errors import UsageError
from pipelines.common.instants import DAY_MS, HOUR_MS
from pipelines.lake.findings import Acknowledgement, finding
from pipelines.lake.run_summary import PinnedRow, QueueOffsetRow, table_row
from pipelines.reconcile.explain.since import Since, since_of
from pipelines.reconcile.explain.state import StateSettings
from pipelines.reconcile.peer_states import PeerRow
from schemas.cleanups import CLEANUPS
from schemas.deletions import DELETIONS
from schemas.findings import FINDINGS
from schemas.peers import PEERS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.runs import RUNS
from schemas.verdict_changes import VERDICT_CHANGES
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.explained_nights import (
    FIRST,
    GIB,
    H1,
    H2,
    H3,
    LAST,
    Json,
    ask,
    at,
    changes,
    identity,
    key,
    verdict,
    write_night,
)
from tests.labs.plain_lake import append, reader
from tests.labs.small_cluster import At


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four nights; on the last one a server and a finding are new, and what was deletable has been cleaned."""
    folder = tmp_path_factory.mktemp("nights")
    always = [("a.1", "PENDING"), ("a.2", "PENDING")]
    before: list[Json] = []
    for night in range(3):
        files = [verdict(night, name, reason) for name, reason in always]
        files += [verdict(night, f"b.{number}", "PENDING") for number in range(night)]
        files.append(verdict(night, "gone.1", "REPLICATED", H2, 5 * GIB))
        write_night(folder, night, files, before=before)
        before = files
    last = [verdict(3, "a.1", "REPLICATED"), verdict(3, "a.2", "PENDING"), verdict(3, "new.1", "PENDING", H3, 9 * GIB)]
    last += [verdict(3, f"b.{number}", "PENDING") for number in range(2)]
    write_night(folder, 3, last, before=before, state="DISABLED", alarm=H3)
    cleaned_at = at(2) + HOUR_MS
    step = identity(2) | {"action": "CLEAN", "attempt": "x"}
    append(
        folder,
        CLEANUPS,
        [
            step | {"status": "STARTED", "at": cleaned_at},
            step | {"status": "DONE", "at": cleaned_at, "done_files": 1, "done_bytes": 5 * GIB},
        ],
    )
    append(
        folder,
        DELETIONS,
        [
            step
            | {"path": "oldWALs/gone.1", "phase": "OUTCOME", "outcome": "MOVED", "length": 5 * GIB, "at": cleaned_at}
        ],
    )
    return folder


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
    for peer, frees in (("3", "What frees 1 file, 1 B: word0"), ("4", "Frees nothing alone")):
        _, text = ask(tmp_path, peer=peer)
        assert (frees in text, "word0" in text) == (True, peer == "3")


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


@pytest.mark.parametrize("ended", ["REFUSED", "STOPPED"])
def test_a_list_whose_clean_ended_before_it_moved_a_file_still_waits(tmp_path: Path, ended: str) -> None:
    write_night(tmp_path, 0, [verdict(0, "a.1", "REPLICATED")])
    step = identity(0) | {"action": "CLEAN", "attempt": "x"}
    times = [("STARTED", FIRST + HOUR_MS), (ended, FIRST + HOUR_MS + 1)]
    append(tmp_path, CLEANUPS, [step | {"status": status, "at": at_} for status, at_ in times])
    result, text = ask(tmp_path, now=FIRST + 2 * HOUR_MS)
    assert result["state"]["approval"]["run_id"] == "night-0"
    assert result["state"]["unfinished"] == []
    assert "Waits for approval" in text


@pytest.mark.promise("explain-since")
def test_what_changed_in_the_cluster_since_a_day(lake: Path) -> None:
    result, text = ask(lake, since=since_of("2024-10-05"))
    (change,) = result["changes"]
    assert change["since_run_id"] == "night-1"
    assert [(one["was"], one["became"], one["files"], one["bytes"]) for one in change["verdicts"]] == [
        (None, "HELD PENDING", 2, 10 * GIB),
        ("DELETABLE REPLICATED", None, 1, 5 * GIB),
        ("HELD PENDING", "DELETABLE REPLICATED", 1, GIB),
    ]
    assert "Verdicts, added up over 2 nights; a file that changed twice counts twice:" in text
    assert (change["new_servers"], change["gone_servers"]) == ([H3], [H2])
    assert (change["new_peers"], change["gone_peers"]) == (["1"], [])
    assert [one["owner"] for one in change["new_queues"]] == [H3]
    assert [(one["action"], one["files"], one["status"]) for one in change["cleanup"]] == [("CLEAN", 1, "DONE")]
    assert "compared with 2024-10-05 02:00 UTC (run night-1)" in text
    assert "  clean of run night-2 at 2024-10-06 03:00 UTC: 1 file, 5.0 GiB (DONE)" in text
    assert "HELD PENDING -> DELETABLE REPLICATED" in text


def test_a_file_that_changes_twice_counts_on_both_nights_and_a_night_decided_again_once(tmp_path: Path) -> None:
    nights = [[verdict(night, "a.1", reason)] for night, reason in enumerate(("PENDING", "REPLICATED", "PENDING"))]
    for night, files in enumerate(nights):
        write_night(tmp_path, night, files, before=nights[night - 1])
    again = {"run_id": "decided-again", "status": "DONE", "job": "reconcile", "files_started_at": FIRST + DAY_MS}
    append(tmp_path, RUNS, [identity(1) | again | {"at": FIRST + DAY_MS + 99}])
    append(tmp_path, VERDICT_CHANGES, [one | {"run_id": "decided-again"} for one in changes(1, nights[0], nights[1])])
    (change,) = ask(tmp_path, since=since_of("2024-10-04"))[0]["changes"]
    assert [(one["was"], one["became"], one["files"]) for one in change["verdicts"]] == [
        ("DELETABLE REPLICATED", "HELD PENDING", 1),
        ("HELD PENDING", "DELETABLE REPLICATED", 1),
    ]
    assert change["nights"] == 2


@pytest.mark.parametrize("lacking", ["table", "night"])
def test_verdicts_that_do_not_add_up_are_not_told(tmp_path: Path, lacking: str) -> None:
    nights = [[verdict(night, f"{one}.1", "PENDING") for one in range(1 + night)] for night in range(3)]
    for night, files in enumerate(nights):
        write_night(tmp_path, night, files, before=nights[night - 1])
    there = DeltaTable(tmp_path / VERDICT_CHANGES.name)
    if lacking == "night":
        there.delete("run_id = 'night-1'")
    else:
        shutil.rmtree(tmp_path / VERDICT_CHANGES.name)
    result, text = ask(tmp_path, since=since_of("2024-10-04"))
    assert result["changes"][0]["verdicts"] is None
    assert "  Verdicts: not known, because the table verdict_changes does not have every night since then." in text
    if lacking == "night":
        assert ask(tmp_path, since=since_of("2024-10-05"))[0]["changes"][0]["verdicts"]


@pytest.mark.promise("explain-since")
def test_what_changed_for_a_target(lake: Path) -> None:
    (change,) = ask(lake, peer="2", since=since_of("2024-10-06"))[0]["changes"]
    assert (change["was_state"], change["state"], change["bytes"]) == ("ENABLED", "DISABLED", 8 * GIB)
    assert [(one["was"], one["became"], one["files"], one["bytes"]) for one in change["verdicts"]] == [
        (None, "HELD", 1, 9 * GIB),
        ("HELD", None, 1, GIB),
    ]
    (change,) = ask(lake, server=H1, since=since_of("2024-10-06"))[0]["changes"]
    assert [(one["was"], one["became"]) for one in change["verdicts"]] == [("HELD PENDING", "DELETABLE REPLICATED")]
    assert (change["new_queues"], change["new_findings"], change["bytes"]) == ([], [], 0)
    result, text = ask(lake, "gone.1", "a.1", since=since_of("2024-10-06"))
    gone, free = result["changes"]
    assert (gone["was"], gone["became"], free["became"]) == ("DELETABLE REPLICATED", None, "DELETABLE REPLICATED")
    assert "  MOVED at 2024-10-06 03:00 UTC, by the list of run night-2" in text
    _, text = ask(lake, server=H3, since=since_of("2024-10-06"))
    assert f"  + error ORPHAN_QUEUE: {H3} left a queue" in text


@pytest.mark.parametrize(
    ("since", "run_id", "note"),
    [
        ("2024-10-06", "night-2", False),
        ("20241006", "night-2", False),
        ("2024-10-06T01:59z", "night-1", False),
        ("2024-10-06T01:59Z", "night-1", False),
        ("2024-10-06T04:00:00+02:00", "night-2", False),
        ("2024-10-06T02:00", "night-2", False),
        ("2024-10-01", "night-0", True),
    ],
)
def test_which_night_is_compared(lake: Path, since: str, run_id: str, note: bool) -> None:
    (change,) = ask(lake, since=since_of(since))[0]["changes"]
    assert change["since_run_id"] == run_id
    said = "explain looks back 40 days, and they have no DONE run of prod-a before 2024-10-01T00:00:00.000Z"
    assert (change["since_note"] or "").startswith(said) == note


@pytest.mark.parametrize("text", ["yesterday", "2024-13-01", "", "2024-10-06T25:00"])
def test_a_since_that_is_no_time_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="neither a day like"):
        since_of(text)


def test_a_since_after_the_newest_run_compares_nothing(lake: Path) -> None:
    with pytest.raises(UsageError, match="newest run, night-3"):
        ask(lake, since=since_of("2024-10-08"))


def test_what_only_removed_verdicts_could_tell_is_not_known(tmp_path: Path) -> None:
    """`maintain` removes the verdicts of old nights, and keeps their runs and small tables."""
    files = [verdict(0, "a.1", "PENDING"), verdict(0, "b.1", "REPLICATED", H2)]
    write_night(tmp_path, 0, files)
    write_night(tmp_path, 1, [one | identity(1) for one in files], before=files)
    DeltaTable(tmp_path / WAL_VERDICTS.name).delete("run_id = 'night-0'")
    since, now = since_of("2024-10-04"), at(1) + HOUR_MS
    (file,), text = (ask(tmp_path, "a.1", since=since, now=now)[0]["changes"], ask(tmp_path, "a.1", since=since)[1])
    assert (file["was"], file["became"], file["since_verdicts_known"]) == (None, "HELD PENDING", False)
    assert "! the lake no longer has the verdicts of run night-0 (maintain.keep.wal_verdicts)" in text
    assert "  not known -> HELD PENDING\n" in text
    for target in ({"peer": "2"}, {"server": H1}):
        result, text = ask(tmp_path, since=since, now=now, **target)
        assert result["changes"][0]["verdicts"] is None
        assert "  Verdicts: not known.\n" in text
        assert "not held ->" not in text
    (server,) = result["changes"]
    assert (server["files"], server["bytes"]) == (None, None)
    result, text = ask(tmp_path, since=since, now=now)
    (cluster,) = result["changes"]
    assert (cluster["new_servers"], cluster["gone_servers"], cluster["verdicts"]) == (None, None, [])
    assert "+ server" not in text


def test_sizes_of_a_night_whose_totals_are_gone_are_not_known(tmp_path: Path) -> None:
    for night in range(2):
        write_night(tmp_path, night, [verdict(night, "a.1", "PENDING")])
    for table in (VERDICT_TOTALS, PINNED_BYTES):
        DeltaTable(tmp_path / table.name).delete("run_id = 'night-0'")
    since, now = since_of("2024-10-04"), at(1) + HOUR_MS
    for target in ({}, {"peer": "2"}):
        result, text = ask(tmp_path, since=since, now=now, **target)
        assert (result["changes"][0]["files"], result["changes"][0]["bytes"]) == (None, None)
        assert "  Sizes: not known, because the lake does not have those of both nights.\n" in text
    result, text = ask(tmp_path, now=now)
    assert result["state"]["changes"]["bytes"] is None
    assert "  Sizes: not known" in text


def test_what_only_removed_verdicts_had_is_perhaps_unknown(tmp_path: Path) -> None:
    write_night(tmp_path, 0, [verdict(0, "a.1", "REPLICATED", H2)])
    write_night(tmp_path, 1, [verdict(1, "b.1", "PENDING")])
    DeltaTable(tmp_path / WAL_VERDICTS.name).delete("run_id = 'night-0'")
    since, now = since_of("2024-10-04"), at(1) + HOUR_MS
    with pytest.raises(
        UsageError, match=r": not among the files .*; the lake no longer has the verdicts of run night-0"
    ):
        ask(tmp_path, "a.1", since=since, now=now)
    with pytest.raises(UsageError, match=r": no queue and no file .*startcode; the lake no longer has the verdicts of"):
        ask(tmp_path, server=H2, since=since, now=now)


def test_a_target_of_either_night_is_known_and_any_other_is_an_error(lake: Path) -> None:
    since = since_of("2024-10-06")
    (gone,) = ask(lake, server=H2, since=since)[0]["changes"]
    assert [(one["was"], one["became"]) for one in gone["verdicts"]] == [("DELETABLE REPLICATED", None)]
    with pytest.raises(UsageError, match=r"server h9: no queue .* newest run of prod-a and in run night-2; write"):
        ask(lake, server="h9", since=since)
    with pytest.raises(
        UsageError, match=r"peer 9 neither exists .* in the runs night-2 and night-3; their peers: 1, 2$"
    ):
        ask(lake, peer="9", since=since)


def test_of_two_servers_that_a_name_fits_equally_the_one_of_the_newest_run_is_meant(tmp_path: Path) -> None:
    """It was started again between the nights."""
    again = H1.replace(",5", ",9")
    write_night(tmp_path, 0, [verdict(0, "a.1", "PENDING", H1)])
    write_night(tmp_path, 1, [verdict(1, "b.1", "PENDING", again)])
    assert ask(tmp_path, server="h1", since=since_of("2024-10-04"))[0]["changes"][0]["server"] == again


def test_a_night_of_which_nobody_knows_what_a_peer_held_is_not_one_with_nothing(tmp_path: Path) -> None:
    """`maintain` has removed `pinned_bytes` of the first two nights; on the second, no file waited for a peer."""
    for night, reason in enumerate(("PENDING", "REPLICATED", "PENDING", "PENDING")):
        write_night(tmp_path, night, [verdict(night, "a.1", reason)])
    DeltaTable(tmp_path / PINNED_BYTES.name).delete("run_id IN ('night-0', 'night-1')")
    trend = ask(tmp_path, peer="2")[0]["peer"]["trend"]
    assert [(one["listed_at"][:10], one["bytes"]) for one in trend] == [
        ("2024-10-05", 0),
        ("2024-10-06", GIB),
        ("2024-10-07", GIB),
    ]


def test_the_state_of_a_peer_that_holds_nothing_is_known(tmp_path: Path) -> None:
    """A peer that holds no archived file has no row in `pinned_bytes`."""
    for night, state in enumerate(("ENABLED", "DISABLED")):
        write_night(tmp_path, night, [verdict(night, "a.1", "PENDING")])
        queue = QueueOffsetRow("1", True, H1, H1, False, "g", "w", 3, 5, 0, 0)
        append(tmp_path, QUEUE_OFFSETS, [table_row(key(night), queue)])
        row = PeerRow("1", state, at(night), 1, None, *([None] * 5))
        append(tmp_path, PEERS, [table_row(key(night), row)])
    now = at(1) + HOUR_MS
    result, text = ask(tmp_path, peer="1", now=now)
    assert (result["peer"]["peer_state"], result["peer"]["files"]) == ("DISABLED", 0)
    assert text.startswith("peer 1 (DISABLED)\n")
    assert "  Disabled at least since 2024-10-05 02:00 UTC (1 night)\n" in text
    assert [one["bytes"] for one in result["peer"]["trend"]] == [0, 0], "a night on which it held nothing is a night"
    result, text = ask(tmp_path, peer="1", since=since_of("2024-10-04"), now=now)
    assert "  was ENABLED, is DISABLED\n" in text
    removed = identity(1) | {"run_id": "removed"}
    run = {"job": "reconcile", "status": "DONE", "files_started_at": at(1) + 9, "at": at(1) + 99, "peer_ids": ["2"]}
    append(tmp_path, RUNS, [removed | run])
    assert "  was ENABLED, is not there\n" in ask(tmp_path, peer="1", since=since_of("2024-10-04"), now=now)[1]
