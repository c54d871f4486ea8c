"""The state of a cluster: who holds most, what would free it, what is new, when the disk is full, what waits."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pipelines.common.instants import DEFAULT_GRACE_MS, format_instant, utc_day
from pipelines.lake.cleanup_history import CLEAN, CleanupStep, cleaned_last, cleanup_steps, quarantined
from pipelines.lake.findings import Acknowledgement
from pipelines.lake.forecast import NIGHTS, capacity_of, days_until_full, night_totals
from pipelines.lake.look_back import last_of_each_night
from pipelines.lake.night_changes import holding_servers
from pipelines.lake.query import rows_of
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import (
    DELETABLE,
    DONE,
    FAILED,
    HELD,
    REFUSED,
    STARTED,
    STOPPED,
    FindingRow,
    RunKey,
    VerdictTotal,
    by_reason,
    pinned_of,
)
from pipelines.reconcile.explain.changes import small_changes
from pipelines.reconcile.explain.holders import pinned_holder, way_out
from pipelines.reconcile.explain.runs import AnsweringRun, Nights
from pipelines.reconcile.explain.words import Json
from pipelines.reconcile.pause import is_acknowledged
from schemas.verdict_totals import VERDICT_TOTALS

SERVERS = 10


@dataclass(frozen=True, slots=True)
class StateSettings:
    """What the configuration says beside the lake.

    Attributes:
        capacity_bytes: bytes that oldWALs and the quarantine may take together; None = as the run recorded it.
        grace_ms: how long files rest before purge may delete them.
        automatic: whether each night itself cleans its own list.
        clean_command: what a person types before `--run-id` to clean; None = the configuration has no section `clean`.
    """

    capacity_bytes: int | None = None
    grace_ms: int = DEFAULT_GRACE_MS
    automatic: bool = False
    clean_command: str | None = "walsafe clean --config FILE"


def cluster_state(
    run: AnsweringRun,
    lake: LakeReader,
    settings: StateSettings,
    now: int,
    acknowledged: Sequence[Acknowledgement] = (),
) -> Json:
    """Returns the state of a cluster on its newest DONE night.

    Args:
        run: the run that answers.
        lake: reads the tables.
        settings: of the configuration.
        now: ms since the epoch.
        acknowledged: findings that the configuration acknowledges; those recorded by the run count too.
    """
    record, key = run.record, run.record.key
    totals = lake.by_run(VERDICT_TOTALS, [key], VerdictTotal).get(key, [])
    pinned = lake.pinned([key]).get(key.cluster, ())
    steps = cleanup_steps(lake, key.cluster, key.run_date)
    earlier = lake.histories({key.cluster: record.night}, NIGHTS - 1)[key.cluster]
    nights = night_totals(record.night, totals, earlier, steps) if record.status == DONE else ()
    stated = record.capacity_bytes if settings.capacity_bytes is None else settings.capacity_bytes
    return {
        **run.json(),
        "status": record.status,
        "mode": record.mode,
        "age_ms": now - record.night,
        "verdicts": [_verdict(verdict, totals) for verdict in (HELD, DELETABLE)],
        "reasons": _reasons(totals),
        "peers": [pinned_holder(row) for row in pinned_of("peer", pinned)],
        "queues": [pinned_holder(row) for row in pinned_of("queue", pinned)],
        "servers": [asdict(row) for row in holding_servers(lake, key, SERVERS)],
        "findings": [
            _finding(row, acknowledged=is_acknowledged(row, now, acknowledged))
            for row in lake.findings([key]).get(key.cluster, ())
        ],
        "changes": _changes(run, lake),
        "approval": _approval(run, lake, settings, now),
        "unfinished": [_unfinished(step) for step in steps if _is_unfinished(step, steps, key)],
        "quarantine": _quarantine(steps, settings.grace_ms, now),
        "forecast": days_until_full(nights, capacity_of(nights, stated, record.free_bytes)).document(),
    }


def _verdict(verdict: str, totals: list[VerdictTotal]) -> Json:
    rows = [row for row in totals if row.verdict == verdict]
    return {"verdict": verdict, "files": sum(row.files for row in rows), "bytes": sum(row.bytes for row in rows)}


def _reasons(totals: list[VerdictTotal]) -> list[Json]:
    return [
        {
            "verdict": verdict,
            "reason": reason,
            "files": files,
            "bytes": size,
            "way_out": way_out(verdict, reason),
        }
        for (verdict, reason), (files, size) in sorted(by_reason(totals).items(), key=lambda one: (-one[1][1], one[0]))
    ]


def _finding(row: FindingRow, *, acknowledged: bool) -> Json:
    return {
        "key": row.key,
        "code": row.code,
        "severity": row.severity,
        "is_new": row.is_new,
        "acknowledged": acknowledged,
        "since": None if row.first_seen is None else format_instant(row.first_seen),
        "message": row.message,
        "remedy": row.remedy,
        "bytes": row.bytes,
    }


def _changes(run: AnsweringRun, lake: LakeReader) -> Json | None:
    """Returns what the small tables know of changes since the night before; None = there is no such night.

    That is the last run of an earlier date: a run by hand in between is no night of its own.
    """
    record = run.record
    done = [one for one in lake.newest_runs(record.cluster) if one.status == DONE]
    earlier = last_of_each_night(done, lambda one: utc_day(one.night), utc_day(record.night))
    if record.status != DONE or not earlier:
        return None
    nights = Nights(earlier[0], run)
    return {
        "since": format_instant(nights.before.night),
        "since_run_id": nights.before.run_id,
        **small_changes(nights, lake),
    }


def _approval(run: AnsweringRun, lake: LakeReader, settings: StateSettings, now: int) -> Json | None:
    """Returns the list of the newest run if nobody has begun to clean it, and `clean` may still do so."""
    record = run.record
    over = record.not_after is not None and now > record.not_after
    if settings.clean_command is None or record.list_uri is None or not record.deletable_files or over:
        return None
    if cleaned_last(lake, rows_of([record.key])) is not None:
        return None
    return {
        "run_id": record.run_id,
        "files": record.deletable_files,
        "bytes": record.deletable_bytes,
        "not_after": None if record.not_after is None else format_instant(record.not_after),
        "automatic": settings.automatic,
        "command": f"{settings.clean_command} --run-id {record.run_id} --execute",
    }


def _is_unfinished(step: CleanupStep, steps: tuple[CleanupStep, ...], newest: RunKey) -> bool:
    """Returns whether this is the last attempt that began at its run, and it did not come to its end.

    A clean that stopped, or failed without moving a file, has ended once there is a newer run: the newer list has the
    files that are left.
    """
    ended = step.status == STOPPED or (step.status == FAILED and not step.files)
    if step.action == CLEAN and ended and step.run != newest:
        return False
    later = (one for one in steps if one.run == step.run and one.at > step.at)
    return _counts(step) and step.status in (STARTED, STOPPED, FAILED) and not any(_counts(one) for one in later)


def _counts(step: CleanupStep) -> bool:
    """Returns whether an attempt says something of its run; not if it was refused or stopped before the first file."""
    return step.files > 0 or step.status not in (REFUSED, STOPPED)


def _unfinished(step: CleanupStep) -> Json:
    return {"action": step.action, "run_id": step.run.run_id, "status": step.status, "at": format_instant(step.at)}


def _quarantine(steps: tuple[CleanupStep, ...], grace_ms: int, now: int) -> list[Json]:
    return [
        {
            "run_id": run.run_id,
            "files": rest.files,
            "bytes": rest.bytes,
            "moved_at": format_instant(rest.moved_at),
            "purge_from": format_instant(rest.moved_at + grace_ms),
            "grace_is_over": now >= rest.moved_at + grace_ms,
        }
        for run, rest in sorted(quarantined(steps).items(), key=lambda one: one[1].moved_at)
    ]
