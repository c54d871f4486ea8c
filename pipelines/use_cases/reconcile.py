"""reconcile: which files of oldWALs are safe to delete tonight, and who holds every other one.

Everything is a function of the snapshot directories and the settings; the clock decides about `not_after` alone.
Nothing here, and nothing it is given, can delete or rename a file of the cluster.
"""

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from pipelines.domain.errors import EXIT_REFUSED, EXIT_UNAVAILABLE, RefusedError, UsageError, WalsafeError
from pipelines.domain.findings import ODD_REASONS, OddDirectory, OffsetWal
from pipelines.domain.gate_metrics import ExpectationResult
from pipelines.domain.run_summary import DONE, FAILED, REFUSED, STARTED, RunSummary
from pipelines.domain.settings import Acceptances, Settings
from pipelines.domain.snapshot import NAME
from pipelines.domain.totals import BucketTotal
from pipelines.domain.verdict import Verdict
from pipelines.ports import Clock
from pipelines.ports_reconcile import (
    Attempt,
    Gate,
    Lake,
    ListRequest,
    ListSink,
    Recorded,
    Reporter,
    SnapshotReader,
    TableSink,
)
from pipelines.transforms import summary, tables
from pipelines.transforms.decision_frames import decision_frames
from pipelines.transforms.verdicts import DecisionFrames, looked_up, with_answers
from pipelines.use_cases.outcome import Outcome
from pipelines.use_cases.reconcile_cases import NIGHTLY, Case, cases, untrusted_totals
from pipelines.use_cases.reconcile_rows import (
    Counted,
    Listing,
    Small,
    exit_code,
    gate_metrics,
    offset_wal_names,
    run_row,
    run_summary,
    small_rows,
    small_tables,
)
from pipelines.use_cases.reconcile_text import reconcile_result, reconcile_text
from schemas.runs import RUNS

_LOG = logging.getLogger(__name__)
UNKNOWN_ERROR = "an error that walsafe does not know; see the log"


@dataclass(frozen=True)
class ReconcileRequest:
    """What the caller asks for.

    Attributes:
        snapshots: snapshot directories; empty when `fleet` is given.
        fleet: a directory whose sub-directories are snapshots.
        run_id: None = the default of each snapshot.
        settings: of the configuration.
        acceptances: `--accept EXPECTATION=REASON`.
        config_sha256: digest of the effective configuration.
        version: of walsafe.
        run_by: the user.
    """

    snapshots: Sequence[str]
    fleet: str | None
    run_id: str | None
    settings: Settings
    acceptances: Acceptances
    config_sha256: str
    version: str
    run_by: str


@dataclass(frozen=True)
class ReconcilePorts:
    """The edges of reconcile; the session is only used to create and combine DataFrames."""

    spark: SparkSession
    clock: Clock
    reader: SnapshotReader
    tables: TableSink
    lake: Lake
    lists: ListSink
    gate: Gate
    reporter: Reporter
    lake_uri: str


@dataclass
class _Night:
    """The run as it goes along."""

    request: ReconcileRequest
    ports: ReconcilePorts
    attempt: str
    cases: list[Case]
    fresh: bool
    gate_results: Sequence[ExpectationResult] = ()
    small: dict[str, Small] = field(default_factory=dict)
    lists: dict[str, str] = field(default_factory=dict)

    def with_files(self) -> list[Case]:
        """The clusters whose listing can be decided."""
        return [case for case in self.cases if case.has_files]


