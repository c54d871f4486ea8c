"""A run that examines one snapshot: whether it can be believed, and the identity of the run."""

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError
from pipelines.common.logged_run import log_of_run
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.trust import Doubts, first_doubt
from pipelines.lake.job_run import JobRun, default_run_id
from pipelines.lake.run_summary import RunKey
from pipelines.snapshot.opened_snapshot import OpenedSnapshot


def believed(opened: OpenedSnapshot, doubts: Doubts) -> OpenedSnapshot:
    """Returns the snapshot if it is unchanged since its capture and there is no doubt about it.

    Raises:
        RefusedError: otherwise.
    """
    if opened.fault is not None or opened.snapshot is None:
        raise RefusedError(opened.fault_condition, opened.fault or f"{opened.uri}: snapshot.json cannot be read")
    doubt = first_doubt(doubts)
    if doubt is not None:
        raise RefusedError(doubt[0], doubt[1])
    return opened


def malformed(opened: OpenedSnapshot, told: str) -> Doubts:
    """Yields the doubt, told in these words, that HBase can read all of the queues."""
    yield Condition.QUEUE_MALFORMED, None if opened.malformed is None else told


def snapshot_run(opened: OpenedSnapshot, suffix: str, settings: ReconcileSettings) -> JobRun:
    """Returns the run of a job on a snapshot; the suffix separates its run id from those of reconcile."""
    started = opened.known.files_step.started_at
    key = RunKey.of(opened.known.cluster, f"{default_run_id(started, opened.sha256 or '')}{suffix}", started)
    log_of_run(key.run_id)
    return JobRun(key, started, settings.acknowledged)
