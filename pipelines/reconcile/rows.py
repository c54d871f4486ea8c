"""Turns the totals of a run into table rows, gate metrics and summaries; pure functions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from pipelines.common.errors import EXIT_DONE, EXIT_PARTIAL, EXIT_REFUSED
from pipelines.decide.gate.gate_metrics import ClusterMetrics, ExpectationResult
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.totals import BucketTotal
from pipelines.decide.rule.verdict import Reason, Verdict
from pipelines.lake.findings import has_new_error
from pipelines.lake.night_changes import VerdictChange
from pipelines.lake.run_summary import (
    DONE,
    REFUSED,
    STARTED,
    FindingRow,
    PinnedRow,
    QueueOffsetRow,
    RunSummary,
    VerdictTotal,
    table_row,
)
from pipelines.reconcile.cluster_cases import ClusterCase
from pipelines.reconcile.findings import Evidence, OddDirectory, OffsetWal, findings
from pipelines.reconcile.holdings import RowsOfTotals
from pipelines.reconcile.past import PastNight
from pipelines.reconcile.peer_states import PastSyncState, PeerRow, SyncPeerRow, peer_rows, sync_peers
from pipelines.reconcile.remote_wals import RemoteDirectory
from schemas.findings import FINDINGS
from schemas.peers import PEERS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.quality_results import QUALITY_RESULTS
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.remote_wals import REMOTE_WALS
from schemas.sync_peers import SYNC_PEERS
from schemas.table import Table
from schemas.verdict_changes import VERDICT_CHANGES
from schemas.verdict_totals import VERDICT_TOTALS


@dataclass(frozen=True)
class ClusterTotals:
    """The totals of one cluster, and the counts that only the gate uses."""

    totals: tuple[BucketTotal, ...] = ()
    gate_counts: Mapping[str, int] | None = None

    def listed(self) -> tuple[int, int]:
        """Returns the number of files and bytes below oldWALs that are DELETABLE."""
        rows = [total for total in self.totals if total.archived and total.verdict == Verdict.DELETABLE.value]
        return _files(rows), _bytes(rows)


@dataclass(frozen=True)
class SmallTableRows:
    """Rows of the small tables of one cluster."""

    totals: tuple[VerdictTotal, ...] = ()
    queues: tuple[QueueOffsetRow, ...] = ()
    pinned: tuple[PinnedRow, ...] = ()
    findings: tuple[FindingRow, ...] = ()
    remote: tuple[RemoteDirectory, ...] = ()
    sync_peers: tuple[SyncPeerRow, ...] = ()
    peers: tuple[PeerRow, ...] = ()
    changes: tuple[VerdictChange, ...] = ()


def gate_metrics(
    case: ClusterCase, counted: ClusterTotals, duplicate_paths: int, settings: ReconcileSettings
) -> ClusterMetrics:
    """Returns the numbers of one cluster that the gate compares."""
    listing = case.opened.listing
    archived = [total for total in counted.totals if total.archived]
    listed = [total for total in archived if total.verdict == Verdict.DELETABLE.value]
    kept_by_hbase = [
        total
        for total in listed
        # with the opt-in, a person overrules HBase's verdict
        if total.hbase_verdict != "DELETE" and total.reason != Reason.REPLICATION_TABLE_WAL.value
    ]
    undecided = [
        total
        for total in archived
        if total.verdict is None or total.reason is None or total.reason == Reason.UNDECIDED.value
    ]
    decided = [total for total in archived if total.verdict is not None]
    return ClusterMetrics(
        cluster=case.key.cluster,
        files=listing.archived_files,
        bytes=listing.archived_bytes,
        listed_files=_files(listed),
        listed_bytes=_bytes(listed),
        verdict_files=_files(decided),
        verdict_bytes=_bytes(decided),
        rows_promised=case.snapshot.listed,
        rows_read=_files(counted.totals),
        duplicate_paths=duplicate_paths,
        undecided=_files(undecided),
        deletable_kept_by_hbase=_files(kept_by_hbase),
        share_from_bytes=settings.share_from_bytes,
        **(counted.gate_counts or {}),
    )


def _files(totals: Iterable[BucketTotal]) -> int:
    return sum(total.files for total in totals)


def _bytes(totals: Iterable[BucketTotal]) -> int:
    return sum(total.bytes for total in totals)


def offset_wal_names(cases: Iterable[ClusterCase]) -> list[tuple[str, str]]:
    """Returns (cluster, WAL) of every offset that names the WAL to read next."""
    return sorted(
        {
            (case.key.cluster, offset.wal)
            for case in cases
            if case.refused is None and case.view is not None
            for row in case.view.rows
            for offset in row.offsets.values()
            if offset.wal and offset.offset >= 0
        }
    )


def small_rows(
    case: ClusterCase,
    of_totals: RowsOfTotals,
    settings: ReconcileSettings,
    *,
    offset_wals: Mapping[str, OffsetWal],
    odd_names: Sequence[OddDirectory],
    past: Sequence[PastNight],
    remote: Sequence[RemoteDirectory],
    sync_before: Mapping[str, PastSyncState],
    changes: tuple[VerdictChange, ...],
) -> SmallTableRows:
    """Returns the small tables' rows of one cluster; a refused cluster has totals and offsets, but no findings.

    Args:
        case: the cluster.
        of_totals: what follows from its totals.
        settings: from the configuration.
        offset_wals: see `Evidence`, also for the next three.
        odd_names: see there.
        past: see there.
        remote: see there.
        sync_before: states of synchronous peers on the night before.
        changes: rows of `verdict_changes`.
    """
    if case.view is None or case.table is None or case.refused is not None:
        return SmallTableRows(of_totals.totals, of_totals.queues)
    peers = sync_peers(case.snapshot.peers, sync_before, case.view.files_started)
    evidence = Evidence(
        snapshot=case.snapshot,
        view=case.view,
        table=case.table,
        settings=settings,
        totals=of_totals.counted,
        queues=of_totals.queues,
        pinned=of_totals.pinned,
        offset_wals=offset_wals,
        odd_names=odd_names,
        past=past,
        extras=case.opened.extras,
        beside=case.opened.beside,
        remote=remote,
        sync_peers=peers,
    )
    known = past[0].peers if past else {}
    return SmallTableRows(
        of_totals.totals,
        of_totals.queues,
        of_totals.pinned,
        findings(evidence),
        tuple(remote),
        tuple(peers),
        peer_rows(case.snapshot.peers, known, case.view.files_started),
        changes,
    )


def small_tables(
    cases: Sequence[ClusterCase],
    small: Mapping[str, SmallTableRows],
    gate_results: Sequence[ExpectationResult],
    examples: Mapping[tuple[str, str], Sequence[str]],
) -> dict[str, tuple[Table, list[Mapping[str, object]]]]:
    """Returns the small tables' rows of all clusters, by table name."""
    keys = {case.key.cluster: case.key for case in cases}
    known = [(keys[cluster], rows) for cluster, rows in small.items()]
    peers = {case.key.cluster: case.view.peer_ids for case in cases if case.view is not None}
    return {
        "verdict_totals": (VERDICT_TOTALS, [table_row(key, row) for key, rows in known for row in rows.totals]),
        "verdict_changes": (VERDICT_CHANGES, [table_row(key, row) for key, rows in known for row in rows.changes]),
        "peers": (PEERS, [table_row(key, row) for key, rows in known for row in rows.peers]),
        "queue_offsets": (QUEUE_OFFSETS, [table_row(key, row) for key, rows in known for row in rows.queues]),
        "pinned_bytes": (PINNED_BYTES, [table_row(key, row) for key, rows in known for row in rows.pinned]),
        "remote_wals": (
            REMOTE_WALS,
            [
                {**asdict(key), **one.row(), "peer_exists": one.peer_id in peers[key.cluster]}
                for key, rows in known
                for one in rows.remote
            ],
        ),
        "sync_peers": (SYNC_PEERS, [table_row(key, row) for key, rows in known for row in rows.sync_peers]),
        "findings": (FINDINGS, [table_row(key, row) for key, rows in known for row in rows.findings]),
        "quality_results": (
            QUALITY_RESULTS,
            [
                {
                    **table_row(keys[result.cluster], result),
                    "examples": list(examples.get((result.cluster, result.expectation), ())),
                }
                for result in gate_results
            ],
        ),
    }


