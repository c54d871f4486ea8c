"""The identity of a run that examines one snapshot."""

from pipelines.common.logged_run import log_of_run
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.lake.job_run import JobRun, default_run_id
from pipelines.lake.run_summary import RunKey
from pipelines.snapshot.opened_snapshot import OpenedSnapshot


def snapshot_run(opened: OpenedSnapshot, suffix: str, settings: ReconcileSettings) -> JobRun:
    """Returns the run of a job on a snapshot; the suffix separates its run id from those of reconcile."""
    started = opened.known.files_step.started_at
    key = RunKey.of(opened.known.cluster, f"{default_run_id(started, opened.sha256 or '')}{suffix}", started)
    log_of_run(key.run_id)
    return JobRun(key, started, settings.acknowledged)
