"""Nights for the HTML page: a quiet one, and a bad one with many findings and queues."""

from dataclasses import replace

from pipelines.lake.run_summary import (
    EarlierNights,
    FindingRow,
    NightTotal,
    PinnedRow,
    RunSummary,
    VerdictTotal,
)

DAY = 86_400_000
NOW = 1_795_224_000_000
GIB = 1 << 30
HOST = "rs{:02}.example.org,16020,1791719536886"

QUIET = RunSummary(
    cluster="prod-a",
    run_id="quiet",
    status="DONE",
    mode="NIGHTLY",
    exit_code=0,
    reason=None,
    files_started_ms=NOW,
    totals=(
        VerdictTotal("DELETABLE", "REPLICATED", "DELETE", 1200, 30 * GIB),
        VerdictTotal("HELD", "TOO_YOUNG", "KEEP", 8, 2 * GIB),
    ),
    list_uri="file:/lists/prod-a/quiet",
    lake_uri="file:/lake",
)


def finding(number: int, severity: str, code: str, **more: object) -> FindingRow:
    subject = f"search/{HOST.format(number)}"
    row = FindingRow(
        f"{code}:{subject}", code, severity, subject, "search", None, f"Queue {number} of {subject} has a long name.",
        "{}", f"Do this about queue {number}.", number, number * GIB, NOW - DAY, 2, False,
    )  # fmt: skip
    return replace(row, **more)


def queue(number: int, peer: str, size: int) -> PinnedRow:
    host = HOST.format(number)
    return PinnedRow(
        "queue", peer, "DISABLED", host, host, None, number, size, 0, 0, number, size, None, number * DAY, "enable_peer"
    )


BAD = replace(
    QUIET,
    run_id="bad",
    exit_code=5,
    totals=(
        VerdictTotal("DELETABLE", "REPLICATED", "DELETE", 1200, 30 * GIB),
        VerdictTotal("HELD", "PENDING", "KEEP", 90_000, 7000 * GIB),
        VerdictTotal("HELD", "PENDING", "DELETE", 10, 5 * GIB),
        VerdictTotal("HELD", "REPLICATION_TABLE_WAL", "KEEP", 335, GIB),
    ),
    pinned=(
        *(
            PinnedRow("peer", peer, "DISABLED", None, None, None, 9000, size, 0, 0, 9000, size, NOW, DAY, "enable_peer")
            for peer, size in (("search", 6000 * GIB), ("dr_west", 1000 * GIB))
        ),
        *(queue(number, ("search", "dr_west")[number % 2], number * GIB) for number in range(1, 61)),
    ),
    findings=(
        finding(1, "error", "QUEUE_TABLE_REWOUND", is_new=True, nights=1),
        *(finding(number, "error", "MISSING_WAL") for number in range(2, 12)),
        *(finding(number, "warning", "QUEUE_STALLED") for number in range(12, 70)),
        finding(70, "warning", "GROWTH", acknowledged=True, acknowledged_reason="OPS-1"),
        finding(71, "info", "LEAKED_REP_WAL", files=None, bytes=None),
    ),
    history=EarlierNights(
        by_reason=tuple(
            NightTotal(NOW - n * DAY, group, 5, (40 - n) * size)
            for n in range(30, 0, -1)
            for group, size in (("HELD PENDING", 100 * GIB), ("DELETABLE REPLICATED", GIB))
        ),
        by_peer=tuple(NightTotal(NOW - n * DAY, "search", 5, (40 - n) * 100 * GIB) for n in range(30, 0, -1)),
        nights=tuple(NOW - n * DAY for n in range(30, 0, -1)),
        findings=(
            *(finding(number, "error", "MISSING_WAL") for number in range(2, 12)),
            *(finding(number, "warning", "QUEUE_STALLED") for number in range(12, 70)),
            finding(70, "warning", "GROWTH"),
            finding(71, "info", "LEAKED_REP_WAL"),
            finding(99, "error", "POISON_FILE"),
        ),
    ),
)