def run_summary(
    case: ClusterCase, small: SmallTableRows, list_uri: str | None, lake_uri: str, recorded_exit_code: int | None = None
) -> RunSummary:
    """Returns the summary of one cluster; `recorded_exit_code` is the exit code of a run that was already done."""
    new_error = has_new_error(small.findings)
    code = EXIT_REFUSED if case.refused is not None else EXIT_PARTIAL if new_error else EXIT_DONE
    return RunSummary(
        cluster=case.key.cluster,
        run_id=case.key.run_id,
        status=DONE if case.refused is None else REFUSED,
        mode=case.mode,
        exit_code=code if recorded_exit_code is None else recorded_exit_code,
        reason=case.refused,
        files_started_ms=case.view.files_started if case.view else case.not_after,
        totals=small.totals,
        pinned=small.pinned,
        findings=small.findings,
        list_uri=list_uri,
        lake_uri=lake_uri,
        condition=None if case.refused is None else case.condition,
        capacity_bytes=case.capacity_bytes,
        free_bytes=case.opened.extras.free_bytes,
    )


def exit_code(codes: Sequence[int]) -> int:
    """Returns the run's exit code from those of its clusters."""
    if codes and all(code == EXIT_REFUSED for code in codes):
        return EXIT_REFUSED
    return EXIT_PARTIAL if any(code in (EXIT_REFUSED, EXIT_PARTIAL) for code in codes) else EXIT_DONE


def run_row(
    case: ClusterCase, summary: RunSummary, status: str, reason: str | None, code: int | None
) -> dict[str, object]:
    """Returns one cluster's values of a row of `runs`; sizes and reasons are only in terminal rows."""
    terminal = status != STARTED
    files, size = summary.total()
    listed, listed_bytes = summary.total(Verdict.DELETABLE.value)
    return {
        "cluster": case.key.cluster,
        "run_id": case.key.run_id,
        "run_date": case.key.run_date,
        "status": status,
        "seq": 2 if terminal else 1,
        "mode": case.mode,
        "reason": reason or (case.refused if terminal else None),
        "exit_code": code,
        "files_started_at": case.view.files_started if case.view else None,
        "not_after": case.not_after,
        "snapshot_uri": case.opened.uri,
        "snapshot_sha256": case.opened.sha256,
        "quiet": case.view.restless is None if case.view else None,
        "files": files if terminal else None,
        "bytes": size if terminal else None,
        "deletable_files": listed if terminal else None,
        "deletable_bytes": listed_bytes if terminal else None,
        "list_uri": summary.list_uri,
        "peer_ids": list(case.view.peer_ids) if case.view else None,
        "cluster_id": case.snapshot.cluster_id if case.view else None,
        "capacity_bytes": summary.capacity_bytes if terminal else None,
        "free_bytes": summary.free_bytes if terminal else None,
    }
