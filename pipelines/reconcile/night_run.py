"""Runs one night of reconcile: decides, checks the gate, writes tables and lists; `runs` records how far it came."""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa
from pyspark.sql import DataFrame

from pipelines.common.errors import WalsafeError
from pipelines.common.spark.few_rows import at_hand, few
from pipelines.decide.gate import gate
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.totals import BucketTotal
from pipelines.decide.spark import summary, tables
from pipelines.decide.spark.decision_frames import decision_frames
from pipelines.decide.spark.lookup import DecisionFrames
from pipelines.decide.spark.verdicts import looked_up, with_answers
from pipelines.lake.night_changes import VerdictChange
from pipelines.lake.run_summary import DELETABLE, STARTED
from pipelines.reconcile.cluster_cases import NIGHTLY, untrusted_totals
from pipelines.reconcile.delete_list import ListRequest, StagedLists
from pipelines.reconcile.findings import ODD_REASONS, OddDirectory, OffsetWal
from pipelines.reconcile.holdings import RowsOfTotals, rows_of_totals
from pipelines.reconcile.night_state import NightRun, append_failed, append_runs, refuse_used_run_ids
from pipelines.reconcile.past import PastNight
from pipelines.reconcile.remote_wals import RemoteDirectory
from pipelines.reconcile.rows import (
    ClusterTotals,
    SmallTableRows,
    gate_metrics,
    offset_wal_names,
    small_rows,
    small_tables,
)
from pipelines.reconcile.sync_replication import remote_by_cluster, states_before
from pipelines.reconcile.verdict_changes import verdict_changes
from schemas.registry import SYNC_TABLES
from schemas.table import Table

_LOG = logging.getLogger(__name__)
UNKNOWN_ERROR = "an error that walsafe does not know; see the log"


def run_night(night: NightRun) -> None:
    """Runs everything between the STARTED rows and the terminal rows."""
    # planning a Spark query keeps one core busy and leaves the others idle, so independent work runs side by side
    with ThreadPoolExecutor(2) as beside:
        past = beside.submit(_past, night)
        append_runs(night, STARTED, None)
        refuse_used_run_ids(night)  # without a FAILED row: the rows of that run_id are those of the other job
        try:
            _decide_and_write(night, beside, past)
        except WalsafeError as error:
            append_failed(night, str(error), error.exit_code)
            raise
        except Exception:
            append_failed(night, UNKNOWN_ERROR, None)
            raise
    append_runs(night, None, None)


def _past(night: NightRun) -> Mapping[str, Sequence[PastNight]]:
    """Returns the earlier nights, by cluster."""
    settings = night.request.settings
    started = {case.key.cluster: case.view.files_started for case in night.believed() if case.view}
    return night.ports.lake.before(started, max(settings.stalled_nights, settings.growth_nights))


def _decide_and_write(
    night: NightRun, beside: ThreadPoolExecutor, past: Future[Mapping[str, Sequence[PastNight]]]
) -> None:
    ports, settings = night.ports, night.request.settings
    files = ports.reader.files([case.opened for case in night.with_files()])
    believed = night.believed()
    repeated = beside.submit(summary.duplicate_paths, files, night.listed()) if believed else None
    with_remote = [case.key.cluster for case in believed if case.opened.listing.remote_files]
    remote = beside.submit(remote_by_cluster, files, with_remote)
    _LOG.info("deciding")
    frames = _frames(night)
    found, decisions = _decided(night, files, frames)
    counted = _counted(found, frames, settings)
    duplicates = repeated.result() if repeated else {}
    metrics = [
        gate_metrics(
            case, counted.get(case.key.cluster, ClusterTotals()), duplicates.get(case.key.cluster, 0), settings
        )
        for case in believed
    ]
    documents = night.documents if night.request.data_docs else None
    night.gate_results = gate.check(metrics, night.request.acceptances, settings.max_deletable_share, documents)
    examples = _examples(night, files, decisions)
    if _refuse_by_gate(night):  # every file of a refused cluster gets another answer
        _, decisions = _decided(night, files, _frames(night))
    _LOG.info("writing tables")
    keys = [case.key for case in night.cases]
    offset_wals = beside.submit(_offset_wals, night, files)
    of_totals = beside.submit(_rows_of_totals, night, counted)
    writes: dict[str, DataFrame | pa.Table] = {}
    verdicts = decisions.filter("archived")
    if night.with_files():
        decided = [case.key for case in night.with_files()]
        rows = tables.wal_verdicts(verdicts, decided)
        if few(night.listed()):
            writes["wal_verdicts"] = rows.toArrow()
        else:  # many rows are faster read from the table than decided again
            ports.tables.replace({"wal_verdicts": rows}, keys, fresh=night.fresh)
            verdicts = ports.lake.verdicts(decided)
    lists = beside.submit(_stage_lists, night, counted, verdicts)
    changes = beside.submit(_changes, night, past.result(), verdicts)
    night.small = _small(night, of_totals, past.result(), offset_wals, remote, verdicts, changes)
    for name, (table, own) in _small_tables(night, examples).items():
        writes[name] = ports.tables.rows(table, own)
    ports.tables.replace(writes, keys, fresh=night.fresh)
    # published last, so that the run of a published list is always in the tables
    for cluster, manifest in ports.lists.publish(lists.result()).items():
        night.lists[cluster] = ports.lists.uri(cluster, manifest.run_id)


