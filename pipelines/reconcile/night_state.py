"""The state of one night of reconcile, and its rows in the table `runs`."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, WalsafeError
from pipelines.common.version import VERSION
from pipelines.decide.gate.gate_metrics import ExpectationResult
from pipelines.lake.run_summary import DONE, FAILED, REFUSED, RunSummary
from pipelines.reconcile.cluster_cases import ClusterCase
from pipelines.reconcile.lake_history import RunRow
from pipelines.reconcile.request import ReconcilePorts, ReconcileRequest
from pipelines.reconcile.rows import SmallTableRows, run_row, run_summary
from schemas.runs import RUNS

_LOG = logging.getLogger(__name__)


@dataclass
class NightRun:
    """The state of a run, from its STARTED rows to its terminal rows."""

    request: ReconcileRequest
    ports: ReconcilePorts
    attempt: str
    cases: list[ClusterCase]
    fresh: bool
    gate_results: Sequence[ExpectationResult] = ()
    small: dict[str, SmallTableRows] = field(default_factory=dict)
    lists: dict[str, str] = field(default_factory=dict)
    documents: dict[str, object] = field(default_factory=dict)

    def with_files(self) -> list[ClusterCase]:
        """Returns the clusters whose snapshot.json and listing can be read, so that their files can be decided."""
        return [case for case in self.cases if case.has_files]

    def believed(self) -> list[ClusterCase]:
        """Returns the clusters that are not refused, so that their peers and queues decide on their files."""
        return [case for case in self.cases if case.refused is None and case.view is not None]

    def listed(self) -> int:
        """Returns the number of files in the listings of these clusters."""
        return sum(case.snapshot.listed for case in self.with_files())

    def summaries(self) -> list[RunSummary]:
        """Returns the summaries of the clusters for text, report and metrics, as far as the night has come."""
        return [
            run_summary(
                case,
                self.small.get(case.key.cluster, SmallTableRows()),
                self.lists.get(case.key.cluster),
                self.ports.lake_uri,
            )
            for case in self.cases
        ]


def append_failed(night: NightRun, reason: str, exit_code: int | None) -> None:
    """Writes FAILED rows, unless the lake itself fails; exit code None = it is not known here."""
    try:
        append_runs(night, FAILED, reason, exit_code)
    except WalsafeError:
        _LOG.warning("the FAILED rows could not be written either; the STARTED rows stand alone")


def append_runs(night: NightRun, status: str | None, reason: str | None, exit_code: int | None = None) -> None:
    """Appends one row of `runs` for each cluster; status None = DONE or REFUSED, as the case is, with its exit code."""
    ports, request = night.ports, night.request
    common = {
        "job": "reconcile",
        "attempt": night.attempt,
        "config_sha256": request.config_sha256,
        "walsafe_version": VERSION,
        "spark_app_id": ports.spark.sparkContext.applicationId,
        "run_by": request.run_by,
        "valid_for_reason": request.settings.valid_for_reason,
        "accepted": [{"expectation": name, "reason": words} for name, words in request.acceptances.items()],
    }
    summaries = {one.cluster: one for one in night.summaries()}
    rows = []
    for case in night.cases:
        own = status or (DONE if case.refused is None else REFUSED)
        summary = summaries[case.key.cluster]
        row = run_row(case, summary, own, reason, summary.exit_code if status is None else exit_code)
        rows.append({**common, **row, "at": ports.clock.now_ms()})
    ports.tables.append_rows(RUNS, rows)


def used_for_another(case: ClusterCase, attempts: Sequence[RunRow], listed: str | None = None) -> str | None:
    """Returns why the run_id of a case is taken: another snapshot was decided with it, or begun to be.

    Args:
        case: the cluster.
        attempts: the rows of `runs` with that run_id; once one is DONE, the others do not count.
        listed: the digest of the snapshot in the manifest of that run_id, if there is one.
    """
    done = {one.snapshot_sha256 for one in attempts if one.status == DONE}
    digests = {listed, *(done or {one.snapshot_sha256 for one in attempts})}
    others = sorted(digest for digest in digests if digest and digest != case.opened.sha256)
    if not others:
        return None
    return (
        f"run_id {case.key.run_id} of cluster {case.key.cluster} was already used for another snapshot "
        f"({others[0][:8]}…); give another --run-id, or leave it out"
    )


def refuse_used_run_ids(night: NightRun) -> None:
    """Refuses a run if another job has begun to use its run_id for another snapshot since this job looked.

    Each of the two jobs writes its STARTED rows before it looks, so at least the later one sees the other. A default
    run_id contains the digest of its snapshot.
    """
    if night.request.run_id is None:
        return
    begun = night.ports.lake.attempts([case.key for case in night.cases], given=True)
    for case in night.cases:
        reason = used_for_another(case, begun.get((case.key.cluster, case.key.run_id), ()))
        if reason is not None:
            raise RefusedError(Condition.RUN_ID_TAKEN, reason)
