"""Nights in a lake that deltalake writes, and what `explain` says of them: no JVM."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipelines.common.instants import DAY_MS, HOUR_MS
from pipelines.lake.findings import finding
from pipelines.lake.run_summary import PinnedRow, QueueOffsetRow, RunKey, VerdictTotal, table_row
from pipelines.reconcile.explain.explain import ExplainRequest, explain
from schemas.cleanups import CLEANUPS
from schemas.deletions import DELETIONS
from schemas.findings import FINDINGS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.runs import RUNS
from schemas.verdict_changes import VERDICT_CHANGES
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.plain_lake import append, reader
from tests.labs.small_cluster import At

FIRST = 20_000 * DAY_MS + 2 * HOUR_MS
LAST = FIRST + 3 * DAY_MS
H1, H2, H3 = "h1.example.org,16020,5", "h2.example.org,16020,6", "h3.example.org,16020,7"
GIB = 1 << 30
Json = Mapping[str, Any]


def at(night: float) -> int:
    return FIRST + int(night * DAY_MS)


def key(night: float) -> RunKey:
    """A run at half past a night is of the same date."""
    return RunKey.of("prod-a", f"night-{night}", at(night))


def identity(night: float) -> dict[str, object]:
    return {"cluster": key(night).cluster, "run_id": key(night).run_id, "run_date": key(night).run_date}


def verdict(night: float, name: str, reason: str, server: str = H1, size: int = GIB, peer: str = "2") -> Json:
    held = reason == "PENDING"
    holder = {"peer_id": peer, "owner": server, "source": server, "wal": "w", "offset": 3}
    return identity(night) | {
        "path": f"oldWALs/{name}",
        "server": server,
        "length": size,
        "verdict": "HELD" if held else "DELETABLE",
        "reason": reason,
        "blocking": [holder] if held else [],
    }


def changes(night: float, before: Sequence[Json], after: Sequence[Json]) -> list[Json]:
    """The rows of `verdict_changes` of a night."""

    def answers(files: Sequence[Json]) -> dict[str, tuple[str, str]]:
        return {one["path"]: (one["verdict"], one["reason"]) for one in files}

    sizes = {one["path"]: one["length"] for one in (*before, *after)}
    old, new, nothing = answers(before), answers(after), (None, None)
    moves = {path: (*old.get(path, nothing), *new.get(path, nothing)) for path in sizes}
    files, names = Counter(moves.values()), ("from_verdict", "from_reason", "to_verdict", "to_reason")
    return [
        identity(night)
        | {"previous_run_id": key(night - 1).run_id, **dict(zip(names, move, strict=True)), "files": count}
        | {"bytes": sum(sizes[path] for path in sizes if moves[path] == move)}
        for move, count in files.items()
        if move[:2] != move[2:]
    ]


def write_night(
    lake: Path,
    night: float,
    files: list[Json],
    *,
    before: Sequence[Json] = (),
    state: str = "ENABLED",
    alarm: str | None = None,
    growth: bool = True,
    group: str | None = "g",
) -> None:
    """A night whose small tables agree with its files; `before` are those of the night before.

    Its queues stand in a group; without one, they begin, and need everything.
    """
    held = [one for one in files if one["verdict"] == "HELD"]
    free = [one for one in files if one["verdict"] == "DELETABLE"]
    size, freed = sum(one["length"] for one in held), sum(one["length"] for one in free)
    totals = [
        VerdictTotal("HELD", "PENDING", "KEEP", len(held), size),
        VerdictTotal("DELETABLE", "REPLICATED", "DELETE", len(free), freed),
    ]
    peer = PinnedRow("peer", "2", state, None, None, None, len(held), size, 0, 0, len(held), size)
    peer = replace(peer, remedy="enable_peer '2'")
    owners = sorted({str(one["server"]) for one in held})
    stands = (group, "w", 3, 5) if group else (None, None, None, -1)
    queues = [QueueOffsetRow("2", True, owner, owner, False, *stands, 1, GIB) for owner in owners]
    pins = [peer, *(PinnedRow("queue", "2", state, owner, owner, None, 1, GIB, 0, 0, 1, GIB) for owner in owners)]
    alarms = [
        finding(
            "GROWTH", "warning", "2", "peer 2 holds more each night", "enable it", peer_id="2", bytes_by_night=[1, 2]
        )
    ][: int(growth)]
    if alarm is not None:
        left = {"server": alarm, "cause": "dead owner"}
        alarms.append(finding("ORPHAN_QUEUE", "error", alarm, f"{alarm} left a queue", "remove it", **left))
    run = {
        "job": "reconcile", "mode": "NIGHTLY", "files_started_at": at(night), "files": len(files),
        "bytes": size + freed, "deletable_files": len(free), "deletable_bytes": freed, "list_uri": f"/lists/{night}",
        "not_after": at(night + 1), "peer_ids": ["1", "2"] if night > 1 else ["2"],
    }  # fmt: skip
    append(lake, WAL_VERDICTS, files)
    if night:
        append(lake, VERDICT_CHANGES, changes(night, before, files))
    append(lake, VERDICT_TOTALS, [table_row(key(night), row) for row in totals])
    append(lake, PINNED_BYTES, [table_row(key(night), row) for row in pins])
    append(lake, QUEUE_OFFSETS, [table_row(key(night), row) for row in queues])
    append(lake, FINDINGS, [table_row(key(night), row) for row in alarms])
    append(lake, RUNS, [identity(night) | run | {"status": "DONE", "at": at(night) + 9}])


def ask(lake: Path, *paths: str, now: int = LAST + HOUR_MS, **more: Any) -> tuple[Any, str]:  # noqa: ANN401 - JSON
    outcome = explain(ExplainRequest("prod-a", paths, **more), reader(lake), At(now))
    assert outcome.exit_code == 0
    return json.loads(json.dumps(outcome.result)), outcome.text


def four_nights(folder: Path) -> Path:
    """Writes four nights; on the last one a server and a finding are new, and what was deletable has been cleaned."""
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