def reconcile(request: ReconcileRequest, ports: ReconcilePorts) -> Outcome:
    """Decide, gate, and write tables, lists and reports.

    Returns:
        Exit code 0, 3 (every cluster refused) or 5 (some refused, or a new error finding); design section 2.

    Raises:
        UsageError: bad arguments, or two snapshots of one cluster.
        UnavailableError: a source or sink did not answer; FAILED rows are left in `runs` where possible.
    """
    if request.run_id is not None and not NAME.fullmatch(request.run_id):
        raise UsageError(f"--run-id {request.run_id!r} must match {NAME.pattern}")
    ports.gate.check_acceptances(request.acceptances, request.settings.max_deletable_share)
    uris = ports.reader.of_fleet(request.fleet) if request.fleet else list(request.snapshots)
    _LOG.info("checking %d snapshot(s)", len(uris))
    opened = ports.reader.open(uris)
    all_cases = cases(opened, request.run_id, request.settings, ports.clock.now_ms())
    try:
        return _run(request, ports, all_cases)
    except WalsafeError as error:
        _tell_failed(all_cases, ports, str(error), error.exit_code)
        raise
    except Exception:
        _tell_failed(all_cases, ports, UNKNOWN_ERROR, EXIT_UNAVAILABLE)
        raise


def _run(request: ReconcileRequest, ports: ReconcilePorts, all_cases: list[Case]) -> Outcome:
    """The run, once it is known which clusters it is about."""
    ports.tables.ensure()
    attempts = ports.lake.attempts([case.key for case in all_cases], given=request.run_id is not None)
    todo, finished = _without_finished(all_cases, attempts, ports)
    fresh = not any((case.key.cluster, case.key.run_id) in attempts for case in todo)
    night = _Night(request, ports, uuid.uuid4().hex, todo, fresh)
    if todo:
        _work(night)
    summaries = [*_summaries(night), *finished]
    pages = ports.reporter.publish(summaries)
    code = exit_code([one.exit_code for one in summaries])
    return Outcome(code, reconcile_result(summaries, pages, code), reconcile_text(summaries, pages))


def _tell_failed(all_cases: Sequence[Case], ports: ReconcilePorts, reason: str, code: int) -> None:
    """Have the metrics say that the run came to nothing: those of an earlier night would look like this one's."""
    status = REFUSED if code == EXIT_REFUSED else FAILED
    failed = [
        replace(run_summary(case, Small(), None, ports.lake_uri, code), status=status, reason=reason)
        for case in all_cases
    ]
    try:
        ports.reporter.failed(failed)
    except WalsafeError:
        _LOG.warning("the metrics could not be written either: the file still speaks of an earlier run")


def _without_finished(
    all_cases: Sequence[Case], attempts: Mapping[tuple[str, str], Sequence[Attempt]], ports: ReconcilePorts
) -> tuple[list[Case], list[RunSummary]]:
    """Leave out what is already done; refuse a run_id that was used for another snapshot."""
    todo: list[Case] = []
    finished: list[tuple[Case, int | None]] = []
    clashes: list[RunSummary] = []
    for case in all_cases:
        earlier = attempts.get((case.key.cluster, case.key.run_id), ())
        manifest = ports.lists.existing(case.key.cluster, case.key.run_id) if case.view else None
        used = {one.snapshot_sha256 for one in earlier if one.snapshot_sha256}
        other = (used | ({manifest.snapshot_sha256} if manifest else set())) - {case.opened.sha256}
        if other:
            reason = (
                f"run_id {case.key.run_id} of cluster {case.key.cluster} was already used for another snapshot "
                f"({min(str(one) for one in other)[:8]}…); give another --run-id, or leave it out"
            )
            if len(all_cases) == 1:
                raise RefusedError(reason)
            # the rows of that run_id belong to the other snapshot, so nothing is written of this refusal
            clashes.append(run_summary(replace(case, refused=reason), Small(), None, ports.lake_uri))
            continue
        done = [one for one in earlier if one.status == DONE]
        if manifest is not None and done:
            _LOG.info("%s: %s is already done; nothing is rewritten", case.key.cluster, case.key.run_id)
            finished.append((case, done[-1].exit_code))
        else:
            todo.append(case)
    recorded = ports.lake.recorded([case.key for case, _ in finished])
    done_before = [_recorded_summary(case, code, recorded[case.key.cluster], ports) for case, code in finished]
    return todo, [*done_before, *clashes]