def _frames(night: NightRun) -> DecisionFrames:
    views = [(case.view, case.table) for case in night.with_files() if case.view and case.table]
    return decision_frames(night.ports.spark, views)


def _decided(night: NightRun, files: DataFrame, frames: DecisionFrames) -> tuple[DataFrame, DataFrame]:
    """Returns two frames: the files with the bucket of their answer, and the files with the answer itself.

    For few files both are the same frame, whose rows are already in the driver, so Spark decides them only once.
    """
    found = looked_up(files, frames)
    decisions = at_hand(with_answers(found, frames), night.listed())
    return decisions if few(night.listed()) else found, decisions


def _counted(found: DataFrame, frames: DecisionFrames, settings: ReconcileSettings) -> dict[str, ClusterTotals]:
    totals: dict[str, list[BucketTotal]] = {}
    counts: dict[str, dict[str, int]] = {}
    for total, own in summary.collected(summary.decision_totals(found, frames, settings.cleaner_interval_ms)):
        totals.setdefault(total.cluster, []).append(total)
        sums = counts.setdefault(total.cluster, dict.fromkeys(own, 0))
        for name, count in own.items():
            sums[name] += count
    return {cluster: ClusterTotals(tuple(rows), counts[cluster]) for cluster, rows in totals.items()}


def _examples(night: NightRun, files: DataFrame, decisions: DataFrame) -> Mapping[tuple[str, str], Sequence[str]]:
    """Returns at most 100 paths that broke an expectation, by cluster and expectation; queries only if one failed."""
    failed = {result.expectation for result in night.gate_results if result.refuses}
    if not failed:
        return {}
    released = night.request.settings.release.replication_table_wals
    rows = summary.files_breaking_the_gate(decisions, replication_table_wals_released=released).collect()
    if "paths_are_unique" in failed:
        rows += summary.repeated_paths(files).collect()
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        found.setdefault((row["cluster"], row["expectation"]), []).append(row["path"])
    return found


def _refuse_by_gate(night: NightRun) -> bool:
    """Refuses the clusters with a failed expectation that was not accepted; returns whether there are any."""
    failed: dict[str, list[str]] = {}
    for result in night.gate_results:
        if result.refuses:
            text = f"{result.expectation}: expected that {result.description}; found {result.observed}"
            failed.setdefault(result.cluster, []).append(text)
    night.cases = [
        case.refuse("the quality gate failed. " + "; ".join(failed[case.key.cluster]))
        if case.key.cluster in failed
        else case
        for case in night.cases
    ]
    return bool(failed)


def _offset_wals(night: NightRun, files: DataFrame) -> dict[str, dict[str, OffsetWal]]:
    """Returns, by cluster and name, the listed WALs that offsets point into."""
    names = offset_wal_names(night.believed())
    wals: dict[str, dict[str, OffsetWal]] = {}
    for row in tables.offset_wals(night.ports.spark, files, names).collect() if names else ():
        wals.setdefault(row["cluster"], {})[row["name"]] = OffsetWal(row["archived"], row["length"])
    return wals


