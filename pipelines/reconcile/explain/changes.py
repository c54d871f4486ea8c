"""What changed between two nights of a cluster, for `explain --since` and for the state of a cluster.

What only the verdicts on single files or the totals can say is None if the lake no longer has those of a night.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from pipelines.common.errors import UsageError
from pipelines.common.instants import format_instant
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
from pipelines.lake.query import literal
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import FindingRow, PinnedRow, VerdictTotal
from pipelines.reconcile.compared_nights import WAITING, only_in
from pipelines.reconcile.explain.holders import peer_states, state_of
from pipelines.reconcile.explain.runs import Nights, first_names
from pipelines.reconcile.explain.words import Json
from schemas.findings import FINDINGS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.verdict_totals import VERDICT_TOTALS


@dataclass(frozen=True, slots=True, order=True)
class _Queue:
    peer_id: str
    owner: str
    source: str


def changes_of_cluster(nights: Nights, lake: LakeReader) -> Json:
    """Returns everything that changed in the cluster; `verdicts` is None if the lake does not have every night."""
    listed = servers(lake, nights.keys)
    was, became = (listed[key.run_id] for key in nights.keys)
    known = nights.verdicts_known
    changes = summed_changes(lake, [nights.before, *nights.between, nights.after.record])
    return {
        **nights.json(),
        **small_changes(nights, lake),
        "nights": len({one.night for one in nights.between}) + 1,
        "verdicts": None if changes is None else _documents(changes),
        "new_servers": sorted(became - was) if known else None,
        "gone_servers": sorted(was - became) if known else None,
    }


def small_changes(nights: Nights, lake: LakeReader) -> Json:
    """Returns what the small tables know: totals, findings, queues, peers, and the work of the clean-up."""
    totals = lake.by_run(VERDICT_TOTALS, nights.keys, VerdictTotal)
    was, became = (totals.get(key, []) for key in nights.keys)
    known = all(_totals_known(run, totals.get(run.key, ())) for run in nights.runs)
    peers_before, peers = (_peers(run, lake) for run in nights.runs)
    return {
        "files": sum(row.files for row in became) - sum(row.files for row in was) if known else None,
        "bytes": sum(row.bytes for row in became) - sum(row.bytes for row in was) if known else None,
        **_findings_and_queues(nights, lake, "true", "true"),
        "new_peers": sorted(peers - peers_before),
        "gone_peers": sorted(peers_before - peers),
        "cleanup": _steps(nights, lake),
    }


def changes_of_peer(peer_id: str, nights: Nights, lake: LakeReader) -> Json:
    """Returns what changed for a peer: its state, files that it holds now or no longer, its queues and findings.

    Raises:
        UsageError: neither night has such a peer.
    """
    of_peer = f"peer_id = {literal(peer_id)}"
    held = lake.by_run(PINNED_BYTES, nights.keys, PinnedRow, "level = 'peer'")
    was, became = (next((row for row in held.get(key, ()) if row.peer_id == peer_id), None) for key in nights.keys)
    peers_before, peers = (_peers(run, lake) for run in nights.runs)
    if (
        not (was or became)
        and peer_id not in peers_before | peers
        and not lake.by_run(QUEUE_OFFSETS, nights.keys, _Queue, of_peer)
    ):
        raise UsageError(
            f"peer {peer_id} neither exists nor holds a file nor has a queue in the runs {nights.before.run_id} and "
            f"{nights.after.record.run_id}; their peers: {first_names(sorted(peers_before | peers)) or 'none'}"
        )
    totals = lake.by_run(VERDICT_TOTALS, nights.keys, VerdictTotal)
    known = all(held.get(run.key) or _waits_for_nobody(run, totals.get(run.key, ())) for run in nights.runs)
    states = peer_states(peer_id, nights.keys, lake)
    state_before, state = (state_of(row, states.get(key)) for row, key in zip((was, became), nights.keys, strict=True))
    return {
        **nights.json(),
        "peer_id": peer_id,
        "existed": peer_id in peers_before,
        "exists": peer_id in peers,
        "was_state": state_before,
        "state": state,
        "files": (became.files if became else 0) - (was.files if was else 0) if known else None,
        "bytes": (became.bytes if became else 0) - (was.bytes if was else 0) if known else None,
        "verdicts": _documents(held_changes(lake, *nights.keys, peer_id)) if nights.verdicts_known else None,
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
        "files": sum(sign * one.files for sign, one in signs) if nights.verdicts_known else None,
        "bytes": sum(sign * one.bytes for sign, one in signs) if nights.verdicts_known else None,
        "verdicts": _documents(changes) if nights.verdicts_known else None,
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


def _totals_known(run: RunRecord, totals: Sequence[VerdictTotal]) -> bool:
    """Returns whether these are the totals of a run: `maintain` removes those of old nights, and not the run."""
    return run.bytes == 0 or bool(totals)


def _waits_for_nobody(run: RunRecord, totals: Sequence[VerdictTotal]) -> bool:
    """Returns whether it is known that no file waited for a peer, so that no peer has a row of what it held."""
    waiting = WAITING.intersection(f"{row.verdict} {row.reason}" for row in totals if row.files)
    return _totals_known(run, totals) and not waiting


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
