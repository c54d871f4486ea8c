"""What changed between two nights of a cluster, for `explain --since` and for the state of a cluster."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from pipelines.common.errors import UsageError
from pipelines.common.instants import DAY_MS, format_instant, utc_day
from pipelines.lake.cleanup_history import CleanupStep, cleanup_steps
from pipelines.lake.findings import by_urgency
from pipelines.lake.lake_records import FileVerdict, RunRecord
from pipelines.lake.night_changes import (
    FileChange,
    file_outcomes,
    held_changes,
    server_changes,
    servers,
    summed_changes,
)
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_rows import literal
from pipelines.lake.run_summary import DONE, FindingRow, PinnedRow, RunKey, VerdictTotal
from pipelines.reconcile.compared_nights import only_in
from pipelines.reconcile.explain.runs import AnsweringRun, Json
from schemas.findings import FINDINGS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.verdict_totals import VERDICT_TOTALS


@dataclass(frozen=True, slots=True)
class Since:
    """From when changes are asked for: a UTC day (its first night is compared), or an instant, ms since the epoch."""

    at: int
    is_day: bool


def since_of(text: str) -> Since:
    """Reads a day like 2026-11-20, or an instant like 2026-11-20T14:00Z; without a zone it is UTC.

    Raises:
        UsageError: the text is neither.
    """
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
            return Since(_millis(datetime.fromisoformat(text)), is_day=True)
        return Since(_millis(datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text))), is_day=False)
    except ValueError:
        raise UsageError(
            f"--since {text}: neither a day like 2026-11-20 nor an instant like 2026-11-20T14:00Z"
        ) from None


def _millis(instant: datetime) -> int:
    there = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return int(there.timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class Nights:
    """Two DONE runs of one cluster.

    Attributes:
        before: the earlier one.
        after: the later one.
        note: says that the earlier one is not the one that was asked for.
        between: the DONE runs between them, oldest first.
    """

    before: RunRecord
    after: AnsweringRun
    note: str | None = None
    between: tuple[RunRecord, ...] = ()

    @property
    def keys(self) -> tuple[RunKey, RunKey]:
        """The earlier run and the later one."""
        return self.before.key, self.after.record.key

    def json(self) -> Json:
        """Returns the fields that begin every answer about changes."""
        return {
            **self.after.json(),
            "since": format_instant(self.before.night),
            "since_run_id": self.before.run_id,
            "since_note": self.note,
        }


@dataclass(frozen=True, slots=True, order=True)
class _Queue:
    peer_id: str
    owner: str
    source: str


def nights_since(since: Since, run: AnsweringRun, lake: LakeReader) -> Nights:
    """Returns the run that answers, and the DONE run with which it is compared.

    That is the first run of the day, or the last one before it or before the instant. If the lake has none, it is the
    oldest one that it has.

    Raises:
        UsageError: no run was DONE since then, or there is only one.
    """
    newest = run.record
    done = sorted(
        (one for one in lake.newest_runs(newest.cluster) if one.status == DONE and one.night <= newest.night),
        key=lambda one: one.order,
    )
    earlier = [one for one in done if one.run_id != newest.run_id]
    until = since.at + DAY_MS - 1 if since.is_day else since.at
    if newest.night <= since.at or newest.status != DONE or not earlier:
        raise UsageError(
            f"cluster {newest.cluster} has no two DONE runs to compare since then: its newest run, {newest.run_id}, is "
            f"of {format_instant(newest.night)}; give an earlier --since, or let reconcile write another run"
        )
    of_day = [one for one in earlier if since.is_day and utc_day(one.night) == utc_day(since.at)]
    before = [one for one in earlier if one.night <= until]
    compared = (of_day or before[-1:] or earlier)[0]
    asked = format_instant(since.at)
    note = f"the lake has no DONE run of {newest.cluster} before {asked}; its oldest is compared"
    between = tuple(one for one in earlier if one.night > compared.night)
    return Nights(compared, run, None if before else note, between)


def changes_of_cluster(nights: Nights, lake: LakeReader) -> Json:
    """Returns everything that changed in the cluster; `verdicts` is None if the lake does not have every night."""
    listed = servers(lake, nights.keys)
    was, became = (listed[key.run_id] for key in nights.keys)
    changes = summed_changes(lake, [nights.before, *nights.between, nights.after.record])
    return {
        **nights.json(),
        **small_changes(nights, lake),
        "nights": len({one.night for one in nights.between}) + 1,
        "verdicts": None if changes is None else _documents(changes),
        "new_servers": sorted(became - was),
        "gone_servers": sorted(was - became),
    }


def small_changes(nights: Nights, lake: LakeReader) -> Json:
    """Returns what the small tables know: totals, findings, queues, peers, and the work of the clean-up."""
    totals = lake.by_run(VERDICT_TOTALS, nights.keys, VerdictTotal)
    was, became = (totals.get(key, []) for key in nights.keys)
    peers_before, peers = (_peers(run, lake) for run in (nights.before, nights.after.record))
    return {
        "files": sum(row.files for row in became) - sum(row.files for row in was),
        "bytes": sum(row.bytes for row in became) - sum(row.bytes for row in was),
        **_findings_and_queues(nights, lake, "true", "true"),
        "new_peers": sorted(peers - peers_before),
        "gone_peers": sorted(peers_before - peers),
        "cleanup": _steps(nights, lake),
    }


def changes_of_peer(peer_id: str, nights: Nights, lake: LakeReader) -> Json:
    """Returns what changed for a peer: its state, files that it holds now or no longer, its queues and findings."""
    of_peer = f"peer_id = {literal(peer_id)}"
    held = lake.by_run(PINNED_BYTES, nights.keys, PinnedRow, f"level = 'peer' AND {of_peer}")
    was, became = (next(iter(held.get(key, ())), None) for key in nights.keys)
    return {
        **nights.json(),
        "peer_id": peer_id,
        "was_state": was.peer_state if was else None,
        "state": became.peer_state if became else None,
        "files": (became.files if became else 0) - (was.files if was else 0),
        "bytes": (became.bytes if became else 0) - (was.bytes if was else 0),
        "verdicts": _documents(held_changes(lake, *nights.keys, peer_id)),
        **_findings_and_queues(nights, lake, of_peer, of_peer),
    }


def changes_of_server(server: str, nights: Nights, lake: LakeReader) -> Json:
    """Returns what changed for the WALs of a server: verdicts, queues of it or with its WALs, findings."""
    changes = server_changes(lake, *nights.keys, server)
    named = literal(server)
    signs = [((one.was is None) - (one.became is None), one) for one in changes]
    return {
        **nights.json(),
        "server": server,
        "files": sum(sign * one.files for sign, one in signs),
        "bytes": sum(sign * one.bytes for sign, one in signs),
        "verdicts": _documents(changes),
        **_findings_and_queues(nights, lake, f"server = {named}", f"{named} IN (owner, source)"),
    }


def changes_of_files(paths: Sequence[str], nights: Nights, lake: LakeReader) -> list[Json]:
    """Returns the verdict of each file on both nights, and what the clean-up did with it.

    Args:
        paths: as in the tables.
        nights: of the cluster to which all of them belong.
        lake: reads the tables.
    """
    # two matches of a path: it may also be the end of another one, which comes before it
    found = [{one.path: one for one in lake.files([key], paths, limit=2)} for key in nights.keys]
    steps = cleanup_steps(lake, nights.after.record.cluster, nights.after.record.run_date)
    outcomes = file_outcomes(lake, {step.run for step in steps if step.at > nights.before.night}, paths)
    return [
        {
            **nights.json(),
            "path": path,
            "was": _verdict(found[0].get(path)),
            "became": _verdict(found[1].get(path)),
            "cleanup": [
                {"outcome": one.outcome, "at": format_instant(one.at), "run_id": one.run_id}
                for one in outcomes
                if one.path == path
            ],
        }
        for path in paths
    ]


def _verdict(file: FileVerdict | None) -> str | None:
    return None if file is None else f"{file.verdict} {file.reason}"


def _documents(changes: Iterable[FileChange]) -> list[Json]:
    return [asdict(one) for one in changes]


def _peers(run: RunRecord, lake: LakeReader) -> frozenset[str]:
    """Returns the peers of a run; an older walsafe left only those that have a queue."""
    if run.peer_ids is not None:
        return frozenset(run.peer_ids)
    return frozenset(row.peer_id for row in lake.queues([run.key]).get(run.cluster, ()) if row.peer_exists)


def _findings_and_queues(nights: Nights, lake: LakeReader, finding_is: str, queue_is: str) -> Json:
    """Returns the findings and queues that only one of the nights has and that meet their SQL condition."""
    findings = lake.by_run(FINDINGS, nights.keys, FindingRow, finding_is)
    was, became = (findings.get(key, []) for key in nights.keys)
    queues = lake.by_run(QUEUE_OFFSETS, nights.keys, _Queue, queue_is)
    had, has = (set(queues.get(key, ())) for key in nights.keys)
    return {
        "new_findings": [_finding(row) for row in by_urgency(only_in(became, was))],
        "gone_findings": [_finding(row) for row in by_urgency(only_in(was, became))],
        "new_queues": [asdict(queue) for queue in sorted(has - had)],
        "gone_queues": [asdict(queue) for queue in sorted(had - has)],
    }


def _finding(row: FindingRow) -> Json:
    return {
        "key": row.key,
        "code": row.code,
        "severity": row.severity,
        "message": row.message,
        "remedy": row.remedy,
        "bytes": row.bytes,
    }


def _steps(nights: Nights, lake: LakeReader) -> list[Json]:
    """Returns what clean, restore and purge did after the earlier listing."""
    steps: list[CleanupStep] = [
        step
        for step in cleanup_steps(lake, nights.after.record.cluster, nights.after.record.run_date)
        if step.at > nights.before.night
    ]
    return [
        {
            "action": step.action,
            "run_id": step.run.run_id,
            "status": step.status,
            "at": format_instant(step.at),
            "files": step.files,
            "bytes": step.bytes,
        }
        for step in steps
    ]
