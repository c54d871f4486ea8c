"""Registry of all jobs by name. A job's module is imported only when it runs or shows its help, so `--help` is fast."""

import importlib
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from typing import Protocol, cast

from jobs.cli.config.configured_options import FROM_ENVIRONMENT, OF_ANY_CLUSTER
from jobs.cli.context import JobContext
from pipelines.common.job_result import JobResult


class Job(Protocol):
    """The interface of a job module.

    A job module imports Spark, Great Expectations and other slow libraries inside functions: `JOB --help` and the
    validation of the arguments import it too, before any JVM starts.

    Attributes:
        DESCRIPTION: what a newcomer must know before the first use; shown by `JOB --help`.
        NEEDS_SPARK: whether `spark-submit.sh` starts a JVM for it.
    """

    DESCRIPTION: str
    NEEDS_SPARK: bool

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declares the options of the job; `--output`, `--result` and `--log-level` are added for every job."""
        ...

    def run(self, args: Namespace, context: JobContext) -> JobResult:
        """Runs the job; raises a `WalsafeError` for every error that the operator can fix."""
        ...


@dataclass(frozen=True, slots=True)
class JobEntry:
    """A job that the command line offers.

    Attributes:
        module: dotted name of the module.
        help: one line for the overview.
        small: it never decides a large listing, so the JVM may skip its optimizing compiler for a faster start.
        gentle: on Ctrl-C it ends after its current batch.
        archives_classes: its first run writes Java's archive of loaded classes. It loads nearly all classes that any
            job loads, and no nightly run waits for it.
        configured: `environment` if `--config` falls back to `$WALSAFE_CONFIG`, and keys of the file stand for options
            that are not given; `any cluster` if the key `cluster` does so only in the file of `$WALSAFE_CONFIG`.
        begins_here: it begins in the process of `spark-submit.sh`, and a JVM starts only when it needs one.
        measured: it has metrics.
    """

    module: str
    help: str
    small: bool = False
    gentle: bool = False
    archives_classes: bool = False
    configured: str = ""
    begins_here: bool = False
    measured: bool = True

    def load(self) -> Job:
        """Imports the module of the job."""
        return cast("Job", importlib.import_module(self.module))


GROUPS: dict[str, dict[str, JobEntry]] = {
    "start": {
        "demo": JobEntry(
            "jobs.demo",
            "three nights of a generated cluster, an audit and a dump of its queues, a rehearsal of their migration",
            small=True,
            archives_classes=True,
            measured=False,
        ),
    },
    "every night": {
        "night": JobEntry(
            "jobs.night",
            "one whole night of a cluster: capture, reconcile, clean as far as it is approved, purge, maintain",
            gentle=True,
            begins_here=True,
            configured=FROM_ENVIRONMENT,
        ),
        "capture": JobEntry(
            "jobs.capture", "take a snapshot of a live cluster", begins_here=True, configured=FROM_ENVIRONMENT
        ),
        "reconcile": JobEntry(
            "jobs.reconcile",
            "decide which oldWALs are delete-safe; write the list, tables, report",
            begins_here=True,
            configured=OF_ANY_CLUSTER,
        ),
        "maintain": JobEntry(
            "jobs.maintain",
            "retention, compaction and vacuum of the tables, expiry of lists, snapshots and pages",
            begins_here=True,
            configured=FROM_ENVIRONMENT,
        ),
    },
    "ask": {
        "explain": JobEntry(
            "jobs.explain",
            "the state of a cluster, what is new, who holds a file, peer or server",
            small=True,
            begins_here=True,
            configured=FROM_ENVIRONMENT,
            measured=False,
        ),
        "check-tables": JobEntry(
            "jobs.check_tables",
            "do the published tables of the newest night agree? a suite of Great Expectations",
            small=True,
            configured=FROM_ENVIRONMENT,
        ),
        "views": JobEntry(
            "jobs.views",
            "the SQL of views over the tables, for DuckDB, Spark or Trino",
            configured=FROM_ENVIRONMENT,
            measured=False,
        ),
        "audit-queues": JobEntry(
            "jobs.queues.audit_queues",
            "what state every replication queue is in, who claimed it when, and how orphans can be claimed",
        ),
        "dump-queues": JobEntry(
            "jobs.queues.dump_queues",
            "replication queues as HBase's DumpReplicationQueues prints them, the cluster up or down",
            begins_here=True,
        ),
        "inspect-wals": JobEntry(
            "jobs.queues.inspect_wals",
            "look into the WALs that queues still have to read: whose edits, and what peers want of them",
            begins_here=True,
        ),
    },
    "clean up": {
        "clean": JobEntry(
            "jobs.cleanup.clean",
            "move the files of a delete-safe list to a quarantine, after deciding on each again",
            gentle=True,
            begins_here=True,
            configured=FROM_ENVIRONMENT,
        ),
        "restore": JobEntry(
            "jobs.cleanup.restore",
            "put quarantined files back where they were",
            small=True,
            gentle=True,
            begins_here=True,
            configured=FROM_ENVIRONMENT,
        ),
        "purge": JobEntry(
            "jobs.cleanup.purge",
            "delete quarantined runs for good once their grace is over, or archive them",
            gentle=True,
            begins_here=True,
            configured=FROM_ENVIRONMENT,
        ),
    },
    "upgrade and disaster": {
        "plan-migration": JobEntry(
            "jobs.queues.plan_migration",
            "before an upgrade to HBase 3: what the migration of the queues would write, drop and stumble over",
            small=True,
        ),
        "verify-migration": JobEntry(
            "jobs.queues.verify_migration",
            "after an upgrade to HBase 3: whether hbase:replication has what ZooKeeper had, row by row",
            small=True,
        ),
        "plan-syncup": JobEntry(
            "jobs.queues.plan_syncup",
            "what ReplicationSyncUp would ship with the source cluster down, and what it would lose",
            small=True,
        ),
    },
    "Pegasus": {
        "split-preflight": JobEntry(
            "jobs.split.preflight", "may these Pegasus tables be split now? blockers and warnings", small=True
        ),
        "split-export": JobEntry(
            "jobs.split.export",
            "the rows of a Pegasus table as Parquet, as they lie in its partitions: what the other split jobs read",
        ),
        "split-plan": JobEntry(
            "jobs.split.plan",
            "what a split of a Pegasus table would yield: sizes, skew, hash keys too hot to split, doublings needed",
        ),
        "split-run": JobEntry(
            "jobs.split.run", "split a Pegasus table offline, by any power of two, into files for a bulk load"
        ),
        "split-route": JobEntry(
            "jobs.split.route",
            "what clients of a Pegasus table were told during a split, or would be told: rejected, misused, accepted",
            small=True,
        ),
        "split-audit-config": JobEntry(
            "jobs.split.audit_config",
            "did the configurations of a Pegasus split follow its rules? stuck children, ballots, garbage replicas",
            small=True,
        ),
        "split-audit-log": JobEntry(
            "jobs.split.audit_log",
            "Pegasus's private logs: parent against child by decree, late writes, and which logs are delete-safe",
        ),
        "split-verify": JobEntry(
            "jobs.split.verify",
            "prove that two copies of a Pegasus table hold the same rows: before and after a split, or two clusters",
        ),
        "split-stale": JobEntry(
            "jobs.split.stale", "what Pegasus's compaction filter would drop after a partition split, and why"
        ),
        "split-demo": JobEntry(
            "jobs.split.demo",
            "a split of a simulated Pegasus table with one row lost, found by split-verify",
            small=True,
            measured=False,
        ),
    },
}
"""The jobs as `--help` shows them: what an operator wants to do, and the jobs for it."""
JOBS: dict[str, JobEntry] = {name: entry for jobs in GROUPS.values() for name, entry in jobs.items()}
PEGASUS = "Pegasus"
"""The group whose jobs only `split --help` lists."""
