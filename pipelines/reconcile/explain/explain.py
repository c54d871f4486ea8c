"""The explain job: who holds a file, peer or server, since when, and what would free how much; what is new; the state.

All answers come from the tables; nothing is read from the cluster. The newest DONE run of a cluster answers.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipelines.common.clock import Clock
from pipelines.common.errors import EXIT_DONE
from pipelines.common.instants import format_instant, utc_day
from pipelines.common.job_result import JobResult
from pipelines.decide.reason_texts import REASON_TEXTS, ReasonText
from pipelines.lake.findings import Acknowledgement
from pipelines.lake.lake_records import Blocker, FileVerdict, QueueNights
from pipelines.lake.look_back import LOOK_BACK
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import PinnedRow, QueueOffsetRow
from pipelines.reconcile.explain.changes import (
    changes_of_cluster,
    changes_of_files,
    changes_of_peer,
    changes_of_server,
)
from pipelines.reconcile.explain.holders import explain_peer, explain_server, find_server, way_out
from pipelines.reconcile.explain.runs import SHOWN, AnsweringRun, Since, deciding_runs, nights_since, one_of
from pipelines.reconcile.explain.state import StateSettings, cluster_state
from pipelines.reconcile.explain.text import explain_text
from pipelines.reconcile.explain.words import Json


@dataclass(frozen=True, slots=True)
class ExplainRequest:
    """One question; at most one of paths, peer and server is given, and none asks for the state of the cluster.

    Attributes:
        cluster: None = any cluster of the lake.
        paths: full URIs, paths relative to wal_root, ends of paths, or bare file names.
        peer: a peer id.
        server: `host,port,startcode`, or any part of one that fits one server best.
        since: asks what changed since then, for the target or for the cluster.
        settings: of the configuration, for the state of the cluster.
        acknowledged: findings that the configuration acknowledges; those recorded by the run count too.
    """

    cluster: str | None = None
    paths: tuple[str, ...] = ()
    peer: str | None = None
    server: str | None = None
    since: Since | None = None
    settings: StateSettings = field(default_factory=StateSettings)
    acknowledged: Sequence[Acknowledgement] = ()


def explain(request: ExplainRequest, lake: LakeReader, clock: Clock) -> JobResult:
    """Answers a question from the tables; the clock decides only whether acknowledgements of findings have ended.

    Returns:
        Exit code 0; `result` has one entry for each path in `files`, or `peer`, or `server`, or `state`; or, with
        `since`, a list of `changes`.

    Raises:
        UsageError: the path, peer or server is unknown or ambiguous; the message lists what exists.
        UnavailableError: the lake did not answer.
    """
    runs = deciding_runs(request.cluster, lake, clock.now_ms(), request.acknowledged)
    if request.since is not None:
        result: Json = {"changes": _changes(request, request.since, _only(runs), lake)}
    elif request.peer is not None:
        result = {"peer": explain_peer(request.peer, runs, lake)}
    elif request.server is not None:
        result = {"server": explain_server(request.server, runs, lake)}
    elif request.paths:
        result = {"files": _files(request.paths, runs, lake)}
    else:
        result = {"state": cluster_state(_only(runs), lake, request.settings, clock.now_ms(), request.acknowledged)}
    return JobResult(EXIT_DONE, result, explain_text(result))


def _only(runs: dict[str, AnsweringRun]) -> AnsweringRun:
    return runs[one_of("the cluster", sorted(runs), "")]


def _changes(request: ExplainRequest, since: Since, run: AnsweringRun, lake: LakeReader) -> list[Json]:
    nights = nights_since(since, run, lake)
    doubt = "" if nights.verdicts_known else f"; {nights.note}"
    if request.peer is not None:
        return [changes_of_peer(request.peer, nights, lake)]
    if request.server is not None:
        _, server = find_server(request.server, [run.record.key], lake, [nights.before.key], doubt)
        return [changes_of_server(server, nights, lake)]
    if request.paths:
        found = lake.files(nights.keys, request.paths, limit=2 * (SHOWN + 1))
        once = list({file.path: file for file in found}.values())
        meant = [_meant(path, once, {run.record.cluster: run}, doubt).path for path in request.paths]
        return changes_of_files(meant, nights, lake)
    return [changes_of_cluster(nights, lake)]


def _files(paths: Sequence[str], runs: dict[str, AnsweringRun], lake: LakeReader) -> list[Json]:
    keys = [run.record.key for run in runs.values()]
    found = lake.files(keys, paths, limit=SHOWN + 1)
    chosen = [_meant(path, found, runs) for path in paths]
    clusters = {file.cluster for file in chosen}
    pinned = lake.pinned([runs[cluster].record.key for cluster in clusters])
    held: dict[str, set[str]] = defaultdict(set)
    for file in chosen:
        if file.blocking:
            held[file.cluster].update(filter(None, [file.wal_group]))
    nights = {
        cluster: lake.queue_nights(cluster, runs[cluster].record.night, LOOK_BACK.days, sorted(held[cluster]))
        for cluster in sorted(held)
    }
    queues = lake.queues([runs[cluster].record.key for cluster in nights])
    return [
        _file(
            file,
            runs[file.cluster],
            _Holding(pinned.get(file.cluster, ()), queues.get(file.cluster, ()), nights.get(file.cluster, {})),
        )
        for file in chosen
    ]


def _meant(path: str, found: Sequence[FileVerdict], runs: dict[str, AnsweringRun], doubt: str = "") -> FileVerdict:
    plain = path.split("://", 1)[-1]
    matches = [file for file in found if _means(plain, file.path)]
    exact = [file for file in matches if file.path == path]
    matches = exact or matches
    names = [f"{file.path} of {file.cluster}" for file in matches]
    listed = ", ".join(f"{run.record.cluster} of {format_instant(run.record.night)}" for run in list(runs.values())[:3])
    chosen = one_of(
        path,
        names,
        f"{path}: not among the files below oldWALs that were listed ({listed}). It is deleted already, or still below "
        "WALs/, or came later; check the spelling and --cluster. Copies below remoteWALs/ belong to synchronous "
        f"replication and get no verdict: the table remote_wals tells of them{doubt}",
        are_all=False,
    )
    return matches[names.index(chosen)]


def _means(asked: str, path: str) -> bool:
    return asked == path or asked.endswith(f"/{path}") or path.endswith(f"/{asked.lstrip('/')}")


@dataclass(frozen=True, slots=True)
class _Holding:
    """The rows of one cluster's queues in the small tables."""

    pinned: Sequence[PinnedRow]
    queues: Sequence[QueueOffsetRow]
    nights: QueueNights

    def row(self, holder: Blocker, group: str | None) -> PinnedRow | None:
        """Returns the most specific row of `pinned_bytes` for this holder: its group, else its queue, else its peer."""
        for level, wal_group in (("group", group), ("queue", None), ("peer", None)):
            for row in self.pinned:
                queue = level == "peer" or (row.owner, row.source) == (holder.owner, holder.source)
                if (row.level, row.peer_id, row.wal_group) == (level, holder.peer_id, wal_group) and queue:
                    return row
        return None

    def queue(self, holder: Blocker, group: str | None) -> QueueOffsetRow | None:
        """Returns the row of the holder's queue for this group."""
        wanted = (holder.peer_id, holder.owner, holder.source)
        rows = [row for row in self.queues if (row.peer_id, row.owner, row.source) == wanted]
        return next((row for row in rows if row.wal_group == group), None)


