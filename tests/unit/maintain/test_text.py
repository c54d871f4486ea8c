"""What maintain says of its answer, in a rehearsal and after the work."""

from typing import Any

from pipelines.common.instants import DAY_MS
from pipelines.maintain.text import maintain_text

LEFT = {"partitions": 3, "rows": 1200, "files": 5, "bytes": 2048}
DROPPED = {"partitions": 2, "rows": 8, "files": 4, "bytes": 1024, "first": "2026-01-01", "last": "2026-01-02"}
TABLE = {
    "table": "wal_verdicts",
    "now": LEFT,
    "keep_ms": 90 * DAY_MS,
    "dropped": DROPPED,
    "kept_old_nights": 1,
    "compacted": {"partitions": 1, "files": 12, "bytes": 3072, "files_after": 1},
    "new_grace_ms": 7 * DAY_MS,
    "removed": {"files": 1, "bytes": 512},
}


def text(**changed: object) -> list[str]:
    answer: dict[str, Any] = {
        "executed": True,
        "tables": [],
        "expired": [],
        "left_alone": [],
        "errors": [],
        "freed_bytes": 0,
        "later_bytes": 0,
    }
    return maintain_text(answer | changed).splitlines()


def entry(kind: str, number: int) -> dict[str, object]:
    return {"kind": kind, "uri": f"file:/{kind}/{number}", "since": "2026-01-01T00:00:00Z", "bytes": 10}


def test_a_table_is_told_with_all_that_was_done() -> None:
    assert text(tables=[TABLE])[:6] == [
        "wal_verdicts: 3 nights, 1,200 rows, 5 files, 2.0 KiB",
        "  retention: dropped 2 nights older than 90 d 0 h (2026-01-01 to 2026-01-02), 8 rows, 4 files, 1.0 KiB",
        "  retention: 1 older night kept, still needed or just written",
        "  compaction: merged 12 small files, 3.0 KiB, of 1 night into about 1",
        "  vacuum: set the grace of removed files to 7 d 0 h",
        "  vacuum: removed 1 file, 512 B",
    ]


def test_a_rehearsal_says_first_that_nothing_was_changed() -> None:
    lines = text(executed=False, tables=[TABLE], expired=[entry("list", 1)])
    assert lines[0] == "Rehearsal: nothing was changed. --execute does what is listed here."
    did = (": dropped ", ": merged ", ": set ", ": removed ", "Removed ")
    assert not [line for line in lines if any(word in line for word in did)]
    assert "Removes 1 list, 10 B:" in lines
    assert lines[-1].startswith("Would free: ")


def test_where_nothing_was_done_nothing_is_told_but_the_size() -> None:
    quiet = {"table": "runs", "now": LEFT, "keep_ms": DAY_MS, "dropped": DROPPED | {"partitions": 0}}
    assert text(tables=[quiet]) == [
        "runs: 3 nights, 1,200 rows, 5 files, 2.0 KiB",
        "",
        "Freed: 0 B. VACUUM frees 0 B more after the grace for readers.",
    ]


def test_rows_that_no_statistics_count_are_said_to_be_uncounted() -> None:
    lines = text(tables=[{"table": "runs", "now": LEFT | {"rows": None}}])
    assert lines[0] == "runs: 3 nights, rows not counted, 5 files, 2.0 KiB"


def test_one_night_is_named_once() -> None:
    one = DROPPED | {"partitions": 1, "last": "2026-01-01"}
    assert "1 night older than 90 d 0 h (2026-01-01)," in text(tables=[TABLE | {"dropped": one}])[1]


def test_a_table_that_failed_points_to_the_error() -> None:
    lines = text(tables=[{"table": "runs"}], errors=[{"of": "runs", "message": "its log is damaged"}])
    assert lines[0] == "runs: not maintained, see below"
    assert "! runs: its log is damaged" in lines


def test_each_kind_of_entry_is_told_by_itself_and_ten_of_it_by_name() -> None:
    many = [entry("snapshot", number) for number in range(12)]
    lines = text(expired=[*many, entry("leftover", 1), entry("leftover", 2)])
    named = [line for line in lines if line.startswith("  file:/snapshot/")]
    assert named == [f"  file:/snapshot/{number} (2026-01-01, 10 B)" for number in range(10)]
    assert "Removed 12 snapshots, 120 B:" in lines
    assert "  … and 2 more (--output json has them all)" in lines
    assert "Removed 2 left-over entries, 20 B:" in lines


def test_what_is_left_alone_says_why() -> None:
    lines = text(left_alone=[{"uri": "file:/lists/mine", "why": "it has no manifest.json"}])
    assert lines[1:3] == ["Left alone: 1 other entry:", "  file:/lists/mine: it has no manifest.json"]


def test_the_last_line_tells_what_is_free_now_and_what_later() -> None:
    assert text(freed_bytes=1 << 20, later_bytes=1 << 30)[-1] == (
        "Freed: 1.0 MiB. VACUUM frees 1.0 GiB more after the grace for readers."
    )