def _recorded_summary(case: Case, code: int | None, recorded: Recorded, ports: ReconcilePorts) -> RunSummary:
    small = Small(recorded.totals, (), recorded.pinned, recorded.findings)
    return run_summary(case, small, ports.lists.uri(case.key.cluster, case.key.run_id), ports.lake_uri, code)


def _work(night: _Night) -> None:
    """All of a run between its STARTED and its terminal rows."""
    _append_runs(night, STARTED, None)
    try:
        _decide_and_write(night)
    except WalsafeError as error:
        _append_failed(night, str(error))
        raise
    except Exception:
        _append_failed(night, UNKNOWN_ERROR)
        raise
    _append_runs(night, None, None)


def _decide_and_write(night: _Night) -> None:
    ports, settings = night.ports, night.request.settings
    files = ports.reader.files([case.opened for case in night.with_files()])
    _LOG.info("deciding")
    frames = _frames(night)
    found = looked_up(files, frames)
    counted = _counted(found, frames, settings)
    believed = [case for case in night.with_files() if case.refused is None]
    listings = _listings(files) if believed else {}
    metrics = [
        gate_metrics(
            case, counted.get(case.key.cluster, Counted()), listings.get(case.key.cluster, Listing()), settings
        )
        for case in believed
    ]
    night.gate_results = ports.gate.check(metrics, night.request.acceptances, settings.max_deletable_share)
    examples = _examples(night, files, with_answers(found, frames))
    _refuse_by_gate(night)
    _LOG.info("writing tables")
    frames = _frames(night)  # those the gate refused have another answer now
    decisions = with_answers(looked_up(files, frames), frames)
    keys = [case.key for case in night.cases]
    if night.with_files():
        rows = tables.wal_verdicts(decisions, [case.key for case in night.with_files()])
        ports.tables.replace({"wal_verdicts": rows}, keys, fresh=night.fresh)
    night.small = _small(night, files, counted)
    writes = {
        name: ports.tables.frame(table, rows)
        for name, (table, rows) in small_tables(night.cases, night.small, night.gate_results, examples).items()
    }
    ports.tables.replace(writes, keys, fresh=night.fresh)
    _emit_lists(night)


def _frames(night: _Night) -> DecisionFrames:
    views = [(case.view, case.table) for case in night.with_files() if case.view and case.table]
    return decision_frames(night.ports.spark, views)


def _counted(found: DataFrame, frames: DecisionFrames, settings: Settings) -> dict[str, Counted]:
    totals: dict[str, list[BucketTotal]] = {}
    counts: dict[str, dict[str, int]] = {}
    for row in summary.bucket_totals(found, frames, settings.cleaner_interval_ms).toLocalIterator():
        totals.setdefault(row["cluster"], []).append(summary.as_bucket_total(row))
        sums = counts.setdefault(row["cluster"], dict.fromkeys(summary.GATE_COUNTS, 0))
        for name in summary.GATE_COUNTS:
            sums[name] += row[name]
    return {cluster: Counted(tuple(rows), counts[cluster]) for cluster, rows in totals.items()}


def _listings(files: DataFrame) -> dict[str, Listing]:
    repeats = {row["cluster"]: row["duplicate_paths"] for row in summary.duplicate_paths(files).collect()}
    return {
        row["cluster"]: Listing(
            row["rows"], row["archived_files"], row["archived_bytes"] or 0, repeats.get(row["cluster"], 0)
        )
        for row in summary.listing_totals(files).collect()
    }


def _examples(night: _Night, files: DataFrame, decisions: DataFrame) -> Mapping[tuple[str, str], Sequence[str]]:
    """Paths that broke an expectation; asked for only when one did, and at most 100."""
    failed = {result.expectation for result in night.gate_results if result.refuses}
    if not failed:
        return {}
    released = night.request.settings.release.replication_table_wals
    rows = summary.breaking(decisions, replication_table_wals_released=released).collect()
    if "paths_are_unique" in failed:
        rows += summary.repeated(files).collect()
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        found.setdefault((row["cluster"], row["expectation"]), []).append(row["path"])
    return found