def _small_tables(
    night: NightRun, examples: Mapping[tuple[str, str], Sequence[str]]
) -> dict[str, tuple[Table, list[Mapping[str, object]]]]:
    """Returns the small tables' rows, and makes those of synchronous replication if this run has something for them.

    An earlier attempt may have left rows: then they are written even without any.
    """
    found = small_tables(night.cases, night.small, night.gate_results, examples)
    names = {table.name for table in SYNC_TABLES}
    if night.fresh and not any(found[name][1] for name in names):
        return {name: rows for name, rows in found.items() if name not in names}
    night.ports.tables.ensure(SYNC_TABLES)
    return found


def _changes(
    night: NightRun, past: Mapping[str, Sequence[PastNight]], verdicts: DataFrame
) -> Mapping[str, tuple[VerdictChange, ...]]:
    before = {case.key.cluster: past[case.key.cluster][0] for case in night.believed() if past.get(case.key.cluster)}
    return verdict_changes(verdicts, night.listed(), before, night.ports.lake)


def _rows_of_totals(night: NightRun, counted: Mapping[str, ClusterTotals]) -> dict[str, RowsOfTotals]:
    """Returns, by cluster, the rows that follow from totals; it needs no Spark, so it runs beside Spark's write."""
    found = {}
    for case in night.cases:
        totals = counted.get(case.key.cluster, ClusterTotals()).totals
        found[case.key.cluster] = rows_of_totals(case, totals if case.refused is None else untrusted_totals(totals))
    return found


def _small(
    night: NightRun,
    of_totals: Future[dict[str, RowsOfTotals]],
    past: Mapping[str, Sequence[PastNight]],
    offset_wals: Future[dict[str, dict[str, OffsetWal]]],
    remote: Future[dict[str, list[RemoteDirectory]]],
    verdicts: DataFrame,
    changes: Future[Mapping[str, tuple[VerdictChange, ...]]],
) -> dict[str, SmallTableRows]:
    ports, settings = night.ports, night.request.settings
    odd: dict[str, list[OddDirectory]] = {}
    reasons = sorted(reason.value for reason in ODD_REASONS)
    known = of_totals.result()
    if any(total.reason in reasons for one in known.values() for total in one.counted):
        for row in tables.examples(verdicts.filter(verdicts["reason"].isin(reasons))).collect():
            place = OddDirectory(row["reason"], row["directory"], row["files"], row["bytes"], row["example"])
            odd.setdefault(row["cluster"], []).append(place)
    wals, copies = offset_wals.result(), remote.result()
    before = states_before([case.snapshot for case in night.believed()], past, ports.lake)
    changed = changes.result()
    small = {}
    for case in night.cases:
        cluster = case.key.cluster
        small[cluster] = small_rows(
            case,
            known[cluster],
            settings,
            offset_wals=wals.get(cluster, {}),
            odd_names=odd.get(cluster, ()),
            past=past.get(cluster, ()),
            remote=copies.get(cluster, ()),
            sync_before=before.get(cluster, {}),
            changes=changed.get(cluster, ()),
        )
    return small


def _stage_lists(night: NightRun, counted: Mapping[str, ClusterTotals], verdicts: DataFrame) -> StagedLists:
    """Stages the lines of the lists of the clusters that passed, from the rows of the audit table."""
    ports = night.ports
    requests = []
    for case in night.cases:
        if case.refused is None and case.mode == NIGHTLY and case.view is not None:
            files, size = counted.get(case.key.cluster, ClusterTotals()).listed()
            requests.append(
                ListRequest(
                    cluster=case.key.cluster,
                    cluster_id=case.snapshot.cluster_id,
                    run_id=case.key.run_id,
                    wal_root=case.snapshot.wal_root,
                    snapshot_sha256=case.opened.sha256 or "",
                    decided_at=ports.clock.now_ms(),
                    not_after=case.not_after,
                    files=files,
                    bytes=size,
                )
            )
    if not requests:
        return StagedLists((), {})
    _LOG.info("writing %d delete-safe list(s)", len(requests))
    return ports.lists.stage(verdicts.filter(verdicts["verdict"] == DELETABLE).select("cluster", "path"), requests)
