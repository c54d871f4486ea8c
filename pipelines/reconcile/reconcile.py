"""The reconcile job: decides which files of oldWALs are safe to delete, and who holds every other file.

Verdicts and lists depend only on the snapshot directories and the settings, and findings also on the earlier nights of
the lake; the clock decides only about `not_after` and captures that start in the future. Neither this module nor any of
its ports can delete or rename a file of the cluster.
"""

import logging
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pipelines.common.conditions import Condition
from pipelines.common.errors import EXIT_REFUSED, EXIT_UNAVAILABLE, RefusedError, UsageError, WalsafeError
from pipelines.common.job_result import JobResult
from pipelines.common.logged_run import log_of_run
from pipelines.common.names import NAME
from pipelines.decide.gate import gate
from pipelines.lake.run_summary import DONE, FAILED, REFUSED, RunSummary
from pipelines.reconcile.cluster_cases import NIGHTLY, ClusterCase, cluster_cases
from pipelines.reconcile.lake_history import RunRow
from pipelines.reconcile.night_run import UNKNOWN_ERROR, run_night
from pipelines.reconcile.night_state import NightRun, used_for_another
from pipelines.reconcile.request import ReconcilePorts, ReconcileRequest
from pipelines.reconcile.rows import SmallTableRows, exit_code, run_summary
from pipelines.reconcile.text import reconcile_result, reconcile_text
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from schemas.registry import CLEANUP_TABLES, DECISION_TABLES

_LOG = logging.getLogger(__name__)


def reconcile(request: ReconcileRequest, ports: ReconcilePorts) -> JobResult:
    """Decides for each WAL whether it may be deleted, checks the gate, and writes tables, lists and reports.

    Returns:
        Exit code 0, 3 (every cluster refused) or 5 (some refused, or a new error finding).

    Raises:
        UsageError: bad arguments, two snapshots of one cluster, or one of another cluster than the request's.
        RefusedError: the only cluster's run_id was already used for another snapshot.
        UnavailableError: a source or sink did not answer; FAILED rows are left in `runs` if possible.
    """
    if request.run_id is not None and not NAME.fullmatch(request.run_id):
        raise UsageError(f"--run-id {request.run_id!r} must match {NAME.pattern}")
    gate.check_acceptances(request.acceptances, request.settings.max_deletable_share)
    uris = ports.reader.of_fleet(request.fleet) if request.fleet else list(request.snapshots)
    _LOG.info("checking %d snapshot(s)", len(uris))
    # creating the tables of a new lake takes as long as reading a snapshot, and the two are independent
    with ThreadPoolExecutor(1) as beside:
        ensured = beside.submit(ports.tables.ensure, (*DECISION_TABLES, *CLEANUP_TABLES))
        opened = ports.reader.open(uris)
        _check_cluster(opened, request.cluster)
        of_unreadable = request.cluster or (request.configured if len(request.snapshots) == 1 else None)
        all_cases = cluster_cases(opened, request.run_id, request.settings, ports.clock.now_ms(), of_unreadable)
        if len(run_ids := {case.key.run_id for case in all_cases}) == 1:
            log_of_run(*run_ids)
    try:
        ensured.result()
        summaries, documents = _run(request, ports, all_cases)
    except WalsafeError as error:
        _tell_failed(all_cases, ports, str(error), error.exit_code)
        raise
    except Exception:
        _tell_failed(all_cases, ports, UNKNOWN_ERROR, EXIT_UNAVAILABLE)
        raise
    # outside the try block: tables and lists are published now, and a page that finds no room must not turn the metrics
    # into those of a failed run
    pages = ports.reporter.publish(summaries, documents)
    summaries = [
        replace(one, is_newest=pages[one.cluster].is_newest) if one.cluster in pages else one for one in summaries
    ]
    code = exit_code([one.exit_code for one in summaries])
    return JobResult(code, reconcile_result(summaries, pages), reconcile_text(summaries, pages))


def _check_cluster(opened: Sequence[OpenedSnapshot], cluster: str | None) -> None:
    for one in opened:
        if cluster is not None and one.snapshot is not None and one.cluster != cluster:
            raise UsageError(
                f"{one.uri} is a snapshot of cluster {one.cluster}, not of {cluster}, which --cluster or the file in "
                f"$WALSAFE_CONFIG names; name the configuration for {one.cluster} with --config"
            )


def _run(
    request: ReconcileRequest, ports: ReconcilePorts, all_cases: list[ClusterCase]
) -> tuple[list[RunSummary], Mapping[str, object]]:
    """Decides and writes the clusters that are not already done; also returns what Great Expectations wrote."""
    attempts = ports.lake.attempts([case.key for case in all_cases], given=request.run_id is not None)
    todo, finished = _without_finished(all_cases, attempts, ports)
    fresh = not any((case.key.cluster, case.key.run_id) in attempts for case in todo)
    night = NightRun(request, ports, uuid.uuid4().hex, todo, fresh)
    if todo:
        run_night(night)
    return [*night.summaries(), *finished], night.documents


def _tell_failed(all_cases: Sequence[ClusterCase], ports: ReconcilePorts, reason: str, code: int) -> None:
    """Tells the outcome of a failed run; otherwise the metrics of an earlier night would pass for this run's."""
    status = REFUSED if code == EXIT_REFUSED else FAILED
    failed = [
        replace(run_summary(case, SmallTableRows(), None, ports.lake_uri, code), status=status, reason=reason)
        for case in all_cases
    ]
    ports.reporter.failed(failed)


def _without_finished(
    all_cases: Sequence[ClusterCase], attempts: Mapping[tuple[str, str], Sequence[RunRow]], ports: ReconcilePorts
) -> tuple[list[ClusterCase], list[RunSummary]]:
    """Leaves out clusters that are already done; refuses a run_id that was used for another snapshot."""
    todo: list[ClusterCase] = []
    finished: list[tuple[ClusterCase, int | None]] = []
    clashes: list[RunSummary] = []
    for case in all_cases:
        earlier = attempts.get((case.key.cluster, case.key.run_id), ())
        try:
            manifest = ports.lists.existing(case.key.cluster, case.key.run_id) if case.view else None
            reason = used_for_another(case, earlier, manifest.snapshot_sha256 if manifest else None)
            if reason is not None:
                raise RefusedError(Condition.RUN_ID_TAKEN, reason)
        except RefusedError as error:
            if len(all_cases) == 1:
                raise
            # the rows of that run_id may belong to another snapshot, so this refusal is not written to the tables
            refused = replace(case, refused=str(error), condition=error.condition)
            clashes.append(run_summary(refused, SmallTableRows(), None, ports.lake_uri))
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


def _recorded_summary(
    case: ClusterCase, code: int | None, recorded: SmallTableRows, ports: ReconcilePorts
) -> RunSummary:
    # only a run in time that was not refused publishes a list, whatever this configuration or a later hour would say
    case = replace(case, refused=None, mode=NIGHTLY)
    return run_summary(case, recorded, ports.lists.uri(case.key.cluster, case.key.run_id), ports.lake_uri, code)