def _refuse_by_gate(night: _Night) -> None:
    """Refuse the clusters with an expectation that failed and was not accepted."""
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


def _small(night: _Night, files: DataFrame, counted: Mapping[str, Counted]) -> dict[str, Small]:
    ports, settings = night.ports, night.request.settings
    believed = [case for case in night.cases if case.refused is None and case.view is not None]
    names = offset_wal_names(believed)
    wals: dict[str, dict[str, OffsetWal]] = {}
    for row in tables.offset_wals(ports.spark, files, names).collect() if names else ():
        known = wals.setdefault(row["cluster"], {})
        if row["name"] not in known or row["archived"]:
            known[row["name"]] = OffsetWal(row["archived"], row["length"])
    odd: dict[str, list[OddDirectory]] = {}
    reasons = {reason.value for reason in ODD_REASONS}
    if any(total.reason in reasons for one in counted.values() for total in one.totals):
        # from the rows just written, which Delta finds by reason, and not from another pass over the listing
        written = ports.lake.with_reasons([case.key for case in night.with_files()], reasons)
        for row in tables.examples(written).collect():
            place = OddDirectory(row["reason"], row["directory"], row["files"], row["bytes"], row["example"])
            odd.setdefault(row["cluster"], []).append(place)
    started = {case.key.cluster: case.view.files_started for case in believed if case.view}
    past = ports.lake.before(started, max(settings.stalled_nights, settings.growth_nights))
    small = {}
    for case in night.cases:
        cluster = case.key.cluster
        totals = counted.get(cluster, Counted()).totals
        small[cluster] = small_rows(
            case,
            totals if case.refused is None else untrusted_totals(totals),
            settings,
            wals.get(cluster, {}),
            odd.get(cluster, ()),
            past.get(cluster, ()),
        )
    return small


def _emit_lists(night: _Night) -> None:
    """Emit the lists of the clusters that passed, from the very rows the audit table now holds."""
    ports = night.ports
    requests = []
    for case in night.cases:
        if case.refused is None and case.mode == NIGHTLY and case.view is not None:
            files, size = night.small[case.key.cluster].of(Verdict.DELETABLE)
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
    if requests:
        _LOG.info("writing %d delete-safe list(s)", len(requests))
        keys = [case.key for case in night.cases]
        for cluster, manifest in ports.lists.emit(ports.lake.deletable(keys), requests).items():
            night.lists[cluster] = ports.lists.uri(cluster, manifest.run_id)


def _summaries(night: _Night) -> list[RunSummary]:
    return [
        run_summary(
            case,
            night.small.get(case.key.cluster, Small()),
            night.lists.get(case.key.cluster),
            night.ports.lake_uri,
        )
        for case in night.cases
    ]


def _append_failed(night: _Night, reason: str) -> None:
    """Leave FAILED rows, unless it is the lake itself that fails."""
    try:
        _append_runs(night, FAILED, reason)
    except WalsafeError:
        _LOG.warning("the FAILED rows could not be written either; the STARTED rows stand alone")


def _append_runs(night: _Night, status: str | None, reason: str | None) -> None:
    """One row of `runs` for each cluster; status None = DONE or REFUSED, whichever it is."""
    ports, request = night.ports, night.request
    common = {
        "job": "reconcile",
        "attempt": night.attempt,
        "config_sha256": request.config_sha256,
        "walsafe_version": request.version,
        "spark_app_id": ports.spark.sparkContext.applicationId,
        "run_by": request.run_by,
        "accepted": [{"expectation": name, "reason": words} for name, words in request.acceptances.reasons.items()],
    }
    summaries = {one.cluster: one for one in _summaries(night)}
    rows = []
    for case in night.cases:
        own = status or (DONE if case.refused is None else REFUSED)
        row = run_row(case, summaries[case.key.cluster], own, reason)
        rows.append({**common, **row, "at": ports.clock.now_ms()})
    ports.tables.append_rows(RUNS, rows)
