"""What the demo prints."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.demo import text as demo_words
from jobs.demo.places import DemoOutput, DemoPlaces
from jobs.demo.text import DemoCommand, demo_commands, demo_text
from pipelines.common.instants import DAY_MS
from pipelines.decide.reason_texts import REASON_TEXTS
from pipelines.decide.rule.verdict import Reason
from pipelines.lake.run_summary import FindingRow, PinnedRow, RunSummary, VerdictTotal
from tests.labs.places import PROJECT

GIB = 1 << 30
RS1, RS2 = "rs01.example.org,16020,1", "rs02.example.org,16020,2"


def finding(code: str, subject: str, severity: str = "error") -> FindingRow:
    return FindingRow(
        f"{code}:{subject}", code, severity, subject, None, None, f"{subject} is odd.", "{}", "Look at it.", 1, 2
    )


def pin(level: str, peer: str, owner: str | None, source: str | None, size: int) -> PinnedRow:
    return PinnedRow(
        level, peer, "DISABLED", owner, source, None, 3, size, 1, 5, 3, size, 17, 8 * DAY_MS, f"enable_peer '{peer}'"
    )


def night(files: int, findings: tuple[FindingRow, ...] = ()) -> RunSummary:
    return RunSummary(
        cluster="demo",
        run_id="r",
        status="DONE",
        mode="NIGHTLY",
        exit_code=0,
        reason=None,
        files_started_ms=1_790_000_000_000,
        totals=(
            VerdictTotal("DELETABLE", "REPLICATED", "DELETE", files, 512 * GIB),
            VerdictTotal("HELD", "PENDING", "KEEP", 20_000, 1536 * GIB),
            VerdictTotal("HELD", "PENDING", "DELETE", 1, GIB),
        ),
        pinned=(
            pin("peer", "dr", None, None, 700 * GIB),
            pin("queue", "dr", RS1, RS1, 4 * GIB),
            pin("queue", "dr", RS1, RS2, 3 * GIB),
            pin("queue", "dr", None, RS2, 2 * GIB),
        ),
        findings=findings,
    )


def text(*nights: RunSummary) -> str:
    places = (DemoOutput("tables (Delta)", "/out/lake"), DemoOutput("lists", "/out/lists"))
    command = DemoCommand(
        "who holds a file?", ("./spark-submit.sh", "explain", "--lake", "/o u/lake", "oldWALs/a%2Cb.1")
    )
    return demo_text(nights, 12.4, places, (command,))


def test_files_and_bytes_of_every_night_stand_in_aligned_columns() -> None:
    lines = text(night(1_000), night(5_114)).splitlines()
    table = lines[lines.index("Files in oldWALs, night by night") + 1 :][:3]
    assert table[1].split() == ["night", "1", "21,001", "2.0", "TiB", "1,000", "512.0", "GiB", "20,001", "1.5", "TiB"]
    assert len({line.rfind("TiB") for line in table[1:]}) == 1
    assert len({len(line) for line in table}) == 1


def test_a_reason_is_summed_over_hbases_verdicts_and_said_in_words() -> None:
    (line,) = [line for line in text(night(1)).splitlines() if "PENDING" in line]
    assert "20,001" in line
    assert "a queue still has to ship it" in line


def test_holders_say_what_would_free_them() -> None:
    lines = text(night(1)).splitlines()
    start = next(number for number, line in enumerate(lines) if "peer dr (DISABLED)" in line)
    peer, *queues = lines[start : start + 5]
    assert peer.split()[3:] == ["700.0", "GiB", "700.0", "GiB", "700.0", "GiB", "8", "d", "0", "h"]
    assert [line.split("  ")[2].strip() for line in queues[:3]] == [
        "queue of rs01",
        "queue of rs01, claimed from rs02",
        "no queue of rs02 yet",
    ]
    assert queues[3] == "  -> enable_peer 'dr'"


def test_findings_of_one_kind_are_shown_once_with_their_number() -> None:
    shown = text(
        night(1, (finding("MISSING_WAL", "a"), finding("MISSING_WAL", "b"), finding("GROWTH", "c", "warning")))
    )
    assert "MISSING_WAL (and 1 more)" in shown
    assert "a is odd." in shown
    assert "b is odd." not in shown
    assert shown.index("MISSING_WAL") < shown.index("warning  GROWTH")
    assert "-> Look at it." in shown


def test_no_finding_is_said_as_well() -> None:
    assert "Findings on night 1, worst first\n  none\n" in text(night(1))


@pytest.mark.promise("demo-commands-work")
def test_commands_survive_pasting() -> None:
    assert "  ./spark-submit.sh explain --lake '/o u/lake' oldWALs/a%2Cb.1\n" in text(night(1))


@pytest.mark.promise("demo-commands-work")
def test_a_wheel_names_its_own_command_and_nothing_of_a_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo = DemoPlaces(tmp_path / "demo")
    monkeypatch.setattr(demo_words, "PROGRAM", "walsafe")
    monkeypatch.setattr(sys, "argv", [str(PROJECT / "jobs" / "main.py")])
    of_clone = [one.words for one in demo_commands(demo, [night(1)], "oldWALs/a.1")]
    assert {Path(words[0]).name for words in of_clone} == {"spark-submit.sh", "env"}
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "walsafe" / "jobs" / "main.py")])
    of_wheel = [one.words for one in demo_commands(demo, [night(1)], "oldWALs/a.1")]
    assert of_wheel == [("walsafe", *words[1:]) for words in of_clone[:-1]]
    assert of_wheel[-1] == ("walsafe", "clean", "--config", f"{tmp_path}/demo/demo.yaml", "--run-id", "r")


def test_every_reason_is_shown_with_its_short_words() -> None:
    totals = tuple(VerdictTotal("HELD", reason.value, "KEEP", 1, GIB) for reason in Reason)
    lines = text(replace(night(1), totals=totals)).splitlines()
    for reason in Reason:
        (line,) = [line for line in lines if line.startswith(f"  HELD     {reason.value} ")]
        assert line.endswith(f"  {REASON_TEXTS[reason.value].short}")