def _file(file: FileVerdict, run: AnsweringRun, holding: _Holding) -> Json:
    words = _words(file)
    archived = file.modification_time
    return {
        **run.json(),
        "path": file.path,
        "server": file.server,
        "bytes": file.length,
        "verdict": file.verdict,
        "reason": file.reason,
        "why": words.why,
        "way_out": way_out(file.verdict, file.reason),
        "hbase_verdict": file.hbase_verdict,
        "archived_at": None if archived is None else format_instant(archived),
        "archived_for_ms": None if archived is None else run.record.night - archived,
        "holders": [_holder(holder, file, run, holding) for holder in file.blocking],
    }


def _words(file: FileVerdict) -> ReasonText:
    return REASON_TEXTS.get(file.reason, ReasonText(file.reason, file.reason))


def _holder(holder: Blocker, file: FileVerdict, run: AnsweringRun, holding: _Holding) -> Json:
    row, queue = holding.row(holder, file.wal_group), holding.queue(holder, file.wal_group)
    need = queue.need_timestamp if queue else None
    behind = None if need is None or need < 0 else max(0, run.record.night - need)
    peer = next((one for one in holding.pinned if one.level == "peer" and one.peer_id == holder.peer_id), None)
    since, nights, at_least = _since(holder, file, run, holding.nights)
    # a dead server without a queue: there is nothing that the peer could ship
    nobody = holder.owner is None and row is not None and row.level == "peer"
    return {
        "peer_id": holder.peer_id,
        "peer_state": row.peer_state if row else None,
        "owner": holder.owner,
        "source": holder.source,
        "wal": holder.wal,
        "offset": holder.offset,
        "since": since,
        "nights": nights,
        "since_at_least": at_least,
        "behind_ms": behind,
        "pending_files": queue.pending_files if queue else None,
        "pending_bytes": queue.pending_bytes if queue else None,
        "remedy": _words(file).way_out if nobody else (row.remedy if row else None) or (peer.remedy if peer else None),
        "peer_frees_files": peer.freed_files if peer and not nobody else None,
        "peer_frees_bytes": peer.freed_bytes if peer and not nobody else None,
    }


def _since(
    holder: Blocker, file: FileVerdict, run: AnsweringRun, nights: QueueNights
) -> tuple[str | None, int | None, bool | None]:
    """Returns the first of the consecutive runs in which the queue group needed the archived file, and their dates.

    The third value says whether it may have needed it before: no run before the first of them shows the opposite. All
    are None for a holder without an offset: earlier runs recorded nothing of it to compare.
    """
    if holder.wal is None:
        return None, None, None
    first, days, at_least = run.record.night, {utc_day(run.record.night)}, True
    archived = file.modification_time or 0
    if file.wal_timestamp is not None and file.wal_group is not None and holder.source is not None:
        for night in nights.get((holder.peer_id, holder.source, file.wal_group), ()):
            if night.need > file.wal_timestamp or night.files_started < archived:
                at_least = False
                break
            first = night.files_started
            days.add(utc_day(first))
    return format_instant(first), len(days), at_least
