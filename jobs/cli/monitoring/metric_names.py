"""Every metric of walsafe: its name, its labels beside `cluster`, and what it says (docs/metrics.md has the same)."""

from dataclasses import dataclass

PREFIX = "walsafe_"
RUN = ("walsafe_job", "rehearsal")
"""Labels of what each run of each job has. Prometheus itself sets a label `job`."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; all are gauges, because every run writes its own numbers anew.

    Attributes:
        name: without the prefix.
        text: its help text.
        labels: beside `cluster`.
    """

    name: str
    text: str
    labels: tuple[str, ...] = ()


METRICS = (
    # every job
    Metric("build_info", "Version that ran; always 1.", (*RUN, "version")),
    Metric("job_end_timestamp_seconds", "When the last run of the job ended.", RUN),
    Metric("job_duration_seconds", "How long the last run of the job took.", RUN),
    Metric("job_exit_code", "Exit code of the last run of the job, for this cluster.", RUN),
    Metric("job_error", "1 for the condition that the last run of the job failed with.", (*RUN, "condition")),
    Metric("job_last_good_timestamp_seconds", "When the job last ended well: exit code 0, or 5 for a finding.", RUN),
    Metric("notify_failed", "1 if the webhook did not take the message of the last run, else 0.", RUN),
    Metric("findings", "Findings of the last run.", ("walsafe_job", "severity", "code", "acknowledged")),
    # capture
    Metric("snapshot_files", "Files below oldWALs, WALs and remoteWALs in the last snapshot."),
    Metric("snapshot_queue_cells", "Cells or znodes of queues in the last snapshot."),
    Metric("snapshot_peers", "Replication peers in the last snapshot."),
    Metric("snapshot_quiet", "1 if no server left and no queue moved during the last capture, else 0."),
    # reconcile
    Metric("run_timestamp_seconds", "When the last run of reconcile ended."),
    Metric("capture_timestamp_seconds", "Start of the listing of the snapshot that the last good run decided."),
    Metric("run_outcome", "1 for the outcome of the last run of reconcile, with its mode.", ("status", "mode")),
    Metric("run_exit_code", "Exit code of the last run of reconcile, for this cluster."),
    Metric("wal_files", "Files under oldWALs.", ("verdict", "reason")),
    Metric("wal_bytes", "Bytes under oldWALs.", ("verdict", "reason")),
    Metric("list_bytes", "Bytes on the delete-safe list; 0 if none was written."),
    Metric("peer_pinned_bytes", "Bytes under oldWALs that a peer holds: alone, or with others.", ("peer", "shared")),
    Metric("peer_freed_bytes", "Bytes that come free when the peer finishes or is removed.", ("peer",)),
    Metric("peer_oldest_wal_age_seconds", "Age of the oldest WAL that a peer holds.", ("peer",)),
    Metric("capacity_bytes", "Bytes that oldWALs and the quarantine may take together."),
    Metric(
        "daily_growth_bytes", "Bytes that oldWALs and the quarantine grow by each day, at the pace of the last nights."
    ),
    Metric("capacity_full_timestamp_seconds", "When the capacity is used up, at the pace of the last nights."),
    Metric("cleanup_paused", "1 if a finding pauses the clean-up, else 0."),
    # clean, restore, purge
    Metric("cleanup_files", "Files of the last run, by what became of them.", (*RUN, "outcome")),
    Metric("cleanup_bytes", "Bytes of the files of the last run, by what became of them.", (*RUN, "outcome")),
    # maintain
    Metric("quarantine_files", "Files in quarantine, or possibly in quarantine."),
    Metric("quarantine_bytes", "Bytes of the files in quarantine."),
    Metric("quarantine_oldest_timestamp_seconds", "When the first of the files in quarantine was moved there."),
    Metric("maintain_freed_bytes", "Bytes that the last run of maintain freed.", ("rehearsal",)),
    Metric("maintain_later_bytes", "Bytes that VACUUM frees after the grace for readers.", ("rehearsal",)),
    Metric("maintain_errors", "Tables and folders that the last run of maintain could not maintain.", ("rehearsal",)),
    # the jobs on queues
    Metric("queues", "Queues of the last audit-queues, by class.", ("class",)),
    Metric("queues_pending_wals", "WALs that queues still have to ship, by the last dump-queues.", ("peer",)),
    Metric("queues_pending_bytes", "Bytes of the WALs that queues still have to ship, by the last dump-queues."),
    Metric("queues_missing_wals", "WALs that queues name and that are not there, by the last dump-queues."),
    Metric("inspected_wals", "WALs that the last inspect-wals read."),
    Metric("inspected_bytes", "Bytes of the WALs of the last inspect-wals."),
    Metric("migration_rows", "Rows of the last plan-migration, by family and action.", ("family", "action")),
    Metric("migration_checks", "Checks of the last verify-migration, by rule and answer.", ("rule", "answer")),
    Metric("syncup_bytes", "Bytes that ReplicationSyncUp would ship, by the last plan-syncup."),
)
"""All metrics, in the order of docs/metrics.md."""
